package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wavex/counsel"
	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/runner"
)

// TestEvidence has the basis of each criterion and task for the ways in which work can be shown.
func TestEvidence(t *testing.T) {
	t.Parallel()
	const (
		bare      = `{"id":"a","subject":"A"}`
		checked   = `{"id":"a","subject":"A","verify":["x"]}`
		criterion = bare + `],"criteria":[{"text":"c","verify":"x"}`
		own       = `{"id":"a","subject":"A","criteria":[{"text":"c","verify":"x"}]}`
	)
	edited := runner.Result{Vacuous: true, Surplus: []string{"f"}}
	found := runner.Result{Vacuous: true, Digests: map[string]string{"f": "1"}}
	rests := runner.Result{Changed: []string{"f"}, Surplus: []string{"x"}, Rests: []string{"x"}}
	doubt := runner.Result{Changed: []string{"f"}, Surplus: []string{"x"}, Rests: []string{"x"}, Doubt: "too large"}
	empty := runner.Result{Changed: []string{"f"}, Checks: []check.Evidence{{Passed: true, Empty: "no tests to run"}}}
	flaky := runner.Result{Changed: []string{"f"}, Checks: []check.Evidence{{Check: "x", Passed: true, Flaky: true}}}
	whys := map[string]string{ // of the task
		"the same, edited":                       "its checks passed before the task too",
		"a check that passed before":             "nothing was changed",
		"the same, edited in a shared directory": "its checks were not made before the task",
		"it rests on others":                     "it passes only with changes to x that the task did not declare",
		"it rests on others, reviewed":           "it passes only with changes to x that the task did not declare",
		"it may rest on others":                  "it may pass only with changes to x that the task did not declare: too",
		"no test ran":                            "no test ran: no tests to run",
		"flaky":                                  "its check is flaky, it failed and passed on the same files: x",
		"another file, no review":                "nobody looked at them",
		"the same, nothing was changed":          "nothing was changed",
		"nothing":                                "nothing was changed",
		"found, and reviewed":                    "nothing was changed",
	}
	for name, c := range map[string]struct {
		plan   string
		last   runner.Result
		unmet  bool // the criteria did not hold before
		review string
		want   string
	}{
		"a check that failed before":      {checked, runner.Result{Changed: []string{"f"}}, false, "", "a proven"},
		"the same, nothing was changed":   {checked, runner.Result{}, false, "", "a nothing"},
		"a check that passed before":      {checked, runner.Result{Vacuous: true}, false, "", "a unproven"},
		"the same, edited":                {checked, edited, false, "", "a kept"},
		"edited and reviewed":             {checked, edited, false, "thorough", "a reviewed"},
		"edited and reviewed lightly":     {checked, edited, false, "light", "a reviewed"},
		"a check that was not run before": {checked, runner.Result{Unmeasured: true}, false, "", "a unproven"},
		"the same, edited in a shared directory": {checked, runner.Result{Unmeasured: true, Surplus: []string{"f"}}, false,
			"", "a changed"},
		"the same, reviewed": {checked, runner.Result{Unmeasured: true, Changed: []string{"f"}}, false,
			"thorough", "a reviewed"},
		"found, and reviewed":              {checked, found, false, "thorough", "a reviewed"},
		"found, no review":                 {checked, found, false, "", "a unproven"},
		"found, reviewed lightly":          {checked, found, false, "light", "a unproven"},
		"a review of nothing":              {checked, edited, false, "nothing", "a kept"},
		"it rests on others":               {checked, rests, false, "", "a rests"},
		"it rests on others, light review": {checked, rests, false, "light", "a rests"},
		"it rests on others, reviewed":     {checked, rests, false, "thorough", "a reviewed"},
		"it may rest on others":            {checked, doubt, false, "", "a rests"},
		"no test ran":                      {checked, empty, false, "", "a empty"},
		"flaky":                            {checked, flaky, false, "", "a changed"},
		"a declared file changed":          {bare, runner.Result{Changed: []string{"f"}}, false, "", "a changed"},
		"nothing":                          {bare, runner.Result{}, false, "", "a unproven"},
		"another file, reviewed":           {bare, edited, false, "thorough", "a reviewed"},
		"another file, no review":          {bare, runner.Result{Surplus: []string{"f"}}, false, "", "a changed"},
		"a command":                        {`{"id":"a","command":"true"}`, runner.Result{}, false, "", "a ran"},
		"a criterion that held, nothing done": {criterion, runner.Result{}, false, "thorough",
			"C-1 kept, a reviewed"},
		"a criterion that held, edited": {criterion, edited, false,
			"", "C-1 kept, a kept"},
		"a criterion that failed, nothing done": {criterion, runner.Result{}, true, "",
			"C-1 proven, a unproven"},
		"a criterion that failed, edited": {criterion, edited, true,
			"", "C-1 proven, a proven"},
		"a flaky criterion that failed, edited": {criterion, edited, true,
			"", "C-1 changed, a kept"},
		"a criterion that failed, and rests on others": {criterion, edited, true,
			"", "C-1 rests, a kept"},
		"a criterion that held, and rests on others": {criterion, edited, false,
			"", "C-1 kept, a kept"},
		"a criterion that failed, and rests on others, reviewed": {criterion, edited, true,
			"thorough", "C-1 reviewed, a reviewed"},
		"its own criterion, that failed": {own, runner.Result{}, true, "",
			"a/C-1 proven, a proven"},
		"its own criterion, that held": {own, runner.Result{}, false, "",
			"a/C-1 kept, a unproven"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewState(mustPlan(t, `{"tasks":[`+c.plan+`]}`))
			cfg := testConfig()
			cfg.Review = event.ReviewAuto
			mustApply(t, s, event.RunStarted{Config: cfg})
			criteria := func(round int, before, met bool) {
				e := event.CriteriaEnded{Round: round}
				for _, k := range s.Assessment.Criteria {
					k.Met, k.Check, k.Verification = met, "x", event.ExecutionOutput
					k.Flaky = met && strings.HasPrefix(name, "a flaky criterion")
					if strings.Contains(name, "and rests on others") {
						k.Rests = []string{"x"}
					}
					e.Criteria = append(e.Criteria, k)
				}
				mustApply(t, s, event.CriteriaStarted{Round: round, Before: before}, e)
			}
			criteria(1, true, !c.unmet)
			c.last.Outcome = runner.Done
			mustApply(t, s, event.WaveStarted{Wave: 1, Of: 1, Tasks: []string{"a"}},
				event.AttemptStarted{Task: "a", Key: s.Tasks[0].Key, Wave: 1, Attempt: 1, Try: 1, Cap: 1000},
				event.AttemptEnded{Task: "a", Key: s.Tasks[0].Key, Attempt: 1, Result: c.last, Status: event.Completed})
			criteria(2, false, true)
			review := event.ReviewEnded{N: 1, Mode: counsel.Thorough, Round: 1, Passed: true}
			switch c.review {
			case "light":
				review.Mode, review.Wave = counsel.Light, 1
			case "nothing":
				review.Review.Nothing = "nothing was changed"
			}
			if c.review != "" {
				mustApply(t, s, event.ReviewStarted{N: 1, Mode: review.Mode, Wave: review.Wave, Round: 1})
				mustApply(t, s, review)
			}
			var got []string
			for _, r := range s.evidence(s.isReviewed()) {
				got = append(got, fmt.Sprint(r.ID(), " ", r.Basis))
				shown := slices.Contains([]event.Basis{event.Proven, event.Ran}, r.Basis)
				if r.Criterion == "" && shown != (r.Why == "") {
					t.Errorf("%s: %q", r.ID(), r.Why)
				}
				if r.ID() == "a" && !strings.Contains(r.Why, whys[name]) {
					t.Errorf("why: %q, want %q", r.Why, whys[name])
				}
			}
			if got := strings.Join(got, ", "); got != c.want {
				t.Errorf("evidence is %s, want %s", got, c.want)
			}
		})
	}
}

// TestMustNotBeforeTheFirstAttempt stops a session before it starts an agent, also a resumed one.
func TestMustNotBeforeTheFirstAttempt(t *testing.T) {
	t.Parallel()
	text := `{"mustNot":[{"text":"it burns","verify":"x"}],` + planText(task("a"))[1:]
	b := newFixture(t, mustPlan(t, text), testConfig())
	looked := 0
	b.Verify = func(*State, event.CriteriaStarted) verification {
		return func(context.Context, func() bool) (Verification, error) {
			looked++
			return Verification{Violated: []string{"it burns"}}, nil
		}
	}
	end := b.run(t)
	if end.ExitCode != 4 ||
		!strings.Contains(end.Reason, "before the first attempt this is true and must not be: it burns") ||
		len(b.runner.order()) > 0 || end.Cost > 0 || b.State.Stop.Breaker != event.MustNot {
		t.Errorf("ended as %+v, ran %v", end, b.runner.order())
	}
	again := nextSession(t, mustPlan(t, text), testConfig(), b.journal.events)
	again.Verify = b.Verify
	if end := again.run(t); end.ExitCode != 4 || looked != 2 || len(again.runner.order()) > 0 {
		t.Errorf("resumed, it ended as %+v, looked %d times, ran %v", end, looked, again.runner.order())
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
