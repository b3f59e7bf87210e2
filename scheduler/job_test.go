package scheduler

import (
	"errors"
	"testing"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// Every kind of paid work reserves its cap when it starts, is refused beyond a limit, and costs its actual cost when it
// ends.
func TestJobs(t *testing.T) {
	t.Parallel()
	const limit, cost = 700, 300
	key := NewState(mustPlan(t, planText(task("a")))).Tasks[0].Key
	for name, c := range map[string]struct{ start, end event.Body }{
		"attempt": {event.AttemptStarted{Task: "a", Key: key, Wave: 1, Attempt: 1, Try: 1, Cap: limit},
			event.AttemptEnded{Task: "a", Key: key, Attempt: 1, Status: event.Completed,
				Result: runner.Result{Outcome: runner.Done, Cost: cost}}},
		"panel": {event.CounselStarted{Task: "a", Panel: 1, Wave: 1, Cap: limit},
			event.CounselEnded{Task: "a", Panel: 1, Verdict: counsel.Verdict{Cost: cost}}},
		"panel without a wave": {event.CounselStarted{Task: "a", Panel: 1, Cap: limit},
			event.CounselEnded{Task: "a", Panel: 1, Verdict: counsel.Verdict{Cost: cost}}},
		"pre-check": {event.PrecheckStarted{Task: "a", Key: key, N: 1, Cap: limit},
			event.PrecheckEnded{Task: "a", Key: key, N: 1, Challenge: counsel.Challenge{Go: true, Cost: cost}}},
		"verification": {event.CriteriaStarted{Round: 1, Cap: limit}, event.CriteriaEnded{Round: 1, Cost: cost}},
		"review": {event.ReviewStarted{N: 1, Mode: counsel.Thorough, Cap: limit},
			event.ReviewEnded{N: 1, Mode: counsel.Thorough, Review: counsel.Review{Cost: cost}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewState(mustPlan(t, planText(task("a"))))
			replay := func(b event.Body) error {
				return s.Replay([]event.Event{{Seq: s.Seq + 1, Body: b}})
			}
			config := event.DefaultConfig()
			config.Limits = budget.Limits{USD: limit, Iterations: 2}
			err := errors.Join(replay(event.RunStarted{Config: config}), s.admits(jobOf(c.start)), replay(c.start))
			testrepo.Must(t, err)
			if held, ok := reservation(s.Ledger, jobOf(c.start).key); !ok || held != limit {
				t.Errorf("%s is reserved, %v", held, ok)
			}
			var over *budget.LimitError
			if err := s.admits(job{key: "another", cap: 1}); !errors.As(err, &over) || over.Limit != budget.LimitMoney {
				t.Errorf("more is admitted: %v", err)
			}
			testrepo.Must(t, replay(c.end))
			if s.Ledger.Spent() != cost || s.Ledger.Reserved() != 0 || len(s.openWork) != 0 {
				t.Errorf("%s spent, %s reserved, open %v", s.Ledger.Spent(), s.Ledger.Reserved(), s.openWork)
			}
		})
	}
}
