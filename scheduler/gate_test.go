package scheduler

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
)

func TestALightReviewNeverDelaysTheNextWave(t *testing.T) {
	t.Parallel()
	c := testConfig()
	c.Review, c.Parallel = event.ReviewAuto, 1
	b := newFixture(t, mustPlan(t, planText(task("a"), task("b", "a"))), c)
	b.runner.started = make(chan string, 10)
	gate := make(chan struct{})
	b.Review = func(_ *State, e event.ReviewStarted) func(context.Context) counsel.Review {
		return func(context.Context) counsel.Review {
			if e.Mode == counsel.Light {
				<-gate
				return counsel.Review{Score: 1, Findings: []counsel.Finding{{Severity: counsel.Blocker, Text: "odd"}}}
			}
			return counsel.Review{Score: 9}
		}
	}
	done := b.start(t)
	for _, want := range []string{"a", "b"} {
		if got := <-b.runner.started; got != want {
			t.Errorf("%s started, want %s", got, want)
		}
	}
	close(gate) // only now, after b has begun
	if end := <-done; end.Status != "complete" {
		t.Errorf("ended as %+v", end)
	}
	if got := of[event.ReviewEnded](b.journal); len(got) != 2 || got[0].Mode != counsel.Light || got[0].Blockers != 1 ||
		got[1].Mode != counsel.Thorough {
		t.Errorf("reviews %+v", got)
	}
	if !b.State.Assessment.ExitSignal {
		t.Error("no exit signal")
	}
}

// vacuous returns a Result like that of an agent's task whose checks passed before the attempt.
func vacuous(touched ...string) runner.Result {
	r := outcome(runner.Done)
	r.Vacuous, r.Surplus = true, touched
	return r
}

func edited(touched ...string) runner.Result {
	r := outcome(runner.Done)
	r.Surplus = touched
	return r
}

func TestTheGateAsksForEvidence(t *testing.T) {
	t.Parallel()
	met := func(kind string, is bool) func(*State, event.CriteriaStarted) verification {
		return func(s *State, e event.CriteriaStarted) verification {
			out := slices.Clone(s.Assessment.Criteria)
			for i := range out {
				out[i].Met, out[i].Verification = is, kind
			}
			return verified(Verification{Criteria: out, Cost: 0}, nil)
		}
	}
	criteria := func(tasks string) string { return `{"criteria":["it works"],` + tasks[1:] }
	bare := `{"version":1,"tasks":[{"id":"a","subject":"A"}]}`
	for name, c := range map[string]struct {
		plan   string
		result runner.Result
		verify func(*State, event.CriteriaStarted) verification
		accept bool
		exit   event.ExitCode
		reason string
	}{
		"a check":                 {planText(task("a")), outcome(runner.Done), nil, false, 0, ""},
		"a check true before":     {planText(task("a")), vacuous(), nil, false, 1, "nothing was changed"},
		"true before, edited":     {planText(task("a")), vacuous("x.go"), nil, false, 0, ""},
		"no check":                {bare, outcome(runner.Done), nil, false, 1, "nothing was changed"},
		"no check, accepted":      {bare, outcome(runner.Done), nil, true, 0, ""},
		"a command":               {`{"tasks":[{"id":"a","command":"true"}]}`, outcome(runner.Done), nil, false, 0, ""},
		"criterion shown, edited": {criteria(bare), edited("x.go"), met(event.ExecutionOutput, true), false, 0, ""},
		"criterion shown, nothing done": {criteria(bare), outcome(runner.Done), met(event.ExecutionOutput, true), false, 1,
			"nothing shows that task a is done"},
		"criterion never looked at": {criteria(bare), outcome(runner.Done), nil, false, 1, "C-1 rests on assumption"},
		"criterion assumed": {criteria(bare), outcome(runner.Done), met(event.Assumption, true), false, 1,
			"C-1 rests on assumption"},
		"criterion assumed, accepted": {criteria(bare), outcome(runner.Done), met(event.Assumption, false), true, 0, ""},
		"criterion unmet, accepted": {criteria(planText(task("a"))), outcome(runner.Done), met(event.Observation, false),
			true, 1, "C-1 is not met"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig()
			cfg.Review, cfg.AcceptAssumptions = event.ReviewOff, c.accept
			b := newFixture(t, mustPlan(t, c.plan), cfg)
			b.runner.results["a"] = []runner.Result{c.result}
			b.Verify = c.verify
			end := b.run(t)
			if end.ExitCode != c.exit || !strings.Contains(end.Reason, c.reason) ||
				b.State.Assessment.ExitSignal != (c.exit == 0) {
				t.Errorf("ended as %+v, exit signal %t", end, b.State.Assessment.ExitSignal)
			}
			if gates := of[event.GateEnded](b.journal); len(gates) != 1 || gates[0].Passed != (c.exit == 0) {
				t.Errorf("gates %+v", gates)
			}
		})
	}
}

func TestBlockersLeadToRemediationTasks(t *testing.T) {
	t.Parallel()
	c := testConfig()
	c.Review = event.ReviewThorough
	b := newFixture(t, mustPlan(t, `{"mustNot":["break it"],"tasks":[{"id":"R-001","subject":"taken","files":["x.go"],"verify":["go vet"]}]}`), c)
	b.runner.results["R-002"], b.runner.results["R-003"] = []runner.Result{edited("x.go")}, []runner.Result{edited("y.go")}
	b.Review = func(s *State, _ event.ReviewStarted) func(context.Context) counsel.Review {
		var fs []counsel.Finding
		if len(s.Assessment.Added) == 0 {
			fs = []counsel.Finding{
				{ID: "F-1", Severity: counsel.Blocker, Confirmed: true, File: "x.go", Text: "wrong\x1b[31m",
					Aspects: []string{"data"}},
				{ID: "F-2", Severity: counsel.Blocker, Confirmed: true, File: "a\\b:c", Text: "odd path"},
				{ID: "F-3", Severity: counsel.Blocker, Refuted: "no", Text: "refuted"},
				{ID: "F-4", Severity: counsel.Warning, Text: "warning"}}
		}
		return func(context.Context) counsel.Review { return counsel.Review{Score: 5, Findings: fs} }
	}
	if end := b.run(t); end.Status != "complete" || end.Tasks.Completed != 3 {
		t.Fatalf("ended as %+v", end)
	}
	added := of[event.TasksAdded](b.journal)
	if len(added) != 1 || len(added[0].Tasks) != 2 || added[0].Wave != 2 || added[0].Origin != "review" {
		t.Fatalf("added %+v", added)
	}
	var got struct {
		ID, Description string
		Verify          []struct{ Run string }
		Files           []struct{ Path string }
	}
	first := added[0].Tasks[0]
	testrepo.Must(t, json.Unmarshal(first.Task, &got))
	if got.ID != "R-002" || first.For != "review 1, F-1" || len(got.Verify) != 1 || got.Verify[0].Run != "go vet" ||
		got.Files[0].Path != "x.go" ||
		!strings.Contains(got.Description, "break it") || strings.Contains(got.Description, "\x1b") {
		t.Errorf("task %s of %+v", first.Task, first)
	}
	if strings.Contains(string(added[0].Tasks[1].Task), "files") {
		t.Errorf("a path that is none came into a task: %s", added[0].Tasks[1].Task)
	}
}

func TestUnavailableReviewStopsWithTheReason(t *testing.T) {
	t.Parallel()
	for failure, exit := range map[runner.Outcome]event.ExitCode{runner.Limited: 6, runner.Throttled: 6,
		runner.Unauthorised: 5, runner.Broken: 5, runner.Wrong: 1, "": 1} {
		t.Run(string(failure), func(t *testing.T) {
			t.Parallel()
			c := testConfig()
			c.Review = event.ReviewAuto
			b := newFixture(t, mustPlan(t, planText(task("a"))), c)
			b.Review = reviewed(counsel.Review{Error: "nobody answers", Failure: failure})
			if end := b.run(t); end.ExitCode != exit || !strings.Contains(end.Reason, "nobody answers") || end.Resume == "" {
				t.Errorf("ended as %+v", end)
			}
		})
	}
}

// Without money for a judge of the criteria the run stops for that reason.
func TestNoMoneyForAJudge(t *testing.T) {
	t.Parallel()
	s, c := NewState(mustPlan(t, `{"criteria":["it works"],`+planText(task("a"))[1:])), testConfig()
	c.Judge, c.Limits.USD = true, budget.Dollar
	mustApply(t, s, event.RunStarted{Config: c})
	if e, is := decideVerification(s, nil).(event.CriteriaStarted); !is || !e.Judge || e.Cap <= 0 {
		t.Errorf("with money: %+v", e)
	}
	s.Ledger.Spend(budget.Dollar, 0)
	d, is := decideVerification(s, nil).(event.Draining)
	if !is || !strings.HasPrefix(d.Stop.Reason, "nothing is left for a judge of the criteria: ") {
		t.Errorf("without money: %+v", d)
	}
}
