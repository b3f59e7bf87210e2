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
	s.selection = selection{}
	if len(ids) == 0 {
		return
	}
	nodes := s.withGroups(ids)
	s.held = map[int]int{}
	s.selected = make([]bool, len(s.Tasks))
	for _, i := range s.Plan.Graph.WithBlockers(nodes...) {
		s.selected[i] = true
	}
	for i := range s.Tasks {
		s.hold(i, s.Tasks[i].Status, 1)
	}
}

// Selected reports whether the session may start task i: if it is limited to some tasks, only those and their
// blockers.
func (s *State) Selected(i int) bool { return i >= len(s.selected) || s.selected[i] }

// hold adds n to the held tasks if a task with this status is one.
func (s *State) hold(i int, st event.Status, n int) {
	if !s.Selected(i) && (st == event.Pending || st == event.Advising) {
		s.held[0] += n
		s.held[s.Tasks[i].Wave] += n
	}
}

// Left returns the number of tasks of a wave that the session has still to settle, or of the whole plan for wave 0.
func (s *State) Left(wave int) int { return s.Tally(wave).Unfinished() - s.held[wave] }

// reopens reports whether a failed or blocked task gets another chance in the session: if it is selected, or if only a
// selected task has blocked it.
func (s *State) reopens(i int) bool {
	cause, ok := s.Index(s.Tasks[i].RootCause)
	return s.Selected(i) || ok && s.Selected(cause)
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
