package scheduler

import (
	"cmp"
	"context"
	"testing"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// A pre-check waits for money that running work may release. Without money the run stops.
func TestPrecheckWaitsForMoney(t *testing.T) {
	t.Parallel()
	for cost, want := range map[budget.USD]string{1000: "precheck_started", budget.Dollar: "draining"} {
		s := NewState(mustPlan(t, planText(task("a"), `{"id":"b","subject":"S","reversibility":"1","verify":["true"]}`)))
		cfg := testConfig()
		cfg.Precheck, cfg.Limits.USD = true, budget.Dollar
		mustApply(t, s, event.RunStarted{Config: cfg}, event.WaveStarted{Wave: 1, Of: 1, Tasks: []string{"a", "b"}},
			event.AttemptStarted{Task: "a", Key: s.Tasks[0].Key, Wave: 1, Attempt: 1, Try: 1, Cap: budget.Dollar})
		if body := decideNext(s, epoch); body != nil {
			t.Errorf("while a runs: %+v", body)
		}
		mustApply(t, s, event.AttemptEnded{Task: "a", Key: s.Tasks[0].Key, Attempt: 1, Status: event.Completed,
			Result: runner.Result{Outcome: runner.Done, Cost: cost}})
		if body := decideNext(s, epoch); body == nil || body.Type() != want {
			t.Errorf("after a cost of %s: %+v, want %s", cost, body, want)
		}
	}
}

// The loop asks before an irreversible task. It starts the task only with leave, and the run stops without an answer.
func TestPrecheckInTheLoop(t *testing.T) {
	t.Parallel()
	irreversible := func() *plan.Plan {
		p := mustPlan(t, planText(task("drop"), task("use", "drop"), task("else")))
		p.Tasks[0].Reversibility = "1"
		return p
	}
	answer := func(c counsel.Challenge) func(int) counsel.Challenge { return func(int) counsel.Challenge { return c } }
	const hard = "the pre-check of task drop, which is hard to undo: "
	for _, tt := range []struct {
		name     string
		answer   func(n int) counsel.Challenge // to the nth question; nil: nobody is there
		status   event.RunStatus
		reason   string
		done     int
		blocked  int
		cost     budget.USD
		schedule event.Schedule
	}{
		{"leave", answer(counsel.Challenge{Go: true, Cost: 5}), event.RunComplete, "", 3, 0, 3005, ""},
		{"leave, eager", answer(counsel.Challenge{Go: true, Cost: 5}), event.RunComplete, "", 3, 0, 3005, event.Eager},
		{"refused", answer(counsel.Challenge{Reason: "no way back"}), event.RunBlocked,
			"the pre-check refused drop: no way back", 1, 2, 1000, ""},
		{"no answer", answer(counsel.Challenge{Error: "silence", Failure: runner.Truncated}), event.RunBlocked,
			hard + "silence", 0, 0, 0, ""},
		{"limited", answer(counsel.Challenge{Error: "later", Failure: runner.Limited}), event.RunLimited, hard + "later", 0,
			0, 0, ""},
		{"stopped, then leave", func(n int) counsel.Challenge {
			if n == 1 {
				return counsel.Challenge{Error: "stopped", Failure: runner.Interrupted}
			}
			return counsel.Challenge{Go: true}
		}, event.RunComplete, "", 3, 0, 3000, ""},
		{"a bug", func(int) counsel.Challenge { panic("nil map") }, event.RunBlocked, hard + "a bug in wavex: nil map", 0, 0,
			panelCap, ""},
		{"nobody", nil, event.RunBlocked, hard + "nobody is there to ask", 0, 0, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := testConfig()
			c.Precheck, c.Schedule = true, cmp.Or(tt.schedule, c.Schedule)
			b := newFixture(t, irreversible(), c)
			if tt.answer != nil {
				b.Precheck = func(_ *State, i int, e event.PrecheckStarted) func(context.Context) counsel.Challenge {
					if i != 0 || e.Task != "drop" {
						t.Errorf("asked about task %d, %s", i, e.Task)
					}
					return func(context.Context) counsel.Challenge { return tt.answer(e.N) }
				}
			}
			end := b.run(t)
			if end.Status != tt.status || end.Reason != tt.reason || end.Tasks.Completed != tt.done ||
				end.Tasks.Blocked != tt.blocked || end.Cost != tt.cost {
				t.Errorf("ended as %+v", end)
			}
		})
	}
}
