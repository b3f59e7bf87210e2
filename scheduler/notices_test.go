package scheduler

import (
	"encoding/json"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// paid returns a successful attempt; notional: on a subscription.
func paid(usd budget.USD, notional bool) runner.Result {
	return runner.Result{Outcome: runner.Done, Session: "s", Cost: usd, Priced: "result", Turns: 1, Notional: notional}
}

// oneByOne runs tasks a, b, c... one after the other, with a budget of a dollar by default.
func oneByOne(t *testing.T, change func(*event.Config), results ...runner.Result) (*fixture, event.RunEnded) {
	t.Helper()
	c := testConfig()
	c.Parallel, c.Limits.USD = 1, budget.Dollar
	if change != nil {
		change(&c)
	}
	var tasks []string
	for i := range results {
		tasks = append(tasks, task(string(rune('a'+i))))
	}
	b := newFixture(t, mustPlan(t, planText(tasks...)), c)
	for i, r := range results {
		b.runner.results[string(rune('a'+i))] = []runner.Result{r}
	}
	return b, b.run(t)
}

func caps(b *fixture) (out []budget.USD) {
	for _, e := range of[event.AttemptStarted](b.journal) {
		out = append(out, e.Cap)
	}
	return out
}

func notices(b *fixture) (out []string) {
	for _, n := range of[event.Notice](b.journal) {
		out = append(out, n.Text)
	}
	return out
}

func TestASubscriptionIsNotStoppedByABudgetNobodyGave(t *testing.T) {
	t.Parallel()
	b, end := oneByOne(t, nil, paid(3*budget.Dollar, true), paid(3*budget.Dollar, true), paid(3*budget.Dollar, true))
	if end.Status != "complete" || !end.Notional || end.Cost != 9*budget.Dollar {
		t.Errorf("%+v", end)
	}
	if got := caps(b); got[0] == 0 || got[1] != 0 || got[2] != 0 {
		t.Errorf("caps %v: the first is not known to be notional, the others are", got)
	}
	if got := notices(b); len(got) != 1 || !strings.Contains(got[0], "do not stop the run") {
		t.Errorf("%q", got)
	}
}

func TestASubscriptionIsStoppedByABudgetThatWasGiven(t *testing.T) {
	t.Parallel()
	b, end := oneByOne(t, func(c *event.Config) { c.BudgetGiven = true }, paid(600_000, true), paid(600_000, true),
		paid(1, true))
	if end.Status != "paused" || end.ExitCode != 3 || !end.Notional || end.Tasks.Completed != 2 {
		t.Errorf("%+v", end)
	}
	if got := notices(b); len(got) != 2 || !strings.Contains(got[0], "still stops at its budget of $1") ||
		!strings.Contains(got[1], "90 % of the budget") {
		t.Errorf("%q", got)
	}
}

func TestABilledLoginBindsAgain(t *testing.T) {
	t.Parallel()
	b, end := oneByOne(t, nil, paid(2*budget.Dollar, true), paid(10_000, false), paid(1, false))
	if end.Status != "paused" || end.ExitCode != 3 || end.Notional || end.Tasks.Completed != 2 {
		t.Errorf("%+v", end)
	}
	if got := notices(b); len(got) != 2 || !strings.Contains(got[1], "billed from now on, and the budget of $1 holds") {
		t.Errorf("%q", got)
	}
}

// An attempt that shows nothing about the login (it was stopped, or cost nothing) does not change
// Notional.
func TestOnlyPaidAttemptsShowTheLogin(t *testing.T) {
	t.Parallel()
	s := &State{Config: event.Config{Limits: budget.Limits{USD: budget.Dollar}}}
	s.updateLogin(paid(1, true))
	for _, r := range []runner.Result{{Outcome: runner.Interrupted, Cost: 5, Priced: "stream"}, {Outcome: runner.Done},
		wrong("x"), lostResult(5)} {
		s.updateLogin(r)
		if l := s.Ledger.Limits(); !s.Notional || !l.NoUSD {
			t.Errorf("after %+v: notional %t, limits %+v", r, s.Notional, l)
		}
	}
	s.updateLogin(paid(1, false))
	if l := s.Ledger.Limits(); s.Notional || l.NoUSD || l.USD != budget.Dollar {
		t.Errorf("notional %t, limits %+v", s.Notional, l)
	}
}

// The knowledge about the login survives a resume, and a flag of the resume can set a budget.
func TestALoginSurvivesAResume(t *testing.T) {
	t.Parallel()
	b, _ := oneByOne(t, nil, paid(3*budget.Dollar, true), paid(3*budget.Dollar, true))
	for given, unlimited := range map[bool]bool{false: true, true: false} {
		s := NewState(b.State.Plan)
		c := b.State.Config
		c.BudgetGiven = given
		events := append(b.journal.events[:len(b.journal.events):len(b.journal.events)],
			event.Event{Seq: s.Seq, Body: event.RunResumed{Config: c}})
		testrepo.Must(t, s.Replay(events))
		if !s.Notional || s.Ledger.Limits().NoUSD != unlimited {
			t.Errorf("given %t: notional %t, limits %+v", given, s.Notional, s.Ledger.Limits())
		}
		if err := s.Replay([]event.Event{{Body: event.RunStarted{Config: c}}}); err != nil || s.Notional {
			t.Errorf("a new run begins as %t (%v)", s.Notional, err)
		}
	}
}

func TestBudgetNotices(t *testing.T) {
	t.Parallel()
	b, end := oneByOne(t, nil, paid(490_000, false), paid(20_000, false), paid(300_000, false), paid(0, false))
	if end.Status != "complete" {
		t.Fatalf("%+v", end)
	}
	want := []string{"50 % of the budget is spent: $0.51 of $1", "75 % of the budget is spent: $0.81 of $1"}
	if got := notices(b); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%q", got)
	}
	for i, e := range b.journal.events {
		if _, ok := e.Body.(event.Notice); !ok {
			continue
		}
		if _, ok := b.journal.events[i-1].Body.(event.AttemptEnded); !ok {
			t.Errorf("record %d follows a %s", e.Seq, b.journal.events[i-1].Body.Type())
		}
	}
	b, _ = oneByOne(t, func(c *event.Config) { c.Limits = budget.Limits{NoUSD: true, NoIterations: true} },
		paid(99*budget.Dollar, false))
	if got := notices(b); len(got) != 0 {
		t.Errorf("without a limit: %q", got)
	}
}

// A disputed CLI figure is reported once in a run, and so are a guessed price and a hook that held the agent.
func TestADoubtfulFigureIsNoticedOnce(t *testing.T) {
	t.Parallel()
	table := runner.Result{Outcome: runner.Done, Session: "s", Cost: 200_000, Disputed: 1000, Priced: "table", Turns: 1,
		ClaudeVersion: "2.9.9"}
	guess := runner.Result{Outcome: runner.Done, Session: "s", Cost: 200_000, Priced: "guess", Turns: 1, Model: "new-1"}
	held := table
	held.Held = "a Stop hook"
	for want, r := range map[string]runner.Result{
		"and from now on; if your prices are lower, give them with --prices; a Stop hook":                  held,
		"claude 2.9.9 said that an attempt cost $0.0010; its tokens cost $0.20":                            table,
		"an attempt ended without the CLI's figure, and there is no list price of new-1: $0.20 counts, by": guess,
	} {
		b, end := oneByOne(t, nil, paid(1, false), r, r)
		if end.Status != "complete" || end.Cost != 400_001 {
			t.Errorf("%+v", end)
		}
		if got := notices(b); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%q", got)
		}
	}
}

func TestEmptyMoneyFieldsAreOmitted(t *testing.T) {
	t.Parallel()
	for _, v := range []any{event.Config{}, event.RunEnded{}} {
		b, err := json.Marshal(v)
		if err != nil || strings.Contains(string(b), "notional") || strings.Contains(string(b), "budget_given") {
			t.Errorf("%s, %v", b, err)
		}
	}
}
