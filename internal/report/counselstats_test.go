package report_test

import (
	"strings"
	"testing"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/runner"
)

// eventList is the short form of a journal.
type eventList []event.Event

func (t *eventList) add(b event.Body) *eventList {
	*t = append(*t, event.Event{Seq: int64(len(*t) + 1), Body: b})
	return t
}

func (t *eventList) runStarted() *eventList { return t.add(event.RunStarted{}) }

func (t *eventList) attemptEnded(task string, o runner.Outcome, status event.Status) *eventList {
	return t.add(event.AttemptEnded{Task: task, Key: "k-" + task, Result: runner.Result{Outcome: o, Cost: 100},
		Status: status})
}

func (t *eventList) counselEnded(task, unavailable string) *eventList {
	return t.add(event.CounselEnded{Task: task, Verdict: counsel.Verdict{Unavailable: unavailable, Cost: 7}})
}

func (t *eventList) planTask(task string) *eventList {
	return t.add(event.CounselSkipped{Task: task, Reason: "holdout"})
}

func TestCounselStatsOf(t *testing.T) {
	t.Parallel()
	const adv, pend, done, failed = event.Advising, event.Pending, event.Completed, event.Failed
	type arm struct {
		passed, trials int
		cost           budget.USD
	}
	for _, tt := range []struct {
		name          string
		tape          *eventList
		with, without arm
		silent        int
		runs          int
	}{
		{name: "nothing", tape: new(eventList).runStarted().attemptEnded("a", "done", done)},
		{name: "advised and passed", tape: new(eventList).runStarted().attemptEnded("a", "wrong", adv).counselEnded("a",
			"").attemptEnded("a", "done", done),
			with: arm{1, 1, 107}, runs: 1},
		{name: "advised by the second panel", tape: new(eventList).runStarted().attemptEnded("a", "wrong", adv).add(
			event.CounselEnded{Task: "a", Again: true, Verdict: counsel.Verdict{Unavailable: "cut off", Cost: 3}}).counselEnded(
			"a", "").attemptEnded("a", "done", done),
			with: arm{1, 1, 110}, runs: 1},
		{name: "held out", tape: new(eventList).runStarted().attemptEnded("a", "wrong", adv).planTask("a").attemptEnded("a",
			"done", done),
			without: arm{1, 1, 100}, runs: 1},
		{name: "no panel at all", tape: new(eventList).runStarted().attemptEnded("a", "stalled", pend).attemptEnded("a",
			"wrong", failed),
			without: arm{0, 1, 100}, runs: 1},
		{name: "a silent panel", tape: new(eventList).runStarted().attemptEnded("a", "wrong", adv).counselEnded("a",
			"over cap").attemptEnded("a", "done", done),
			without: arm{1, 1, 100}, silent: 1, runs: 1},
		{name: "three tries", tape: new(eventList).runStarted().attemptEnded("a", "wrong", adv).counselEnded("a",
			"").attemptEnded("a", "stalled",
			adv).planTask("a").attemptEnded("a", "done", done),
			with: arm{0, 1, 107}, without: arm{1, 1, 100}, runs: 1},
		{name: "what is nobody's fault decides nothing and costs",
			tape: new(eventList).runStarted().attemptEnded("a", "wrong",
				adv).counselEnded("a", "").
				attemptEnded("a", "interrupted", pend).attemptEnded("a", "throttled", pend).attemptEnded("a", "over-cap",
				pend).attemptEnded("a", "done", done),
			with: arm{1, 1, 407}, runs: 1},
		{name: "failed for good on its own budget", tape: new(eventList).runStarted().attemptEnded("a", "wrong",
			adv).counselEnded("a", "").attemptEnded("a",
			"over-cap", failed),
			with: arm{0, 1, 107}, runs: 1},
		{name: "not decided yet", tape: new(eventList).runStarted().attemptEnded("a", "wrong", adv).counselEnded("a",
			"").attemptEnded("a",
			"interrupted", pend)},
		{name: "a last failure is not retried", tape: new(eventList).runStarted().attemptEnded("a", "wrong",
			failed).runStarted().attemptEnded("a",
			"done", done)},
		{name: "a resumed one goes on", tape: new(eventList).runStarted().attemptEnded("a", "wrong",
			adv).add(event.RunResumed{}).counselEnded("a",
			"").attemptEnded("a", "done", done),
			with: arm{1, 1, 107}, runs: 1},
		{name: "a new run does not", tape: new(eventList).runStarted().attemptEnded("a", "wrong", adv).counselEnded("a",
			"").runStarted().attemptEnded("a",
			"done", done)},
		{name: "two runs, two tasks", tape: new(eventList).runStarted().attemptEnded("a", "wrong", adv).attemptEnded("b",
			"wrong", adv).counselEnded("b",
			"").planTask("a").attemptEnded("a", "wrong", failed).attemptEnded("b", "done", done).
			runStarted().attemptEnded("a", "wrong", adv).counselEnded("a", "").attemptEnded("a", "done", done),
			with: arm{2, 2, 214}, without: arm{0, 1, 100}, runs: 2},
		{name: "a changed task", tape: new(eventList).runStarted().attemptEnded("a", "wrong", adv).counselEnded("a", "").
			add(event.AttemptEnded{Task: "a", Key: "other", Result: runner.Result{Outcome: "done", Cost: 100},
				Status: done})},
		{name: "did not stand together", tape: new(eventList).runStarted().attemptEnded("a", "done", done).
			add(event.IntegrationEnded{Reopened: []event.Reopened{{Task: "a", Kind: "red", Status: adv}}}).counselEnded(
			"a",
			"").attemptEnded("a", "done", done),
			with: arm{1, 1, 107}, runs: 1},
		{name: "a command", tape: new(eventList).runStarted().attemptEnded("cmd", "wrong", pend).attemptEnded("cmd",
			"done", done)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := report.CounselStatsOf(*tt.tape, &plan.Plan{Tasks: []plan.Task{{ID: "cmd", Command: "true"}, {ID: "a"}}})
			with := arm{c.With.Passed, c.With.Trials, c.With.Cost}
			without := arm{c.Without.Passed, c.Without.Trials, c.Without.Cost}
			if with != tt.with || without != tt.without || c.Silent != tt.silent || c.Runs != tt.runs {
				t.Errorf("with %+v, without %+v, silent %d, runs %d", with, without, c.Silent, c.Runs)
			}
			if c.SilentCost != budget.USD(7*tt.silent) {
				t.Errorf("silent panels cost %d", c.SilentCost)
			}
		})
	}
}

func TestCounselStatsText(t *testing.T) {
	t.Parallel()
	tp := new(eventList).runStarted()
	for i := range 20 {
		end := runner.Done
		if i%4 == 0 {
			end = runner.Wrong
		}
		tp.attemptEnded("a", "wrong", event.Advising).counselEnded("a", "").attemptEnded("a", end, event.Completed)
		tp.runStarted().attemptEnded("a", "stalled", event.Advising).counselEnded("a", "no money").attemptEnded("a",
			"wrong", event.Failed).runStarted()
	}
	c := report.CounselStatsOf(*tp, nil)
	want := `With counsel 15 of 20 retries passed (75 %, 95 % interval 53 to 89 %), $0.0021 in all, $0.0001 for each that passed; without 0 of 20 retries passed (0 %, 95 % interval 0 to 16 %), $0.0020 in all. Panels helped. The difference is +75 points (95 % interval +48 to +89).
20 panels gave no advice and cost $0.0001; the retries that followed count as without.

after    with counsel      95 %     cost  without    95 %  cost
stalled  -                    -        -     0/20  0-16 %  $0.0020
wrong    15/20         53-89 %  $0.0021        -       -  -
`
	got := c.Text()
	if squeeze(got) != squeeze(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	few := report.CounselStatsOf((*tp)[:8], nil)
	if !strings.Contains(few.Text(), "too small to say") {
		t.Error(few.Text())
	}
}

// squeeze replaces runs of blanks by one, because the table chooses its columns.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
