package forecast

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// ended returns the end of an attempt that cost cents and took seconds.
func ended(task string, status event.Status, cents, seconds int) event.Event {
	return event.Event{Body: event.AttemptEnded{Task: task, Status: status,
		Result: runner.Result{Cost: budget.USD(cents) * budget.Dollar / 100, Duration: time.Duration(seconds) * time.Second}}}
}

func chain(t *testing.T, estimates bool) *plan.Plan {
	t.Helper()
	guess := ""
	if estimates {
		guess = `,"estimate":{"usd":0.1,"seconds":30}`
	}
	p, diags := plan.Parse("plan.json", fmt.Appendf(nil,
		`{"tasks":[{"id":"a","subject":"a"%s},{"id":"b","subject":"b","blockedBy":["a"]%s},{"id":"c","subject":"c"%s}]}`,
		guess, guess, guess), plan.Options{})
	if p == nil {
		t.Fatal(diags)
	}
	return p
}

func TestExpect(t *testing.T) {
	t.Parallel()
	run := event.Event{Body: event.RunStarted{Config: event.Config{Run: "r"}}}
	four := []event.Event{run, ended("a", event.Completed, 10, 60), ended("b", event.Completed, 20, 120),
		ended("c", event.Pending, 5, 30),
		{Body: event.CounselEnded{Task: "c"}}, ended("c", event.Completed, 5, 30), ended("d", event.Completed, 40,
			240), ended("e", event.Failed, 999, 999)}
	for _, c := range []struct {
		name     string
		events   []event.Event
		guess    bool
		parallel int
		want     string
	}{
		{"nothing known", nil, false, 4, "expected: not known"},
		{"the planner's own guess, along the longest chain", nil, true, 4,
			"expected: $0.30 and 1m0s by the planner's own estimates"},
		{"rehearsals teach nothing", []event.Event{{Body: event.RunStarted{Config: event.Config{Agent: event.Rehearsal}}},
			ended("a", event.Completed, 10, 60)}, true, 4, "expected: $0.30 and 1m0s by the planner's own estimates"},
		{"a run after a rehearsal", append([]event.Event{{Body: event.RunStarted{Config: event.Config{
			Agent: event.Rehearsal}}}, ended("a", event.Completed, 999, 999)}, four[:3]...), true, 4,
			"expected: $0.45 and 3m0s, by 2 tasks completed here before; too few for a spread"},
		{"a short history has no spread", four[:3], true, 4,
			"expected: $0.45 and 3m0s, by 2 tasks completed here before; too few for a spread"},
		// Mean 20 cents and 120 s; three tasks, and two rounds of them side by side.
		{"with its spread", four, true, 4, "expected: $0.60 (80 % interval $0.18 to $1.02) and 4m0s (52s to 7m8s), by 4 tasks completed here before"},
		{"one after the other", four, true, 1, "expected: $0.60 (80 % interval $0.18 to $1.02) and 6m0s"},
	} {
		if got := Expect(c.events, chain(t, c.guess), c.parallel).String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Before a list is known, a forecast is a range: without it, and with as many items as it may have.
func TestExpectLists(t *testing.T) {
	t.Parallel()
	plan := func(estimate string) *plan.Plan {
		p, diags := plan.Parse("plan.json", fmt.Appendf(nil, `{"tasks":[
			{"id":"find","subject":"f","output":{"type":"object"}%[1]s},
			{"id":"fix","foreach":{"items":"${tasks.find.output.files}","maxItems":10},
			 "steps":[{"subject":"a"%[1]s},{"subject":"b"%[1]s}]},
			{"id":"end","subject":"e","blockedBy":["fix"]%[1]s}]}`, estimate), plan.Options{})
		if p == nil {
			t.Fatal(diags)
		}
		return p
	}
	run := event.Event{Body: event.RunStarted{Config: event.Config{Run: "r"}}}
	past := []event.Event{run, ended("a", event.Completed, 10, 60), ended("b", event.Completed, 20, 120),
		ended("c", event.Completed, 10, 60), ended("d", event.Completed, 40, 240)}
	for _, c := range []struct {
		events   []event.Event
		estimate string
		want     string
	}{
		{nil, "", "expected: not known; the plan has no estimates, and no task was completed here before: 2 tasks, and at " +
			"most 20 more of lists that are not known yet"},
		{nil, `,"estimate":{"usd":0.1,"seconds":30}`, "expected: $0.20 to $2.20 and 1m0s to 4m0s, for 2 tasks, and at most " +
			"20 more of lists that are not known yet, by the planner's own estimates"},
		{past[:3], "", "expected: $0.30 to $3.30 and 3m0s to 12m0s, for 2 tasks, and at most 20 more of lists that are not " +
			"known yet, by 2 tasks completed here before; too few for a spread"},
	} {
		if got := Expect(c.events, plan(c.estimate), 4).String(); !strings.HasPrefix(got, c.want) {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	e := Expect(past, plan(""), 4)
	if want := fmt.Sprintf("expected: %s to %s and ", e.CostLow.Spent(), e.Most.CostHigh.Spent()); e.CostLow >= e.Cost ||
		e.Most.CostHigh <= e.Most.Cost || !strings.HasPrefix(e.String(), want) {
		t.Errorf("with a spread: %s", e)
	}
}
