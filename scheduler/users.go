package scheduler

import (
	"slices"

	"wavex/internal/event"
	"wavex/internal/plan"
)

// This file finds the tasks that used outputs of work that is done again. The record lists them, so a replay does not
// depend on how a later plan or a later version of this code finds them.

// usersOf returns the tasks that used outputs of the tasks and groups in used, which will have new outputs, directly or
// through other tasks. It considers the tasks that stand, and adds to used.
func (s *State) usersOf(used map[string]bool, stands func(i int) bool) []string {
	users := []string{}
	for again := len(used) > 0; again; {
		again = false
		for i := range s.Tasks {
			p := &s.Plan.Tasks[i]
			if used[p.ID] || !s.usesAny(p, used) || !stands(i) {
				continue
			}
			users = append(users, p.ID)
			used[p.ID], again = true, true
			if p.Group != "" {
				used[p.Group] = true
			}
		}
	}
	return users
}

// usesAny reports whether a task refers to the output of one of the tasks and groups, in any spelling of its id.
func (s *State) usesAny(p *plan.Task, used map[string]bool) bool {
	return slices.ContainsFunc(p.Uses(), func(id string) bool {
		if g := s.Plan.Group(id); g != nil {
			return used[g.ID]
		}
		i, ok := s.Plan.Lookup(id)
		return ok && used[s.Plan.Tasks[i].ID]
	})
}

// usersOfReopened returns the users of the outputs of tasks that an integration reopens. Those that it fails or blocks
// keep theirs.
func (s *State) usersOfReopened(e *event.IntegrationEnded) []string {
	used, gone := map[string]bool{}, map[string]bool{}
	for _, r := range e.Reopened {
		i, ok := s.Index(r.Task)
		if !ok || gone[r.Task] || s.Tasks[i].Status != event.Verified {
			continue
		}
		gone[r.Task] = true
		for _, id := range r.Blocked {
			gone[id] = true
		}
		if _, blocked := s.failedBlocker(i); !blocked && r.Status != event.Failed {
			s.addUsed(used, i)
		}
	}
	return s.usersOf(used, func(i int) bool {
		id := s.Plan.Tasks[i].ID
		switch s.Tasks[i].Status {
		case event.Completed:
			return true
		case event.Verified:
			return !gone[id] && (s.Config.Isolation != event.Isolated || slices.Contains(e.Completed, id))
		}
		return false
	})
}

// addUsed adds a task, and its group if the task has the output of an item.
func (s *State) addUsed(used map[string]bool, i int) {
	used[s.Plan.Tasks[i].ID] = true
	if _, last := s.itemOf(i); i == last && s.groupOf(i) != nil {
		used[s.Plan.Tasks[i].Group] = true
	}
}

// usersOfRetried returns the users of the outputs of groups whose failed items get another chance.
func (s *State) usersOfRetried(tasks []string) []string {
	used := map[string]bool{}
	for _, id := range tasks {
		if i, ok := s.Index(id); ok && s.groupOf(i) != nil {
			used[s.Plan.Tasks[i].Group], used[id] = true, true
		}
	}
	return s.usersOf(used, s.stands)
}

// reopenUsers lets tasks run again from their beginning if they stand.
func (s *State) reopenUsers(ids []string) {
	for _, id := range ids {
		if i, ok := s.Index(id); ok && s.stands(i) {
			s.files.release(i)
			s.undo(i)
			s.move(i, event.Pending)
		}
	}
}
