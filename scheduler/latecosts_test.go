package scheduler

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/runner"
)

// lost returns the result of an attempt whose worker was lost.
func lost(limit budget.USD) runner.Result {
	return runner.Result{Outcome: runner.Interrupted, Reason: "lost", Cost: limit, Priced: "cap", Worker: "w1"}
}

// onWorkers returns a configuration of a run on workers.
func onWorkers() event.Config {
	c := testConfig()
	c.Workers.Engine, c.Review = "temporal://engine.example:7233/default", event.ReviewOff
	c.Limits.Wave = 20 * budget.Dollar
	return c
}

// tells returns LateCosts of a worker that has told the cost of one attempt.
func tells(task string, attempt int, cost budget.USD, asked *[]event.CostCorrected) func(context.Context,
	[]event.CostCorrected) []event.CostCorrected {
	return func(_ context.Context, unknown []event.CostCorrected) (told []event.CostCorrected) {
		*asked = append(*asked, unknown...)
		for _, c := range unknown {
			if c.Task == task && c.Attempt == attempt {
				c.Cost, c.Priced, c.Usage = cost, "stream", runner.Usage{Output: 7}
				told = append(told, c)
			}
		}
		return told
	}
}

// A worker that was lost tells the cost of its attempt before the end of the run. The costs of the run, the wave and
// the task are corrected, live and in a replay.
func TestLateCosts(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(task("a"), task("b"), task("c", "a", "b")))
	b := newFixture(t, p, onWorkers())
	done := runner.Result{Outcome: runner.Done, Session: "s", Cost: 1000, Priced: "result", Turns: 1}
	b.runner.results["a"] = []runner.Result{lost(2 * budget.Dollar), done}
	b.runner.results["b"] = []runner.Result{lost(3 * budget.Dollar), done}
	var asked []event.CostCorrected
	b.LateCosts = tells("a", 1, 4000, &asked)
	end := b.run(t)
	want := event.CostCorrected{Task: "a", Key: b.State.Tasks[0].Key, Attempt: 1, Was: 2 * budget.Dollar, Cost: 4000,
		Priced: "stream", Usage: runner.Usage{Output: 7}}
	if got := of[event.CostCorrected](b.journal); len(got) != 1 || got[0] != want {
		t.Errorf("corrections %+v", got)
	}
	if len(asked) != 2 || asked[0].Task != "a" || asked[1].Task != "b" || asked[1].Was != 3*budget.Dollar {
		t.Errorf("asked for %+v", asked)
	}
	spent := 3*budget.Dollar + 4000 + 3*1000
	if end.ExitCode != 0 || end.Cost != spent || b.State.Efforts().Work.Cost != spent {
		t.Errorf("ended as %+v, work %s", end, b.State.Efforts().Work.Cost)
	}
	again := NewState(p)
	if err := again.Replay(b.journal.events); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*State{"live": b.State, "replayed": again} {
		a := s.Tasks[0]
		if a.Cost != 4000+1000 || a.Usage.Output != 7 || s.waveLedger(1).Spent() != 3*budget.Dollar+4000+2000 ||
			s.costs.done["a"] != 5000 || s.costs.done["b"] != 3*budget.Dollar+1000 || len(s.atCap) != 1 {
			t.Errorf("%s: %+v; wave %s, tasks %v, at their caps %v", name, a, s.waveLedger(1).Spent(), s.costs.done, s.atCap)
		}
	}
	if !reflect.DeepEqual(visible(again), visible(b.State)) || !reflect.DeepEqual(again.costs, b.State.costs) {
		t.Errorf("a replay has\n%+v, live\n%+v", visible(again), visible(b.State))
	}
}

// A run that an unknown cost has brought to its budget goes on when the worker has told the cost.
func TestLateCostsOfAResumedRun(t *testing.T) {
	t.Parallel()
	c := onWorkers()
	text := planText(task("a"))
	b := newFixture(t, mustPlan(t, text), c)
	b.runner.results["a"] = []runner.Result{lost(c.Limits.USD)}
	if end := b.run(t); end.Status != event.RunPaused {
		t.Fatalf("ended as %+v", end)
	}
	for cost, want := range map[budget.USD]event.RunStatus{1000: event.RunComplete, c.Limits.USD: event.RunPaused} {
		var asked []event.CostCorrected
		again := resumed(t, text, c, b.journal.events)
		again.LateCosts = tells("a", 1, cost, &asked)
		if end := again.run(t); end.Status != want {
			t.Errorf("%s: ended as %+v", cost, end)
		}
		if len(asked) != 1 || len(of[event.CostCorrected](again.journal)) != 1 {
			t.Errorf("%s: asked for %+v", cost, asked)
		}
	}
}

// The budget of a task holds for the known costs: an attempt whose worker was lost leaves the next one its money.
func TestBudgetOfATaskAfterALoss(t *testing.T) {
	t.Parallel()
	text := `{"tasks":[{"id":"a","subject":"A","verify":["true"],"budgetUSD":2}]}`
	b := newFixture(t, mustPlan(t, text), onWorkers())
	b.runner.results["a"] = []runner.Result{lost(2 * budget.Dollar), outcome(runner.Interrupted), wrong("no"), wrong("no")}
	b.run(t)
	var caps []budget.USD
	for _, s := range of[event.AttemptStarted](b.journal) {
		caps = append(caps, s.Cap)
	}
	if len(caps) < 3 || caps[0] != 2*budget.Dollar || caps[1] != 2*budget.Dollar || caps[2] != 2*budget.Dollar-300 {
		t.Errorf("caps %v", caps)
	}
}

// Only attempts on workers are asked for, and only those at their caps.
func TestNoLateCosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config event.Config
		result runner.Result
	}{"here": {testConfig(), lost(budget.Dollar)}, "known": {onWorkers(), outcome(runner.Interrupted)}} {
		b := newFixture(t, mustPlan(t, planText(task("a"))), c.config)
		b.runner.results["a"] = []runner.Result{c.result, {Outcome: runner.Done, Session: "s", Cost: 1, Priced: "result"}}
		var asked []event.CostCorrected
		b.LateCosts = tells("a", 1, 1, &asked)
		if end := b.run(t); end.ExitCode != 0 || len(asked) > 0 {
			t.Errorf("%s: %+v, asked for %+v", name, end, slices.Clone(asked))
		}
	}
}
