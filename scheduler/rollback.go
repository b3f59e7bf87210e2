package scheduler

import (
	"wavex/internal/event"
)

// This file undoes completed work after a person has restored the files from before it. The tasks
// run again. It reads no files.

// applyRolledBack undoes completions; no other code does. Attempts that are still open stay open: the
// next session settles them.
func (s *State) applyRolledBack(b event.RolledBack) {
	s.Assessment.ExitSignal, s.Assessment.Gate, s.Assessment.Evidence = false, nil, nil
	s.closing.verifiedAt, s.closing.reviewedAt, s.Assessment.Regressions = -1, -1, nil
	s.closing.openBlockers = false
	for i := range s.Assessment.Criteria {
		c := &s.Assessment.Criteria[i]
		*c = event.Criterion{ID: c.ID, Task: c.Task, Text: c.Text, Verification: event.Assumption,
			WasUnmet: c.WasUnmet || c.Check != "" && !c.Met}
	}
	for _, id := range b.Tasks {
		i, ok := s.Index(id)
		if !ok {
			continue
		}
		if s.Tasks[i].Turn != nil && s.Tasks[i].Slot >= 0 {
			s.checking--
		}
		s.Tasks[i].Turn = nil // its work is gone
		switch s.Tasks[i].Status {
		case event.InProgress, event.Advising:
		default:
			s.undo(i)
			s.files.release(i)
			s.move(i, event.Pending)
		}
	}
	s.resetFrontier()
	s.requeue()
}

// undo removes the traces of a task's attempts, so that it begins as the first time.
func (s *State) undo(i int) {
	t := &s.Tasks[i]
	t.Tries = 0
	t.TransientFailures, t.FreeRetries = 0, 0
	t.SameError = 0
	t.RootCause = ""
	t.Last, t.Earlier = nil, nil
	t.Advice = nil
	t.Continue, t.Edited, t.redBefore = false, false, false
	t.Next = "first"
}
