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

// TestPrecheckDue: a challenge waits for its wave and for money that running work may release. It is not asked
// twice, and not about a task that is done.
func TestPrecheckDue(t *testing.T) {
	t.Parallel()
	irreversible := func(id string, blockedBy string) string {
		return `{"id":"` + id + `","subject":"S","reversibility":"1","verify":["true"],"blockedBy":[` + blockedBy + `]}`
	}
	open := func(t *testing.T, money budget.USD) *State {
		t.Helper()
		s := NewState(mustPlan(t, planText(task("a"), irreversible("b", ""), irreversible("c", `"b"`))))
		cfg := testConfig()
		cfg.Precheck, cfg.Limits.USD = true, money
		mustApply(t, s, event.RunStarted{Config: cfg})
		mustApply(t, s, event.WaveStarted{Wave: 1, Of: 2, Tasks: []string{"a", "b"}})
		return s
	}
	due := func(t *testing.T, s *State) string {
		t.Helper()
		body, wait := decidePrecheck(s)
		switch b := body.(type) {
		case nil:
			if wait {
				return "waits"
			}
			return "none"
		case event.PrecheckStarted:
			if b.Cap <= 0 || b.Cap > panelCap {
				t.Errorf("its cap is %s", b.Cap)
			}
			return b.Task
		case event.Draining:
			if b.Stop.Limit != budget.LimitMoney || wait {
				t.Errorf("the stop is %+v, it waits: %v", b.Stop, wait)
			}
			return "stops"
		default:
			t.Fatalf("decided %T", b)
			return ""
		}
	}
	want := func(t *testing.T, s *State, want string) {
		t.Helper()
		if got := due(t, s); got != want {
			t.Errorf("%q is due, want %q", got, want)
		}
	}
	t.Run("asked once, in its wave", func(t *testing.T) {
		t.Parallel()
		s := open(t, 25*budget.Dollar)
		want(t, s, "b")
		mustApply(t, s, event.PrecheckStarted{Task: "b", Key: s.Tasks[1].Key, N: 1, Cap: 1000})
		mustApply(t, s, event.PrecheckEnded{Task: "b", Key: s.Tasks[1].Key, N: 1, Challenge: counsel.Challenge{Go: true}})
		want(t, s, "none")
	})
	t.Run("not for a completed task", func(t *testing.T) {
		t.Parallel()
		s := open(t, 25*budget.Dollar)
		mustApply(t, s, event.AttemptStarted{Task: "b", Key: s.Tasks[1].Key, Wave: 1, Attempt: 1, Try: 1, Cap: 1000})
		want(t, s, "none")
		mustApply(t, s, event.AttemptEnded{Task: "b", Key: s.Tasks[1].Key, Attempt: 1, Status: event.Completed,
			Result: runner.Result{Outcome: runner.Done}})
		want(t, s, "none")
	})
	t.Run("waits for money", func(t *testing.T) {
		t.Parallel()
		s := open(t, budget.Dollar)
		mustApply(t, s, event.AttemptStarted{Task: "a", Key: s.Tasks[0].Key, Wave: 1, Attempt: 1, Try: 1, Cap: budget.Dollar})
		want(t, s, "waits")
		mustApply(t, s, event.AttemptEnded{Task: "a", Key: s.Tasks[0].Key, Attempt: 1, Status: event.Completed,
			Result: runner.Result{Outcome: runner.Done, Cost: 1000}})
		want(t, s, "b")
	})
	t.Run("stops without money", func(t *testing.T) {
		t.Parallel()
		s := open(t, budget.Dollar)
		mustApply(t, s, event.AttemptStarted{Task: "a", Key: s.Tasks[0].Key, Wave: 1, Attempt: 1, Try: 1, Cap: budget.Dollar})
		mustApply(t, s, event.AttemptEnded{Task: "a", Key: s.Tasks[0].Key, Attempt: 1, Status: event.Completed,
			Result: runner.Result{Outcome: runner.Done, Cost: budget.Dollar}})
		want(t, s, "stops")
	})
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
