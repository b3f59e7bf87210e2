package scheduler

import (
	"testing"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
)

// TestPrecheckDue: a challenge waits for its wave and for money that running work may release. It is not asked
// twice, and not about a task that is done.
func TestPrecheckDue(t *testing.T) {
	t.Parallel()
	irreversible := func(id string, blockedBy string) string {
		return `{"id":"` + id + `","subject":"S","reversibility":"1","verify":["true"],"blockedBy":[` + blockedBy + `]}`
	}
	open := func(t *testing.T, money budget.USD) (*State, func(event.Body)) {
		t.Helper()
		s := NewState(mustPlan(t, planText(task("a"), irreversible("b", ""), irreversible("c", `"b"`))))
		m := simulation{s: s}
		apply := func(b event.Body) {
			t.Helper()
			if err := m.apply(b); err != nil {
				t.Fatal(err)
			}
		}
		cfg := testConfig()
		cfg.Precheck, cfg.Limits.USD = true, money
		apply(event.RunStarted{Config: cfg})
		apply(event.WaveStarted{Wave: 1, Of: 2, Tasks: []string{"a", "b"}})
		return s, apply
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
		s, apply := open(t, 25*budget.Dollar)
		want(t, s, "b")
		apply(event.PrecheckStarted{Task: "b", Key: s.Tasks[1].Key, N: 1, Cap: 1000})
		apply(event.PrecheckEnded{Task: "b", Key: s.Tasks[1].Key, N: 1, Challenge: counsel.Challenge{Go: true}})
		want(t, s, "none")
	})
	t.Run("not for a completed task", func(t *testing.T) {
		t.Parallel()
		s, apply := open(t, 25*budget.Dollar)
		apply(event.AttemptStarted{Task: "b", Key: s.Tasks[1].Key, Wave: 1, Attempt: 1, Try: 1, Cap: 1000})
		want(t, s, "none")
		apply(event.AttemptEnded{Task: "b", Key: s.Tasks[1].Key, Attempt: 1, Status: event.Completed,
			Result: runner.Result{Outcome: runner.Done}})
		want(t, s, "none")
	})
	t.Run("waits for money", func(t *testing.T) {
		t.Parallel()
		s, apply := open(t, budget.Dollar)
		apply(event.AttemptStarted{Task: "a", Key: s.Tasks[0].Key, Wave: 1, Attempt: 1, Try: 1, Cap: budget.Dollar})
		want(t, s, "waits")
		apply(event.AttemptEnded{Task: "a", Key: s.Tasks[0].Key, Attempt: 1, Status: event.Completed,
			Result: runner.Result{Outcome: runner.Done, Cost: 1000}})
		want(t, s, "b")
	})
	t.Run("stops without money", func(t *testing.T) {
		t.Parallel()
		s, apply := open(t, budget.Dollar)
		apply(event.AttemptStarted{Task: "a", Key: s.Tasks[0].Key, Wave: 1, Attempt: 1, Try: 1, Cap: budget.Dollar})
		apply(event.AttemptEnded{Task: "a", Key: s.Tasks[0].Key, Attempt: 1, Status: event.Completed,
			Result: runner.Result{Outcome: runner.Done, Cost: budget.Dollar}})
		want(t, s, "stops")
	})
}
