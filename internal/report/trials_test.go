package report_test

import (
	"strings"
	"testing"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/runner"
	"wavex/scheduler"
)

// tape is the short form of a journal.
type tape []scheduler.Event

func (t *tape) add(b scheduler.Body) *tape {
	*t = append(*t, scheduler.Event{Seq: int64(len(*t) + 1), Body: b})
	return t
}

func (t *tape) begin() *tape { return t.add(scheduler.RunStarted{}) }

func (t *tape) end(task string, o runner.Outcome, status scheduler.Status) *tape {
	return t.add(scheduler.AttemptEnded{Task: task, Key: "k-" + task, Result: runner.Result{Outcome: o, Cost: 100},
		Status: status})
}

func (t *tape) panel(task, unavailable string) *tape {
	return t.add(scheduler.CounselEnded{Task: task, Verdict: counsel.Verdict{Unavailable: unavailable, Cost: 7}})
}

func (t *tape) skip(task string) *tape {
	return t.add(scheduler.CounselSkipped{Task: task, Reason: "holdout"})
}

func TestCounselOf(t *testing.T) {
	t.Parallel()
	const adv, pend, done, failed = scheduler.Advising, scheduler.Pending, scheduler.Completed, scheduler.Failed
	type arm struct {
		passed, trials int
		cost           budget.USD
	}
	for _, tt := range []struct {
		name          string
		tape          *tape
		with, without arm
		silent        int
		runs          int
	}{
		{name: "nothing", tape: new(tape).begin().end("a", "done", done)},
		{name: "advised and passed", tape: new(tape).begin().end("a", "wrong", adv).panel("a", "").end("a", "done", done),
			with: arm{1, 1, 107}, runs: 1},
		{name: "held out", tape: new(tape).begin().end("a", "wrong", adv).skip("a").end("a", "done", done),
			without: arm{1, 1, 100}, runs: 1},
		{name: "no panel at all", tape: new(tape).begin().end("a", "stalled", pend).end("a", "wrong", failed),
			without: arm{0, 1, 100}, runs: 1},
		{name: "a silent panel", tape: new(tape).begin().end("a", "wrong", adv).panel("a", "over cap").end("a", "done", done),
			without: arm{1, 1, 100}, silent: 1, runs: 1},
		{name: "three tries", tape: new(tape).begin().end("a", "wrong", adv).panel("a", "").end("a", "stalled",
			adv).skip("a").end("a", "done", done),
			with: arm{0, 1, 107}, without: arm{1, 1, 100}, runs: 1},
		{name: "what is nobody's fault decides nothing and costs", tape: new(tape).begin().end("a", "wrong",
			adv).panel("a", "").
			end("a", "interrupted", pend).end("a", "throttled", pend).end("a", "over-cap", pend).end("a", "done", done),
			with: arm{1, 1, 407}, runs: 1},
		{name: "failed for good on its own budget", tape: new(tape).begin().end("a", "wrong", adv).panel("a", "").end("a",
			"over-cap", failed),
			with: arm{0, 1, 107}, runs: 1},
		{name: "not decided yet", tape: new(tape).begin().end("a", "wrong", adv).panel("a", "").end("a",
			"interrupted", pend)},
		{name: "a last failure is not retried", tape: new(tape).begin().end("a", "wrong", failed).begin().end("a",
			"done", done)},
		{name: "a resumed one goes on", tape: new(tape).begin().end("a", "wrong", adv).add(scheduler.Resumed{}).panel("a",
			"").end("a", "done", done),
			with: arm{1, 1, 107}, runs: 1},
		{name: "a new run does not", tape: new(tape).begin().end("a", "wrong", adv).panel("a", "").begin().end("a",
			"done", done)},
		{name: "two runs, two tasks", tape: new(tape).begin().end("a", "wrong", adv).end("b", "wrong", adv).panel("b",
			"").skip("a").end("a", "wrong", failed).end("b", "done", done).
			begin().end("a", "wrong", adv).panel("a", "").end("a", "done", done),
			with: arm{2, 2, 214}, without: arm{0, 1, 100}, runs: 2},
		{name: "a changed task", tape: new(tape).begin().end("a", "wrong", adv).panel("a", "").
			add(scheduler.AttemptEnded{Task: "a", Key: "other", Result: runner.Result{Outcome: "done", Cost: 100},
				Status: done})},
		{name: "did not stand together", tape: new(tape).begin().end("a", "done", done).
			add(scheduler.IntegrationEnded{Reopened: []scheduler.Reopened{{Task: "a", Kind: "red", Status: adv}}}).panel("a",
			"").end("a", "done", done),
			with: arm{1, 1, 107}, runs: 1},
		{name: "a command", tape: new(tape).begin().end("cmd", "wrong", pend).end("cmd", "done", done)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := report.CounselOf(*tt.tape, &plan.Plan{Tasks: []plan.Task{{ID: "cmd", Command: "true"}, {ID: "a"}}})
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

func TestCounselText(t *testing.T) {
	t.Parallel()
	tp := new(tape).begin()
	for i := range 20 {
		end := runner.Done
		if i%4 == 0 {
			end = runner.Wrong
		}
		tp.end("a", "wrong", scheduler.Advising).panel("a", "").end("a", end, scheduler.Completed)
		tp.begin().end("a", "stalled", scheduler.Advising).panel("a", "no money").end("a", "wrong", scheduler.Failed).begin()
	}
	c := report.CounselOf(*tp, nil)
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
	few := report.CounselOf((*tp)[:8], nil)
	if !strings.Contains(few.Text(), "too small to say") {
		t.Error(few.Text())
	}
}

// squeeze replaces runs of blanks by one, because the table chooses its columns.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
