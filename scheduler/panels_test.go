package scheduler

import (
	"errors"
	"slices"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// costly is a failed attempt that has used up nearly all of a cap.
func costly(cost budget.USD) runner.Result {
	r := wrong("no")
	r.Cost = cost
	return r
}

// A panel waits for money that others hold, and no agent's attempt takes it meanwhile. A command needs none.
func TestPanelWaitsForReservedMoney(t *testing.T) {
	t.Parallel()
	c := testConfig()
	c.Parallel, c.Limits.USD = 2, 10*budget.Dollar
	b := newFixture(t, mustPlan(t, planText(task("a"), task("b"), task("c"), `{"id":"d","subject":"d","command":"true"}`)),
		c)
	held := make(chan struct{})
	b.runner.gates["b"] = held
	b.runner.results["a"] = []runner.Result{costly(49 * budget.Dollar / 10), {Outcome: runner.Done}}
	b.afterEnd("d", func() { close(held) })
	end := b.run(t)
	started := of[event.CounselStarted](b.journal)
	if end.Status != event.RunComplete || len(of[event.CounselSkipped](b.journal)) != 0 || len(started) != 1 ||
		started[0].Cap != panelCap {
		t.Fatalf("%+v, panels %+v", end, started)
	}
	for _, a := range of[event.AttemptStarted](b.journal) {
		if a.Attempt > 1 && !a.Advised {
			t.Errorf("a retry without advice: %+v", a)
		}
	}
	if got := b.runner.order(); slices.Index(got, "c") < slices.Index(got, "d") {
		t.Errorf("c took the money of the panel: %v", got)
	}
}

// A run that has no money for a panel stops, and the resume with more begins with the panel.
func TestPanelAfterMoreMoney(t *testing.T) {
	t.Parallel()
	p, c := mustPlan(t, planText(task("a"))), testConfig()
	c.Limits.USD = budget.Dollar
	b := newFixture(t, p, c)
	b.runner.results["a"] = []runner.Result{costly(budget.Dollar)}
	if end := b.run(t); end.ExitCode != 3 || len(of[event.CounselSkipped](b.journal)) != 0 {
		t.Fatalf("%+v", end)
	}
	c.Limits.USD = 5 * budget.Dollar
	again := nextSession(t, p, c, b.journal.events)
	end := again.run(t)
	if started := of[event.AttemptStarted](again.journal); end.Status != event.RunComplete || len(started) != 2 ||
		!started[1].Advised {
		t.Errorf("%+v, %+v", end, started)
	}
}

// A panel that was cut off is convened again, at most once more by the same cause in a session.
func TestOnPanel(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	for _, c := range []struct {
		name    string
		verdict counsel.Verdict
		cuts    int
		stopped bool
		again   bool
		pause   bool
		stop    event.RunStatus
	}{
		{name: "advice", verdict: counsel.Verdict{Fix: "so"}},
		{name: "nonsense", verdict: counsel.Verdict{Unavailable: "x", Failure: runner.Done}},
		{name: "cut off", verdict: counsel.Verdict{Unavailable: "x", Failure: runner.Interrupted}, again: true},
		{name: "cut off, not by wavex", verdict: counsel.Verdict{Unavailable: "x", Failure: runner.Interrupted}, cuts: 1},
		{name: "stopped again", verdict: counsel.Verdict{Unavailable: "x", Failure: runner.Interrupted}, cuts: 1,
			stopped: true, again: true},
		{name: "killed", verdict: counsel.Verdict{Unavailable: "x", Failure: runner.Truncated}, again: true},
		{name: "killed twice", verdict: counsel.Verdict{Unavailable: "x", Failure: runner.Truncated}, cuts: 1},
		{name: "throttled", verdict: counsel.Verdict{Unavailable: "x", Failure: runner.Throttled}, again: true, pause: true},
		{name: "throttled twice", verdict: counsel.Verdict{Unavailable: "x", Failure: runner.Throttled}, cuts: 1, again: true,
			stop: event.RunLimited},
		{name: "limited", verdict: counsel.Verdict{Unavailable: "x", Failure: runner.Limited,
			ResetsAt: now.Add(9 * time.Hour)}, again: true, stop: event.RunLimited},
		{name: "limited for a moment", verdict: counsel.Verdict{Unavailable: "x", Failure: runner.Limited,
			ResetsAt: now.Add(time.Minute)}, again: true, pause: true},
		{name: "logged out", verdict: counsel.Verdict{Unavailable: "x", Failure: runner.Unauthorised}, again: true,
			stop: event.RunBlocked},
	} {
		s := NewState(mustPlan(t, planText(task("a"))))
		s.Config.WaitForReset, s.Tasks[0].cutPanels = time.Hour, c.cuts
		if c.stopped {
			s.Stop = event.Interrupt("SIGTERM", 143)
		}
		got := onPanel(s, event.CounselStarted{Task: "a", Panel: 1}, c.verdict, now, 0.5)
		if got.Again != c.again || got.PauseUntil.After(now) != c.pause || (got.Stop != nil) != (c.stop != "") ||
			got.Stop != nil && got.Stop.Status != c.stop {
			t.Errorf("%s: %+v, %+v", c.name, got, got.Stop)
		}
	}
}

// A panel and a pre-check wait also for the money of a light review that runs beside them, when nothing else is left
// that can start.
func TestWorkWaitsForTheMoneyOfALightReview(t *testing.T) {
	t.Parallel()
	for _, last := range []bool{false, true} {
		for name, begin := range map[string]func(*State){
			"panel":     func(s *State) { s.move(0, event.Advising) },
			"pre-check": func(s *State) { s.Config.Precheck, s.irreversibleTasks = true, []int32{0} },
		} {
			s := NewState(mustPlan(t, planText(task("a"))))
			s.Config, s.Phase, s.Wave, s.Limiter = testConfig(), Executing, 1, newLimiter(1)
			s.Ledger = budget.NewLedger(budget.Limits{USD: 6 * budget.Dollar, NoIterations: true})
			if last {
				s.deferral = deferral{last: []bool{false}, waiting: map[int]int{}}
			}
			begin(s)
			review := job{key: reviewKey(1), cap: budget.Dollar / 2}
			testrepo.Must(t, errors.Join(s.Ledger.Reserve("spent", 1099*budget.Dollar/200, false),
				s.Ledger.Reserve(review.key, review.cap, false)))
			s.purse(job{}).commit("spent", 1099*budget.Dollar/200, 0, false)
			s.closing.lightRunning = true
			if body := decideNext(s, epoch); body != nil {
				t.Errorf("%s: %#v while the review runs", name, body)
			}
			s.purse(review).commit(review.key, 0, 0, false)
			s.closing.lightRunning = false
			switch body := decideNext(s, epoch).(type) {
			case event.CounselStarted, event.PrecheckStarted:
			default:
				t.Errorf("%s: %#v after the review", name, body)
			}
		}
	}
}
