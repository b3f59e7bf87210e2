package scheduler

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// TestACutReviewKeepsItsBlocker ends a run after each record from its review on, and interrupts it in the review after
// the blocker was confirmed. The resumed run mends the blocker, and makes no review again that has ended.
func TestACutReviewKeepsItsBlocker(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Review, cfg.Limits.NoUSD = event.ReviewThorough, true
	blocker := counsel.Finding{ID: "F-1", Severity: counsel.Blocker, Text: "odd", Confirmed: true}
	fixed := func(first counsel.Review) *fixture {
		b := newFixture(t, mustPlan(t, planText(task("a"))), cfg)
		b.runner.results["R-001"] = []runner.Result{edited("a.go")}
		b.Review = func(s *State, _ event.ReviewStarted) func(context.Context) counsel.Review {
			return func(context.Context) counsel.Review {
				if len(s.Plan.Tasks) > 1 { // mended
					return counsel.Review{Score: 9}
				}
				return first
			}
		}
		return b
	}
	for name, first := range map[string]counsel.Review{
		"it ended": {Findings: []counsel.Finding{blocker}},
		"it was interrupted with another blocker open": {Failure: runner.Interrupted,
			Findings: []counsel.Finding{blocker, {ID: "F-2", Severity: counsel.Blocker, Text: "open"}}},
	} {
		b := fixed(first)
		if end := b.run(t); end.Status != event.RunComplete {
			t.Fatalf("%s: ended as %+v", name, end)
		}
		all := b.journal.events
		from := slices.IndexFunc(all, func(e event.Event) bool { return e.Body.Type() == "review_started" })
		for cut := from + 1; cut < len(all); cut++ {
			again := fixed(first)
			testrepo.Must(t, again.State.Replay(all[:cut]))
			again.StartEvent = event.RunResumed{Config: cfg}
			again.journal.events = slices.Clone(all[:cut])
			end := again.run(t)
			reviews, added := len(of[event.ReviewEnded](again.journal)), len(of[event.TasksAdded](again.journal))
			most := 2
			if all[cut-1].Body.Type() == "review_started" { // it has not ended
				most = 3
			}
			if end.Status != event.RunComplete || added != 1 || reviews > most {
				t.Errorf("%s, cut after %s: %d reviews, tasks added %d times, %+v", name, all[cut-1].Body.Type(),
					reviews, added, end)
			}
		}
	}
}

// A repair that changes nothing is wrong, and does not close its blocker: the run pauses with it. A resume repairs no
// blocker whose files did not change; it completes when the review says that the blocker is closed.
func TestARepairWithoutAChange(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Review, cfg.Limits.NoUSD, cfg.Counsel = event.ReviewThorough, true, false
	blocker := counsel.Finding{ID: "F-1", Severity: counsel.Blocker, Text: "odd", Confirmed: true, Digest: "d"}
	closed := blocker
	closed.Confirmed = false
	unchanged := blocker
	unchanged.Resolution = counsel.Unchanged
	var events []event.Event
	for k, session := range []struct {
		found counsel.Finding
		want  event.RunStatus
	}{{blocker, event.RunPaused}, {unchanged, event.RunPaused}, {closed, event.RunComplete}} {
		b := newFixture(t, mustPlan(t, planText(task("a"))), cfg)
		if k > 0 {
			testrepo.Must(t, b.State.Replay(events))
			b.StartEvent, b.journal.events = event.RunResumed{Config: cfg}, slices.Clone(events)
		}
		var open []counsel.Finding
		b.Review = func(s *State, _ event.ReviewStarted) func(context.Context) counsel.Review {
			open = s.Assessment.OpenBlockers()
			return func(context.Context) counsel.Review {
				return counsel.Review{Findings: []counsel.Finding{session.found}}
			}
		}
		end := b.run(t)
		events = b.journal.events
		attempts, added := 0, len(of[event.TasksAdded](b.journal))
		for _, a := range of[event.AttemptEnded](b.journal) {
			if a.Task == "R-001" && a.Result.Outcome == runner.Wrong {
				attempts++
			}
		}
		if end.Status != session.want || attempts != 4 || added != 1 || (k > 0) != (len(open) == 1 && open[0].Digest == "d") {
			t.Errorf("session %d: %d attempts, tasks added %d times, open %v, %+v", k, attempts, added, open, end)
		}
		if end.Status == event.RunPaused && (end.ExitCode != 4 || !strings.Contains(end.Reason, "1 blockers remain")) {
			t.Errorf("session %d: %+v", k, end)
		}
		if g := b.State.Assessment.Gate; g != nil && !slices.ContainsFunc(g.Reasons, func(r string) bool {
			return strings.Contains(r, "R-001")
		}) {
			t.Errorf("the gate does not name the failed repair: %+v", g)
		}
	}
}

// TestLightReviewsOfAddedTasks: with light reviews only, no other review reads the work of tasks that a run adds.
func TestLightReviewsOfAddedTasks(t *testing.T) {
	t.Parallel()
	run := func(review, text string) *fixture {
		t.Helper()
		cfg := testConfig()
		cfg.Review, cfg.Limits.NoUSD = review, true
		b := newFixture(t, mustPlan(t, text), cfg)
		b.Review = reviewed(counsel.Review{Score: 9})
		b.Verify = func(s *State, _ event.CriteriaStarted) verification {
			v := Verification{Criteria: slices.Clone(s.Assessment.Criteria)}
			for i := range v.Criteria {
				v.Criteria[i].Met, v.Criteria[i].Verification = len(s.Plan.Tasks) > 1, event.ExecutionOutput
			}
			return verified(v, nil)
		}
		if end := b.run(t); end.Status != event.RunComplete || end.Tasks.Completed != 2 {
			t.Fatalf("ended as %+v", end)
		}
		return b
	}
	const unmet = `{"criteria":["c"],"tasks":[{"id":"a","subject":"A","verify":["x"]}]}`
	for name, c := range map[string]struct {
		b    *fixture
		want []int
	}{
		"remediation":                   {run(event.ReviewLight, unmet), []int{1, 2}},
		"a thorough review covers them": {run(event.ReviewAuto, unmet), nil},
	} {
		var got []int
		for _, e := range of[event.ReviewEnded](c.b.journal) {
			if e.Mode == counsel.Light {
				got = append(got, e.Wave)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: light reviews of waves %v, want %v", name, got, c.want)
		}
	}
}

// A wave whose task is done again, or that an edited plan extends, is reviewed again.
func TestALaterTaskOfAReviewedWave(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"), task("b"))))
	cfg := testConfig()
	cfg.Review, cfg.Limits.NoUSD = event.ReviewLight, true
	due := func() bool { return decideLightReview(s, time.Time{}) != nil }
	for _, step := range []struct {
		body event.Body
		due  bool
	}{
		{event.RunStarted{Config: cfg}, false},
		{event.WaveStarted{Wave: 1, Of: 1, Tasks: []string{"a", "b"}}, false},
		{event.AttemptStarted{Task: "a", Key: s.Tasks[0].Key, Wave: 1, Attempt: 1, Try: 1, Cap: 1000}, false},
		{event.AttemptEnded{Task: "a", Key: s.Tasks[0].Key, Attempt: 1, Status: event.Completed,
			Result: runner.Result{Outcome: runner.Done}}, false},
		{event.AttemptStarted{Task: "b", Key: s.Tasks[1].Key, Wave: 1, Attempt: 1, Try: 1, Cap: 1000}, false},
		{event.AttemptEnded{Task: "b", Key: s.Tasks[1].Key, Attempt: 1, Status: event.Failed,
			Result: runner.Result{Outcome: runner.Wrong}}, true},
		{event.ReviewStarted{N: 1, Mode: counsel.Light, Wave: 1}, false},
		{event.ReviewEnded{N: 1, Mode: counsel.Light, Wave: 1, Passed: true}, false},
		{event.RunResumed{Config: cfg}, false},
		{event.AttemptStarted{Task: "b", Key: s.Tasks[1].Key, Wave: 1, Attempt: 2, Try: 2, Cap: 1000}, false},
		{event.AttemptEnded{Task: "b", Key: s.Tasks[1].Key, Attempt: 2, Status: event.Completed,
			Result: runner.Result{Outcome: runner.Done}}, true},
	} {
		mustApply(t, s, step.body)
		if due() != step.due {
			t.Fatalf("after %s a review is due: %v", step.body.Type(), due())
		}
	}
}

// A light review takes at most a tenth of the available money, and its own cap.
func TestCapOfALightReview(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limits budget.Limits
		want   budget.USD // 0: skipped
	}{
		"no money limit":  {budget.Limits{NoUSD: true, Iterations: 9}, lightCap},
		"plenty":          {budget.Limits{USD: 20 * budget.Dollar, Iterations: 9}, lightCap},
		"a tenth is less": {budget.Limits{USD: 5 * budget.Dollar, Iterations: 9}, budget.Dollar / 2},
		"just enough":     {budget.Limits{USD: 10 * budget.MinReservation, Iterations: 9}, budget.MinReservation},
		"too little":      {budget.Limits{USD: 10*budget.MinReservation - 10, Iterations: 9}, 0},
	} {
		s := NewState(mustPlan(t, planText(task("a"), task("b", "a"))))
		cfg := testConfig()
		cfg.Review, cfg.Limits = event.ReviewLight, test.limits
		mustApply(t, s,
			event.RunStarted{Config: cfg},
			event.WaveStarted{Wave: 1, Of: 2, Tasks: []string{"a"}},
			event.AttemptStarted{Task: "a", Key: s.Tasks[0].Key, Wave: 1, Attempt: 1, Try: 1, Cap: budget.MinReservation},
			event.AttemptEnded{Task: "a", Key: s.Tasks[0].Key, Attempt: 1, Status: event.Completed,
				Result: runner.Result{Outcome: runner.Done}},
		)
		var got budget.USD
		switch b := decideLightReview(s, time.Time{}).(type) {
		case event.ReviewStarted:
			got = b.Cap
		case event.ReviewSkipped:
		default:
			t.Errorf("%s: decided %T", name, b)
		}
		if got != test.want {
			t.Errorf("%s: cap %s, want %s", name, got, test.want)
		}
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

// Without money for it the thorough review does not begin: the run pauses.
func TestNoMoneyForTheThoroughReview(t *testing.T) {
	t.Parallel()
	c := testConfig()
	c.Review, c.Limits.USD = event.ReviewThorough, budget.Dollar
	b := newFixture(t, mustPlan(t, planText(task("a"))), c)
	b.runner.results["a"] = []runner.Result{{Outcome: runner.Done, Cost: budget.Dollar, Priced: "result",
		Surplus: []string{"a.go"}}}
	b.Review = func(*State, event.ReviewStarted) func(context.Context) counsel.Review {
		t.Error("a review begins")
		return func(context.Context) counsel.Review { return counsel.Review{} }
	}
	if end := b.run(t); end.Status != event.RunPaused || end.Tasks.Completed != 1 {
		t.Errorf("%+v", end)
	}
}
