package scheduler

import "wavex/internal/event"

// This file compares a run before and after an edit of its plan. It reads no files and changes
// nothing: the keys of the tasks determine the effect of an edit.

// ComparePlans returns the effect of an edit of the plan on a run: before is the run with the previous
// plan, now the same run with the current one. It returns nil if the plans are equal.
func ComparePlans(before, now *State) *event.Edit {
	e := &event.Edit{}
	for i := range now.Tasks {
		id := now.Plan.Tasks[i].ID
		j, ok := before.Index(id)
		switch {
		case !ok:
			e.Added = append(e.Added, id)
		case before.Tasks[j].Status == event.Completed && now.Tasks[i].Status != event.Completed:
			e.Rerun = append(e.Rerun, id)
		case before.Tasks[j].Key != now.Tasks[i].Key:
			e.Changed = append(e.Changed, id)
		}
	}
	for j := range before.Tasks {
		if _, ok := now.Index(before.Plan.Tasks[j].ID); !ok {
			e.Dropped = append(e.Dropped, before.Plan.Tasks[j].ID)
		}
	}
	if before.Plan.Digest == now.Plan.Digest && len(e.Rerun)+len(e.Changed)+len(e.Added)+len(e.Dropped) == 0 {
		return nil
	}
	return e
}
