package scheduler

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/runner"
)

// lost returns the result of an attempt whose worker was lost.
func lost(limit budget.USD) runner.Result {
	return runner.Result{Outcome: runner.Interrupted, Reason: "lost", Cost: limit, Priced: "cap", Worker: "w1"}
}

func doneFor(cost budget.USD) runner.Result {
	return runner.Result{Outcome: runner.Done, Session: "s", Cost: cost, Priced: "result", Turns: 1}
}

// onWorkers returns a configuration of a run on workers.
func onWorkers() event.Config {
	c := testConfig()
	c.Workers.Engine, c.Review = "temporal://engine.example:7233/default", event.ReviewOff
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

// A worker that was lost tells the cost of its attempt before the end of the run. The costs of the run and the
// task are corrected, live and in a replay.
func TestLateCosts(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(task("a"), task("b"), task("c", "a", "b")))
	b := newFixture(t, p, onWorkers())
	b.runner.results["a"] = []runner.Result{lost(2 * budget.Dollar), doneFor(1000)}
	b.runner.results["b"] = []runner.Result{lost(3 * budget.Dollar), doneFor(1000)}
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
	again := replayed(t, p, b.journal.events)
	for name, s := range map[string]*State{"live": b.State, "replayed": again} {
		a := s.Tasks[0]
		if a.Cost != 4000+1000 || a.Usage.Output != 7 ||
			s.costs.done["a"] != 5000 || s.costs.done["b"] != 3*budget.Dollar+1000 || len(s.atCap) != 1 {
			t.Errorf("%s: %+v; tasks %v, at their caps %v", name, a, s.costs.done, s.atCap)
		}
	}
	if !reflect.DeepEqual(visible(again), visible(b.State)) || !reflect.DeepEqual(again.costs, b.State.costs) {
		t.Errorf("a replay has\n%+v, live\n%+v", visible(again), visible(b.State))
	}
}

// A correction of another amount than the one on record ends the run with an error: the ledger would be wrong.
func TestLateCostOfAnotherAmount(t *testing.T) {
	t.Parallel()
	b := newFixture(t, mustPlan(t, planText(task("a"))), onWorkers())
	b.runner.results["a"] = []runner.Result{lost(2 * budget.Dollar), doneFor(1000)}
	b.LateCosts = func(_ context.Context, unknown []event.CostCorrected) []event.CostCorrected {
		unknown[0].Was++
		return unknown
	}
	if _, err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "it does not count at $2") {
		t.Errorf("ended with %v", err)
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
	caps := caps(b)
	if len(caps) < 3 || caps[0] != 2*budget.Dollar || caps[1] != 2*budget.Dollar || caps[2] != 2*budget.Dollar-300 {
		t.Errorf("caps %v", caps)
	}
	// Neither another task has that unknown cost, nor the task as the plan has it later.
	for text, want := range map[string]budget.USD{text: 2 * budget.Dollar, strings.Replace(text, "true", "false", 1): 0} {
		s := replayed(t, mustPlan(t, strings.Replace(text, `}]}`, `},`+task("b")+`]}`, 1)), b.journal.events)
		if got, other := s.unknownCost(0), s.unknownCost(1); got != want || other != 0 {
			t.Errorf("of %s, %s is unknown, and %s of another task", text, got, other)
		}
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
			t.Errorf("%s: %+v, asked for %+v", name, end, asked)
		}
	}
}

// While the loop waits for costs, all events are durable: a kill loses nothing that was paid for.
func TestSearchOfCostsLeavesNothingUnwritten(t *testing.T) {
	t.Parallel()
	b := newFixture(t, mustPlan(t, planText(task("a"))), onWorkers())
	b.runner.results["a"] = []runner.Result{lost(budget.Dollar), doneFor(1)}
	var asked []event.CostCorrected
	told := tells("a", 1, 1, &asked)
	b.LateCosts = func(ctx context.Context, unknown []event.CostCorrected) []event.CostCorrected {
		b.journal.mu.Lock()
		defer b.journal.mu.Unlock()
		if len(b.journal.pending) > 0 || len(of[event.AttemptEnded](b.journal)) != 2 {
			t.Errorf("%d events are written, %d are not", len(b.journal.events), len(b.journal.pending))
		}
		return told(ctx, unknown)
	}
	if end := b.run(t); end.ExitCode != 0 || len(asked) != 1 {
		t.Errorf("%+v, asked for %+v", end, asked)
	}
}

// A resumed run works on while it searches for costs.
func TestWorkGoesOnDuringASearchOfCosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := onWorkers()
		c.Limits.Iterations = 1
		text := planText(task("a"), task("b", "a"))
		first := newFixture(t, mustPlan(t, text), c)
		first.runner.results["a"] = []runner.Result{lost(budget.Dollar)}
		first.runner.results["a"][0].Outcome = runner.OverCap // it counts as an iteration
		if end := first.run(t); end.Status != event.RunPaused {
			t.Fatalf("ended as %+v", end)
		}
		c.Limits.Iterations = 9
		again := resumed(t, text, c, first.journal.events)
		ended := make(chan struct{})
		again.Views = []View{viewFunc(func(e event.Event, _ *State) {
			if b, is := e.Body.(event.AttemptEnded); is && b.Task == "a" {
				close(ended)
			}
		})}
		var asked []event.CostCorrected
		told := tells("a", 1, 1, &asked)
		again.LateCosts = func(ctx context.Context, unknown []event.CostCorrected) []event.CostCorrected {
			<-ended
			return told(ctx, unknown)
		}
		if end := again.run(t); end.ExitCode != 0 || end.Cost != 2001 || len(asked) != 1 {
			t.Errorf("%+v, asked for %+v", end, asked)
		}
	})
}

// A run that an unknown cost has brought to its budget asks for that cost before it stops: it goes on, or stops with an
// advice for the costs as they are then. At its end it asks for the attempts that were lost since.
func TestLateCostsBeforeAMoneyStop(t *testing.T) {
	t.Parallel()
	c := onWorkers()
	for name, told := range map[string]int{"nothing": 0, "the first": 1, "both": 2} {
		b := newFixture(t, mustPlan(t, planText(task("a"), task("b", "a"))), c)
		b.runner.results["a"] = []runner.Result{lost(c.Limits.USD), doneFor(1000)}
		b.runner.results["b"] = []runner.Result{lost(budget.Dollar), doneFor(1000)}
		var asked [][]event.CostCorrected
		b.LateCosts = func(_ context.Context, unknown []event.CostCorrected) (out []event.CostCorrected) {
			if asked = append(asked, unknown); len(asked) <= told {
				u := unknown[0]
				u.Cost, u.Priced = 10, "stream"
				out = append(out, u)
			}
			return out
		}
		end := b.run(t)
		stops := of[event.Draining](b.journal)
		cost, times := []budget.USD{c.Limits.USD, budget.Dollar + 2010, 2020}[told], []int{1, 2, 2}[told]
		if (end.Status == event.RunComplete) != (told > 0) || end.Cost != cost || len(asked) != times ||
			(len(stops) > 0) != (told == 0) || len(of[event.CostCorrected](b.journal)) != told {
			t.Errorf("%s told: %+v, %d stops, asked for %+v", name, end, len(stops), asked)
		}
		for _, unknown := range asked {
			if len(unknown) != 1 {
				t.Errorf("%s told: asked for %+v", name, asked)
			}
		}
	}
}

// A run stops for want of money for a panel only after a search for costs: a lost attempt may have cost less.
func TestLateCostsBeforeAPanelGetsNoMoney(t *testing.T) {
	t.Parallel()
	for cost, want := range map[budget.USD]int{1000: 0, 20*budget.Dollar - budget.MinReservation - 1000: 1} {
		c := onWorkers()
		c.Limits.USD = 20 * budget.Dollar
		b := newFixture(t, mustPlan(t, planText(task("a"))), c)
		// After the loss there is money for an attempt, and after that for nothing more.
		b.runner.results["a"] = []runner.Result{lost(c.Limits.USD - budget.MinReservation - 1000), wrong("no"), doneFor(1)}
		var asked []event.CostCorrected
		b.LateCosts = tells("a", 1, cost, &asked)
		b.run(t)
		stopped := of[event.Draining](b.journal)
		if len(stopped) != want || len(b.panel.cases) != 1-want || len(asked) != 1 {
			t.Errorf("%s: stopped %+v, %d panels, asked for %+v", cost, stopped, len(b.panel.cases), asked)
		}
	}
}

// A signal or a cancellation ends a search for costs. A run that has only waited for it ends as it would have without
// them: its work is done. A run that was about to stop for want of money is interrupted.
func TestSignalEndsASearchOfCosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit budget.USD // at which the lost attempt counts
		sig   Signal     // none: a cancellation
		want  event.ExitCode
	}{
		"a signal at the end":                {budget.Dollar, Signal{Name: "SIGINT", Code: 130}, 0},
		"an interrupting signal at the end":  {budget.Dollar, Signal{Name: "SIGTERM", Code: 143, Interrupt: true}, 0},
		"a cancellation at the end":          {budget.Dollar, Signal{}, 0},
		"a signal before a stop for a limit": {25 * budget.Dollar, Signal{Name: "SIGINT", Code: 130}, 130},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newFixture(t, mustPlan(t, planText(task("a"))), onWorkers())
			b.runner.results["a"] = []runner.Result{lost(c.limit), doneFor(1)}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			calls := 0
			b.LateCosts = func(ctx context.Context, _ []event.CostCorrected) []event.CostCorrected {
				if calls++; c.sig.Name == "" {
					cancel()
				} else {
					b.signals <- c.sig
				}
				<-ctx.Done()
				return nil
			}
			end, err := b.Run(ctx)
			if err != nil || end.ExitCode != c.want || b.Interrupted || calls != 1 ||
				(len(of[event.Draining](b.journal)) > 0) != (c.want != 0) {
				t.Errorf("%s: %+v, %v, interrupted %t, %d searches", name, end, err, b.Interrupted, calls)
			}
		})
	}
}

// A correction changes the last result of a task only if that is of the same attempt, and also after the next attempt
// has begun.
func TestLateCostOfTheLastResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		results []runner.Result
		starts  int
		want    budget.USD
	}{
		"the next attempt runs": {[]runner.Result{lost(budget.Dollar)}, 2, 7},
		"it waits":              {[]runner.Result{lost(budget.Dollar)}, 1, 7},
		"an earlier failure":    {[]runner.Result{wrong("no"), lost(budget.Dollar)}, 2, wrong("no").Cost},
	} {
		s := NewState(mustPlan(t, planText(task("a"))))
		config := onWorkers()
		config.Counsel = false
		mustApply(t, s, event.RunStarted{Config: config})
		for s.Tasks[0].Attempts < c.starts || s.Running() > 0 && len(c.results) > 0 {
			body := decideNext(s, epoch)
			if s.Running() > 0 {
				body, c.results = onAttempt(s, 0, c.results[0], epoch, 0), c.results[1:]
			}
			mustApply(t, s, body)
		}
		for _, a := range s.atCap {
			b := a.correction
			b.Cost, b.Priced = 7, "stream"
			mustApply(t, s, b)
		}
		if last := s.Tasks[0].Last; last.Cost != c.want || len(s.atCap) > 0 {
			t.Errorf("%s: the last result is %+v", name, last)
		}
	}
}

// The forecast of another run learns the costs as corrected, as a replay of the events does.
func TestLearnCorrectedCosts(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(task("a"), task("b")))
	b := newFixture(t, p, onWorkers())
	b.runner.results["a"] = []runner.Result{lost(2 * budget.Dollar), doneFor(1000)}
	var asked []event.CostCorrected
	b.LateCosts = tells("a", 1, 4000, &asked)
	b.run(t)
	next := NewState(p)
	next.Learn(b.journal.events)
	if next.costs.done["a"] != 5000 || !reflect.DeepEqual(next.costs, b.State.costs) {
		t.Errorf("learnt %+v, live %+v", next.costs, b.State.costs)
	}
	// All that a task has cost since it was done may turn out to be nothing.
	next = NewState(p)
	next.Learn([]event.Event{{Body: event.AttemptEnded{Task: "a", Result: doneFor(1000)}},
		{Body: event.AttemptEnded{Task: "a", Result: lost(500)}},
		{Body: event.CostCorrected{Task: "a", Was: 500}}})
	if next.costs.done["a"] != 1000 || next.costs.open["a"] != 0 {
		t.Errorf("learnt %+v", next.costs)
	}
	// It may also be more than was counted, before the task is done and after.
	next = NewState(p)
	next.Learn([]event.Event{{Body: event.AttemptEnded{Task: "a", Result: lost(500)}},
		{Body: event.CostCorrected{Task: "a", Was: 500, Cost: 1200}},
		{Body: event.AttemptEnded{Task: "b", Result: doneFor(1000)}},
		{Body: event.CostCorrected{Task: "b", Was: 100, Cost: 400}}})
	if _, open := next.costs.open["b"]; open || next.costs.open["a"] != 1200 || next.costs.done["b"] != 1300 {
		t.Errorf("learnt %+v", next.costs)
	}
}

// A correction goes to the ledgers that paid for the attempt. The id of its task tells the group until the list is
// there. The id may have a bracket of its own.
func TestLateCostInAGroup(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"g", "a[b"} {
		s := NewState(mustPlan(t, planText(`{"id":"x","subject":"List","output":{"type":"object"}}`,
			`{"id":"`+id+`","subject":"x","verify":["true"],"foreach":"${tasks.x.output.items}"}`)))
		m, item := simulation{s: s}, id+"[k]"
		apply := func(bodies ...event.Body) {
			for _, b := range bodies {
				if err := m.apply(b); err != nil {
					t.Fatalf("%s: %v", item, err)
				}
			}
		}
		list := doneFor(0)
		list.Output = &runner.Output{Value: json.RawMessage(`{"items":["k"]}`)}
		apply(event.RunStarted{Config: onWorkers()},
			event.AttemptStarted{Task: item, Key: "k", Wave: 1, Attempt: 1, Try: 1, Slot: 0, Cap: budget.Dollar},
			event.AttemptEnded{Task: item, Key: "k", Attempt: 1, Status: event.Pending, Result: lost(budget.Dollar)},
			event.AttemptStarted{Task: "x", Key: s.Tasks[0].Key, Wave: 1, Attempt: 1, Try: 1, Slot: 0},
			event.AttemptEnded{Task: "x", Key: s.Tasks[0].Key, Attempt: 1, Status: event.Completed, Result: list})
		if paid := s.GroupCost(id); paid != budget.Dollar {
			t.Errorf("%s: the group paid %s", item, paid)
		}
		apply(event.ItemsAdded{Group: id, Items: []json.RawMessage{json.RawMessage(`"k"`)}, Tasks: []string{item}})
		if _, ok := s.Index(item); !ok {
			t.Errorf("%s did not join", item)
		}
		apply(event.CostCorrected{Task: item, Key: "k", Attempt: 1, Was: budget.Dollar, Cost: 10})
		if paid := s.GroupCost(id); paid != 10 || s.Ledger.Spent() != 10 {
			t.Errorf("%s: the group paid %s, the run %s", item, paid, s.Ledger.Spent())
		}
	}
}
