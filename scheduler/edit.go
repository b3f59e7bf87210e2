package scheduler

// This file compares a run before and after an edit of its plan. It knows no files, and
// changes nothing: what an edit does follows from the keys of the tasks.

// Edit is what became of a plan since a run last had it, by ids in the plan's order.
type Edit struct {
	Again   []string `json:"again,omitempty"`   // had been completed; they, or what they build on, changed
	Changed []string `json:"changed,omitempty"` // the same of tasks that were not completed
	Added   []string `json:"added,omitempty"`
	Dropped []string `json:"dropped,omitempty"`
}

// Edited tells what a plan's edit does to a run: before is the run with the plan that it
// had, now the same with the plan as it is. nil means that they are the same plan.
func Edited(before, now *State) *Edit {
	e := &Edit{}
	for i := range now.Tasks {
		id := now.Plan.Tasks[i].ID
		j, ok := before.Index(id)
		switch {
		case !ok:
			e.Added = append(e.Added, id)
		case before.Tasks[j].Status == Completed && now.Tasks[i].Status != Completed:
			e.Again = append(e.Again, id)
		case before.Tasks[j].Key != now.Tasks[i].Key:
			e.Changed = append(e.Changed, id)
		}
	}
	for j := range before.Tasks {
		if _, ok := now.Index(before.Plan.Tasks[j].ID); !ok {
			e.Dropped = append(e.Dropped, before.Plan.Tasks[j].ID)
		}
	}
	if before.Plan.Digest == now.Plan.Digest && len(e.Again)+len(e.Changed)+len(e.Added)+len(e.Dropped) == 0 {
		return nil
	}
	return e
}
