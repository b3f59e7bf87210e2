package scheduler

import "wavex/internal/event"

// This file limits a session to some tasks of the plan. All others are held: they keep their status, and nothing of
// them starts, until a later session.

// selection holds the tasks that the session may start.
type selection struct {
	selected []bool      // by task; nil: all. A task that joins later is selected.
	held     map[int]int // number of tasks that wait and are not selected, by wave; 0: of the whole plan
}

// selectTasks limits the session to tasks and groups and their blockers, also indirect ones. No ids select all tasks.
func (s *State) selectTasks(ids []string) {
	s.selection = s.selectionOf(ids)
	for i := range s.Tasks {
		s.hold(i, s.Tasks[i].Status, 1)
	}
}

// selectionOf returns the selection of tasks and groups, of which none is held yet.
func (s *State) selectionOf(ids []string) selection {
	if len(ids) == 0 {
		return selection{}
	}
	c := selection{selected: make([]bool, len(s.Tasks)), held: map[int]int{}}
	for _, i := range s.Plan.Graph.WithBlockers(s.withGroups(ids)...) {
		c.selected[i] = true
	}
	return c
}

// Selected reports whether the session may start task i: if it is limited to some tasks, only those and their
// blockers.
func (c selection) Selected(i int) bool { return i >= len(c.selected) || c.selected[i] }

// hold adds n to the held tasks if a task with this status is one.
func (s *State) hold(i int, st event.Status, n int) {
	if !s.Selected(i) && (st == event.Pending || st == event.Advising) {
		s.held[0] += n
		s.held[s.Tasks[i].Wave] += n
	}
}

// Left returns the number of tasks of a wave that the session has still to settle, or of the whole plan for wave 0.
func (s *State) Left(wave int) int { return s.Tally(wave).Unfinished() - s.held[wave] }

// reopens reports whether a failed or blocked task gets another chance in a session: if it is selected, or if only a
// selected task has blocked it.
func (s *State) reopens(i int, c selection) bool {
	cause, ok := s.Index(s.Tasks[i].RootCause)
	return s.isFailed(i) && (c.Selected(i) || ok && c.Selected(cause))
}

// reopensFailed reports whether failed tasks get another chance in the next session: after an end or a stopped
// task, and if the session is limited to some tasks.
func (s *State) reopensFailed(c selection) bool {
	if s.Phase == Ended || c.selected != nil {
		return true
	}
	for i := range s.Tasks {
		if s.Tasks[i].Stop != nil && !s.IsAllowed(i) {
			return true
		}
	}
	return false
}

// failedSelected returns the number of selected tasks that failed or are blocked.
func (s *State) failedSelected() (n int) {
	for i := range s.Tasks {
		if s.Selected(i) && s.isFailed(i) && !s.IsAllowed(i) {
			n++
		}
	}
	return n
}
