package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
)

// A usage limit whose reset is near is waited for, until a second and the jitter after it. A reset that is long past is
// none: the run looks again after five minutes.
func TestPauseOfAUsageLimit(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"))))
	s.Config = testConfig()
	s.Config.WaitForReset = time.Hour
	for _, tt := range []struct {
		reset, pause time.Duration // from now on
		stops        bool
	}{
		{10 * time.Minute, 10*time.Minute + 16*time.Second, false},
		{-resetPast, 16 * time.Second, false},
		{-resetPast - 1, 5*time.Minute + 16*time.Second, false},
		{time.Hour - 16*time.Second, time.Hour, false},
		{time.Hour - 15*time.Second, time.Hour + time.Second, true},
	} {
		var e event.AttemptEnded
		onLimited(s, runner.Result{ResetsAt: epoch.Add(tt.reset)}, epoch, 0.5, &e)
		at := e.PauseUntil
		if e.Stop != nil {
			at = e.Stop.ResumeAt
		}
		if want := epoch.Add(tt.pause); !at.Equal(want) || tt.stops != (e.Stop != nil) {
			t.Errorf("reset in %s: until %s, want %s, stop %+v", tt.reset, at, want, e.Stop)
		}
	}
}

// A person who does not want a retry blocks the tasks that wait for it; no answer stops the run and blocks none.
func TestNoToARetry(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"), task("b", "a"), task("c", "b"), task("d"))))
	q := event.Asked{Gate: event.GateRetry, Task: "a"}
	if e := onAnswer(s, q, false, nil); !slices.Equal(e.Blocked, []string{"b", "c"}) || e.Stop != nil || e.Yes {
		t.Errorf("no: %+v", e)
	}
	if e := onAnswer(s, q, true, context.Canceled); e.Blocked != nil || e.Stop == nil || e.Yes {
		t.Errorf("no answer: %+v", e)
	}
}

// The record of repeated checks names those that passed only when they were run again.
func TestFlakyChecksAreNamed(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"), task("b"), task("c"))))
	b := event.CriteriaStarted{Round: 1, Rechecks: []event.Recheck{{Tasks: []string{"a"}}, {Tasks: []string{"b"}},
		{Tasks: []string{"c"}}}}
	e := onVerification(s, b, Verification{Rechecks: []RecheckResult{{Passed: true, Check: "x"},
		{Passed: true, Flaky: true, Check: "y"}}}, nil)
	if got := e.Rechecked; got.Made != 2 || got.Skipped != 1 || !slices.Equal(got.Flaky, []string{"b: y"}) ||
		len(got.Regressions) != 0 {
		t.Errorf("%+v", got)
	}
}

// A repair of a file makes the checks of the tasks that write it there, at most five.
func TestChecksOfARepair(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(
		`{"id":"a","subject":"x","files":["x.go"],"verify":["1","2"]}`,
		`{"id":"b","subject":"x","files":["x.go"],"verify":["2",{"run":"once","recheck":false}]}`,
		`{"id":"c","subject":"x","files":[{"path":"x.go","action":"read"}],"verify":["reads"]}`,
		`{"id":"d","subject":"x","files":["y.go"],"verify":["other"]}`,
		`{"id":"e","subject":"x","files":["x.go"],"dir":"sub","verify":["elsewhere"]}`,
		`{"id":"f","subject":"x","files":["x.go"],"verify":["3","4","5","6"]}`)))
	var got []string
	for _, c := range checksOfFile(s, "x.go") {
		got = append(got, c.Run)
	}
	if want := []string{"1", "2", "3", "4", "5"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Blockers that a person skipped get no repair: the run pauses and names those that are left.
func TestSkippedBlockers(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"))))
	s.Config = testConfig()
	s.Config.ReviewRounds = 2
	skipped := counsel.Finding{ID: "F-1", Severity: counsel.Blocker, Confirmed: true, Resolution: "skipped", Text: "odd",
		File: "a.go", Line: 3}
	last := &event.ReviewEnded{N: 1, Round: 1, Review: counsel.Review{Findings: []counsel.Finding{skipped}}}
	stop, ok := decideRemediation(s, last).(event.Draining)
	if !ok || stop.Stop.Reason != "1 blockers remain after round 1 of the thorough review: a.go:3: odd" {
		t.Errorf("%+v", stop)
	}
	other := skipped
	other.ID, other.Resolution = "F-2", ""
	last.Review.Findings = append(last.Review.Findings, other)
	added, ok := decideRemediation(s, last).(event.TasksAdded)
	if !ok || len(added.Tasks) != 1 || added.Tasks[0].For != "review 1, F-2" {
		t.Errorf("%+v", added)
	}
}

// A repair whose file no plan can have is added without it, and one that no plan can have at all is not added.
func TestInvalidRepairs(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"))))
	ev, err := OnFindings(s, 1, []Remediation{{For: "F-1", Subject: "x", Files: []string{"../out"}},
		{For: "F-2", Subject: "y", Dir: "../out"}})
	if err != nil || len(ev.Tasks) != 1 || ev.Tasks[0].For != "F-1" || strings.Contains(string(ev.Tasks[0].Task), "out") {
		t.Errorf("%+v, %v", ev, err)
	}
	if ev, err := OnFindings(s, 1, []Remediation{{Subject: "y", Dir: "../out"}}); !errors.Is(err, ErrNoRemediation) {
		t.Errorf("%+v, %v", ev, err)
	}
	if body := decideCriteriaRemediation(s, nil); body != nil {
		t.Errorf("without criteria: %+v", body)
	}
}

// The review of an earlier run counts while nothing is new.
func TestReviewOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	for review, want := range map[string]bool{event.ReviewThorough: true, event.ReviewLight: false, "": false} {
		s := NewState(mustPlan(t, planText(task("a"))))
		s.earlier = earlierWork{EarlierWork: &event.EarlierWork{Review: review}}
		if got := s.isReviewed(); got != want {
			t.Errorf("%q: %t", review, got)
		}
	}
}

// Without money for it the thorough review does not begin: the run pauses.
func TestNoMoneyForTheThoroughReview(t *testing.T) {
	t.Parallel()
	c := testConfig()
	c.Review, c.Limits.USD = event.ReviewThorough, budget.Dollar
	b := newFixture(t, mustPlan(t, planText(task("a"))), c)
	b.runner.results["a"] = []runner.Result{{Outcome: runner.Done, Cost: budget.Dollar, Priced: "result",
		Touched: []string{"a.go"}}}
	b.Review = func(*State, event.ReviewStarted) func(context.Context) counsel.Review {
		t.Error("a review begins")
		return func(context.Context) counsel.Review { return counsel.Review{} }
	}
	if end := b.run(t); end.Status != event.RunPaused || end.Tasks.Completed != 1 {
		t.Errorf("%+v", end)
	}
}

// The light review counts in the gate only if one was made.
func TestReviewOfTheGate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		review string
		made   bool
		want   string
	}{
		{event.ReviewLight, false, event.ReviewOff}, {event.ReviewLight, true, event.ReviewLight},
		{event.ReviewOff, true, event.ReviewOff}, {event.ReviewThorough, false, "nothing to review"},
	} {
		s := NewState(mustPlan(t, planText(task("a"))))
		if s.Config.Review = tt.review; tt.made {
			s.Reviews = append(s.Reviews, event.ReviewEnded{Mode: counsel.Light})
		}
		if g, ok := s.decideGate(nil).(event.GateEnded); !ok || g.Review != tt.want {
			t.Errorf("%s, made %t: %+v", tt.review, tt.made, g)
		}
	}
}

// A new session tries again what failed too often in the last one: the verification, and a task with transient errors.
func TestResumeForgetsFailures(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, `{"version":1,"mustNot":[{"text":"no","check":"false"}],"tasks":[`+task("a")+`]}`)
	s, seq := NewState(p), int64(0)
	apply := func(b event.Body) {
		t.Helper()
		seq++
		if err := s.apply(event.Event{Seq: seq, Time: epoch, Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	apply(event.RunStarted{Config: testConfig()})
	for n := range maxUnanswered {
		begun, ok := decideNext(s, epoch).(event.CriteriaStarted)
		if !ok || !begun.Before || begun.Round != n+1 {
			t.Fatalf("verification %d: %+v", n+1, begun)
		}
		apply(begun)
		apply(event.CriteriaEnded{Round: begun.Round, Error: "odd"})
	}
	if body := decideNext(s, epoch); body.Type() != "draining" {
		t.Fatalf("after %d errors: %T", maxUnanswered, body)
	}
	s.Tasks[0].SameError, s.Tasks[0].TransientFailures, s.Tasks[0].NotBefore = 2, 3, epoch.Add(time.Hour)
	apply(event.RunResumed{Config: testConfig()})
	if _, ok := decideNext(s, epoch).(event.CriteriaStarted); !ok {
		t.Errorf("after the resume: %T", decideNext(s, epoch))
	}
	if one := s.Tasks[0]; one.SameError != 0 || one.TransientFailures != 0 || !one.NotBefore.IsZero() {
		t.Errorf("after the resume: %+v", one)
	}
}

// In a run without a limit of money the attempts of a wave share the limit of the wave.
func TestShareOfAWave(t *testing.T) {
	t.Parallel()
	s, c := NewState(mustPlan(t, planText(task("a"), task("b")))), testConfig()
	c.Limits.USD, c.Limits.NoUSD, c.Limits.Wave = 0, true, budget.Dollar
	if err := s.apply(event.Event{Seq: 1, Time: epoch, Body: event.RunStarted{Config: c}}); err != nil {
		t.Fatal(err)
	}
	if got, short := s.share(1, 2, 0); short != nil || got != budget.Dollar/2 {
		t.Errorf("%s, %v", got, short)
	}
	if got, short := s.share(1, 1, budget.Dollar/4); short != nil || got != budget.Dollar/4 {
		t.Errorf("with a limit of the task: %s, %v", got, short)
	}
}
