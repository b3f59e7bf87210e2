package scheduler

import (
	"wavex/internal/event"
)

// This file undoes completed work after a person has restored the files from before it. The tasks
// run again. It reads no files.

// applyRolledBack undoes completions; no other code does. Attempts that are still open stay open: the
// next session settles them.
func (s *State) applyRolledBack(b event.RolledBack) {
	s.ExitSignal, s.Gate = false, nil
	s.verifiedAt, s.reviewedAt, s.Regressions = -1, -1, nil
	for i := range s.Criteria {
		c := &s.Criteria[i]
		*c = event.Criterion{ID: c.ID, Task: c.Task, Text: c.Text, Verification: event.Assumption}
	}
	for _, id := range b.Tasks {
		i, ok := s.Index(id)
		if !ok {
			continue
		}
		s.Tasks[i].Turn = nil // its work is gone
		switch t := &s.Tasks[i]; t.Status {
		case event.InProgress, event.Advising:
		default:
			t.Tries = 0
			t.TransientFailures = 0
			t.SameError = 0
			t.RootCause = ""
			t.Last, t.Earlier = nil, nil
			t.Advice = nil
			t.Continue = false
			t.Next = "first"
			s.files.release(i)
			s.move(i, event.Pending)
		}
	}
	s.resetFrontier()
	s.requeue()
}
