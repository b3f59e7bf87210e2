package scheduler

import (
	"wavex/dag"
)

// This file takes work back: a person has restored the files from before it, and the
// tasks that made them are to be done again. It knows nothing of files.

// RolledBack says that the work of tasks is undone; they are pending again. It happens
// between sessions.
type RolledBack struct {
	What   string   `json:"what"`  // "T-003", "wave-2", "run"
	Tasks  []string `json:"tasks"` // whose work is undone
	From   string   `json:"from"`  // the commit that was restored
	Undo   string   `json:"undo"`  // the ref that keeps what was replaced
	Paths  int      `json:"paths"` // how many were changed
	Forced bool     `json:"forced,omitempty"`
}

// Type names the event.
func (RolledBack) Type() string { return "rolled_back" }

// rolledBack is the one way in which a completion is taken back. What an attempt left
// open stays so: the next session settles it.
func (s *State) rolledBack(b RolledBack) {
	s.ExitSignal, s.Gate = false, nil
	s.checked, s.reviewed, s.Regressions = -1, -1, nil
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
			t.Tries, t.Again, t.SameError, t.Root = 0, 0, 0, ""
			t.Last, t.Advice, t.Continue, t.Next = nil, nil, false, "first"
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

// AfterRollback is the end of a session that did nothing but take work back.
func AfterRollback(s *State, what string) RunEnded {
	return RunEnded{Status: "blocked", ExitCode: 5, Reason: what + " was rolled back; it is done again when the run is resumed",
		Resume: resumeCommand(s), Tasks: s.Counts, Cost: s.Ledger.Spent(), CostUSD: s.Ledger.Spent().Float(),
		Iterations: s.Ledger.Iterations(), Notional: s.Notional}
}
