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

// selectionOf returns the selection of tasks and groups. No selected task is held yet.
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
func (s *State) Selected(i int) bool { return s.selection.has(i) }

func (c selection) has(i int) bool { return i >= len(c.selected) || c.selected[i] }

// mayStart reports whether the session may start task i now.
func (s *State) mayStart(i int) bool { return s.Selected(i) && !s.deferral.isDeferred(i) }

// hold adds n to the held tasks, or to the deferred ones that wait, if a task with this status is one.
func (s *State) hold(i int, st event.Status, n int) {
	if st != event.Pending && st != event.Advising {
		return
	}
	if !s.Selected(i) {
		s.selection.held[0] += n
		s.selection.held[s.Tasks[i].Wave] += n
	}
	if s.deferral.isDeferred(i) {
		s.deferral.waiting[0] += n
		s.deferral.waiting[s.Tasks[i].Wave] += n
	}
}

// Left returns the number of tasks of a wave that the session has still to settle, or of the whole plan for wave 0.
func (s *State) Left(wave int) int { return s.Tally(wave).Unfinished() - s.selection.held[wave] }

// failedSelected returns the number of selected tasks that failed or are blocked.
func (s *State) failedSelected() (n int) {
	for i := range s.Tasks {
		if s.Selected(i) && s.isFailed(i) && !s.IsAllowed(i) {
			n++
		}
	}
	return n
}
