package scheduler

import (
	"testing"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/runner"
)

// foundResult is a Recovery that found the result of an attempt.
type foundResult struct {
	atCap
	res runner.Result
}

func (f foundResult) Attempt(event.AttemptStarted) runner.Result { return f.res }

// TestEndOfAnInterruptedAttempt: a turn that ended is charged once, by its own event. A session with a turn goes on;
// an ended turn does not, because its checks decide.
func TestEndOfAnInterruptedAttempt(t *testing.T) {
	t.Parallel()
	found := runner.Result{Outcome: runner.Interrupted, Session: "s", Turns: 1, Cost: 700, Contained: true}
	with := func(change func(*runner.Result)) runner.Result {
		res := found
		change(&res)
		return res
	}
	for name, test := range map[string]struct {
		found           runner.Result
		turn            *runner.Turn
		charged, goesOn bool
		cost            budget.USD
		contained       bool
	}{
		"in its turn":       {found: found, goesOn: true, cost: 700, contained: true},
		"before its turn":   {found: with(func(r *runner.Result) { r.Turns = 0 }), cost: 700, contained: true},
		"without a session": {found: with(func(r *runner.Result) { r.Session = "" }), cost: 700, contained: true},
		"in its checks": {found: found, charged: true, cost: 900, contained: true,
			turn: &runner.Turn{Result: runner.Result{Outcome: runner.Done, Session: "s", Turns: 2, Cost: 900}}},
		"in its checks, with processes left": {found: with(func(r *runner.Result) { r.Contained = false }), charged: true,
			turn: &runner.Turn{Result: runner.Result{Outcome: runner.Done, Contained: true, Cost: 900}}, cost: 900},
	} {
		s := NewState(mustPlan(t, planText(task("a"))))
		s.Tasks[0].Stuck = 2
		got, ok := s.endInterruptedAttempt(openAttempt{event.AttemptStarted{Task: "a", Key: s.Tasks[0].Key, Attempt: 3,
			Cap: 1000}, test.turn}, foundResult{res: test.found}).(event.AttemptEnded)
		if !ok {
			t.Fatalf("%s: no end of an attempt", name)
		}
		if got.Task != "a" || got.Attempt != 3 || got.Status != event.Pending || got.Stuck != 2 {
			t.Errorf("%s: %+v", name, got)
		}
		if got.Charged != test.charged || got.Continue != test.goesOn || got.Result.Cost != test.cost ||
			got.Result.Outcome != runner.Interrupted || got.Result.Contained != test.contained {
			t.Errorf("%s: charged %t, goes on %t, %+v", name, got.Charged, got.Continue, got.Result)
		}
	}
}
