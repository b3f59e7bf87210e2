package scheduler

import (
	"wavex/dag"
)

// This file undoes completed work after a person has restored the files from before it. The tasks
// run again. It reads no files.

// RolledBack says that the work of tasks was undone. The tasks are pending again. It is recorded
// between sessions.
type RolledBack struct {
	What   string   `json:"what"`  // "T-003", "wave-2", "run"
	Tasks  []string `json:"tasks"` // the tasks whose work is undone
	From   string   `json:"from"`  // the restored commit
	Undo   string   `json:"undo"`  // the ref that keeps the replaced state
	Paths  int      `json:"paths"` // number of changed paths
	Forced bool     `json:"forced,omitempty"`
}

// Type names the event.
func (RolledBack) Type() string { return "rolled_back" }

// applyRolledBack undoes completions; no other code does. Attempts that are still open stay open: the
// next session settles them.
func (s *State) applyRolledBack(b RolledBack) {
	s.ExitSignal, s.Gate = false, nil
	s.verifiedAt, s.reviewedAt, s.Regressions = -1, -1, nil
	for i := range s.Criteria {
		c := &s.Criteria[i]
		*c = Criterion{ID: c.ID, Task: c.Task, Text: c.Text, Verification: Assumption}
	}
	for _, id := range b.Tasks {
		i, ok := s.Index(id)
		if !ok {
			continue
		}
		switch t := &s.Tasks[i]; t.Status {
		case InProgress, Advising:
		default:
			t.Tries = 0
			t.TransientFailures = 0
			t.SameError = 0
			t.RootCause = ""
			t.Last = nil
			t.Advice = nil
			t.Continue = false
			t.Next = "first"
			s.move(i, Pending)
		}
	}
	s.frontier = dag.NewFrontier(s.Plan.Graph)
	for i := range s.Tasks {
		if s.Tasks[i].Status == Completed {
			s.frontier.Complete(i)
		}
	}
	s.requeue()
}

// EndAfterRollback returns the end of a session that only rolled back work.
func EndAfterRollback(s *State, what string) RunEnded {
	return RunEnded{Status: "blocked", ExitCode: 5, Reason: what +
		" was rolled back; it is done again when the run is resumed",
		Resume: resumeCommand(s), Tasks: s.Counts, Cost: s.Ledger.Spent(), CostUSD: s.Ledger.Spent().Float(),
		Iterations: s.Ledger.Iterations(), Notional: s.Notional}
}
