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
// ends. A panel of a journal without its wave counts for the run only.
func TestJobs(t *testing.T) {
	t.Parallel()
	const limit, cost = 700, 300
	key := NewState(mustPlan(t, planText(task("a")))).Tasks[0].Key
	for name, c := range map[string]struct {
		wave       int
		start, end event.Body
	}{
		"attempt": {1, event.AttemptStarted{Task: "a", Key: key, Wave: 1, Attempt: 1, Try: 1, Cap: limit},
			event.AttemptEnded{Task: "a", Key: key, Attempt: 1, Status: event.Completed,
				Result: runner.Result{Outcome: runner.Done, Cost: cost}}},
		"panel": {1, event.CounselStarted{Task: "a", Panel: 1, Wave: 1, Cap: limit},
			event.CounselEnded{Task: "a", Panel: 1, Verdict: counsel.Verdict{Cost: cost}}},
		"panel without a wave": {0, event.CounselStarted{Task: "a", Panel: 1, Cap: limit},
			event.CounselEnded{Task: "a", Panel: 1, Verdict: counsel.Verdict{Cost: cost}}},
		"pre-check": {0, event.PrecheckStarted{Task: "a", Key: key, N: 1, Cap: limit},
			event.PrecheckEnded{Task: "a", Key: key, N: 1, Challenge: counsel.Challenge{Go: true, Cost: cost}}},
		"verification": {0, event.CriteriaStarted{Round: 1, Cap: limit}, event.CriteriaEnded{Round: 1, Cost: cost}},
		"review": {0, event.ReviewStarted{N: 1, Mode: counsel.Thorough, Cap: limit},
			event.ReviewEnded{N: 1, Mode: counsel.Thorough, Review: counsel.Review{Cost: cost}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewState(mustPlan(t, planText(task("a"))))
			replay := func(b event.Body) error {
				return s.Replay([]event.Event{{Seq: s.Seq + 1, Body: b}})
			}
			config := event.DefaultConfig()
			config.Limits = budget.Limits{USD: limit, Iterations: 2, Wave: limit}
			err := errors.Join(replay(event.RunStarted{Config: config}), s.admits(jobOf(c.start)), replay(c.start))
			testrepo.Must(t, err)
			if held, ok := reservation(s.Ledger, jobOf(c.start).key); !ok || held != limit {
				t.Errorf("%s is reserved, %v", held, ok)
			}
			if held := s.waveLedger(1).Reserved(); held != limit*budget.USD(c.wave) {
				t.Errorf("%s of the wave is reserved", held)
			}
			var over *budget.LimitError
			if err := s.admits(job{key: "another", cap: 1}); !errors.As(err, &over) || over.Limit != budget.LimitMoney {
				t.Errorf("more is admitted: %v", err)
			}
			testrepo.Must(t, replay(c.end))
			if s.Ledger.Spent() != cost || s.Ledger.Reserved() != 0 || len(s.openWork) != 0 ||
				s.waveLedger(1).Spent() != cost*budget.USD(c.wave) || s.waveLedger(1).Reserved() != 0 {
				t.Errorf("%s spent, %s reserved, open %v", s.Ledger.Spent(), s.Ledger.Reserved(), s.openWork)
			}
		})
	}
}

// A job reserves money of the run and of its wave, both or neither.
func TestReserveBothOrNeither(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		run, wave, cap budget.USD
		limit          string
	}{
		{5, 5, 5, ""},
		{4, 5, 5, budget.LimitMoney},
		{5, 4, 5, budget.LimitWave},
		{4, 4, 5, budget.LimitWave},
	} {
		run := budget.NewLedger(budget.Limits{USD: c.run, NoIterations: true})
		wave := budget.NewLedger(budget.Limits{USD: c.wave, NoIterations: true})
		err := purse{run: &run, wave: &wave}.reserve(job{key: "a/1", wave: 1, cap: c.cap, iteration: true})
		var over *budget.LimitError
		if errors.As(err, &over) != (c.limit != "") || over != nil && over.Limit != c.limit {
			t.Errorf("%+v: %v", c, err)
		}
		held := c.cap
		if err != nil {
			held = 0
		}
		if run.Reserved() != held || wave.Reserved() != held {
			t.Errorf("%+v: %s and %s are reserved", c, run.Reserved(), wave.Reserved())
		}
	}
}
