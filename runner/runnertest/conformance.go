package runnertest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"wavex/budget"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/runner"
)

// Scenario names the behaviour of an agent in one case of the suite.
type Scenario string

// These are the scenarios. An agent that says anything says that all is well.
const (
	Works   Scenario = "works"    // writes "made\n" to made.txt, ends with a cost of $0.01
	Idles   Scenario = "idles"    // changes nothing, ends with a cost of $0.01
	Hangs   Scenario = "hangs"    // prints its first lines, then nothing; ends on request, with a cost of $0.01
	Denied  Scenario = "denied"   // as Idles, and reports that Bash was refused for the command "make it"
	OverCap Scenario = "over-cap" // ends at its money cap, with a cost of $0.02
	Fails   Scenario = "fails"    // the API answers 529 until the CLI gives up
)

// Factory returns an agent that plays the scenario.
type Factory func(t *testing.T, s Scenario) runner.Agent

const cent = budget.Dollar / 100

// Conformance checks that an agent keeps its contract, in attempts and in questions. It calls factory
// once for each case, and the agent has one turn or several at the same time.
func Conformance(t *testing.T, factory Factory) {
	t.Helper()
	t.Run("attempts", func(t *testing.T) {
		t.Parallel()
		Attempts(t, func(t *testing.T, s Scenario) runner.Runner { return local(factory(t, s)) })
	})
	t.Run("questions", func(t *testing.T) { t.Parallel(); questions(t, factory) })
}

// local returns a runner that makes attempts with an agent.
func local(a runner.Agent) *runner.Local {
	return &runner.Local{Host: runner.Host{Env: proc.Inherit(os.Environ(), nil)}, Agent: a}
}

// Attempts checks that a runner keeps its contract. It calls factory once for each case, for a runner whose agent plays
// the scenario.
func Attempts(t *testing.T, factory func(t *testing.T, s Scenario) runner.Runner) {
	t.Helper()
	made := []plan.Check{{File: "made.txt", Contains: "made"}}
	promised := []plan.File{{Path: "made.txt", Action: "create"}}
	for _, tc := range []struct {
		name     string
		scenario Scenario
		adjust   func(*runner.Request)
		want     runner.Outcome
		cost     budget.USD
		reason   string // part of it
	}{
		{"done", Works, func(r *runner.Request) { r.Checks, r.Files = made, promised }, runner.Done, cent, ""},
		{"done without anything to check", Idles, nil, runner.Done, cent, ""},
		{"wrong: a check fails", Idles, func(r *runner.Request) { r.Checks = made }, runner.Wrong, cent, "made.txt"},
		{"wrong: a command check fails", Works, func(r *runner.Request) { r.Checks = []plan.Check{{Run: "exit 3"}} },
			runner.Wrong, cent, "exit 3: exit code 3"},
		{"wrong: nothing changed", Idles, func(r *runner.Request) { r.Files = promised }, runner.Wrong, cent,
			"the declared files are unchanged: made.txt"},
		{"timed out", Hangs, func(r *runner.Request) { r.Settings.Timeout = 2 * time.Second }, runner.TimedOut, cent, "2s"},
		{"stalled", Hangs, func(r *runner.Request) { r.Settings.IdleTimeout = 2 * time.Second }, runner.Stalled, cent, "2s"},
		{"denied", Denied, func(r *runner.Request) { r.Checks = made }, runner.Denied, cent, "Bash(make it)"},
		{"over its cap", OverCap, func(r *runner.Request) { r.Cap = cent }, runner.OverCap, 2 * cent, ""},
		{"throttled", Fails, nil, runner.Throttled, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			req := request(t)
			if tc.adjust != nil {
				tc.adjust(&req)
			}
			began := time.Now()
			res := factory(t, tc.scenario).Attempt(t.Context(), req, runner.Hooks{})
			if res.Outcome != tc.want || res.Cost != tc.cost || !strings.Contains(res.Reason, tc.reason) {
				t.Errorf("%s %q at %s, want %s %q at %s", res.Outcome, res.Reason, res.Cost, tc.want, tc.reason, tc.cost)
			}
			if tc.scenario == Denied && (len(res.Denials) != 1 || res.Denials[0].Kind != runner.CommandTool) {
				t.Errorf("denials %+v, want one of a tool that runs commands", res.Denials)
			}
			checkResult(t, req, res, began)
		})
	}
	t.Run("stopped before it begins", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("over"))
		req := request(t)
		began := time.Now()
		res := factory(t, Works).Attempt(ctx, req, runner.Hooks{})
		if _, err := os.Stat(filepath.Join(req.Dir, "made.txt")); res.Outcome != runner.Interrupted || res.Cost != 0 ||
			err == nil {
			t.Errorf("%+v, made.txt: %v; want interrupted, and nothing done", res, err)
		}
		checkResult(t, req, res, began)
	})
	t.Run("stopped on the way", func(t *testing.T) {
		t.Parallel()
		cause := errors.New("stopped by the test")
		// The attempt must have begun by then, on a busy machine too: a runner need not tell when it has.
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, cause)
		defer cancel()
		req := request(t)
		began := time.Now()
		res := factory(t, Hangs).Attempt(ctx, req, runner.Hooks{})
		if res.Outcome != runner.Interrupted || res.Cost != cent || !strings.Contains(res.Reason, cause.Error()) {
			t.Errorf("%s %q at %s, want interrupted with the cause, and what it cost", res.Outcome, res.Reason, res.Cost)
		}
		checkResult(t, req, res, began)
	})
	t.Run("side by side", func(t *testing.T) {
		t.Parallel()
		r := factory(t, Works)
		var wg sync.WaitGroup
		for range 4 {
			req := request(t)
			req.Checks, req.Files = made, promised
			wg.Go(func() {
				if res := r.Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != runner.Done || len(res.Changed) != 1 {
					t.Errorf("%s %q, changed %v", res.Outcome, res.Reason, res.Changed)
				}
			})
		}
		wg.Wait()
	})
}

func questions(t *testing.T, factory Factory) {
	t.Helper()
	for _, tc := range []struct {
		name     string
		scenario Scenario
		adjust   func(*runner.Question)
		want     runner.Outcome
		cost     budget.USD
	}{
		{"done", Idles, nil, runner.Done, cent},
		{"wrong: not in the form asked for", Idles,
			func(q *runner.Question) { q.Schema = json.RawMessage(`{"type":"object"}`) }, runner.Wrong, cent},
		{"timed out", Hangs, func(q *runner.Question) { q.Timeout = 2 * time.Second }, runner.TimedOut, cent},
		{"over its cap", OverCap, func(q *runner.Question) { q.Cap = cent }, runner.OverCap, 2 * cent},
		{"throttled", Fails, nil, runner.Throttled, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			q := question(t)
			if tc.adjust != nil {
				tc.adjust(&q)
			}
			checkAnswer(t, factory(t, tc.scenario).Ask(t.Context(), q), tc.want, tc.cost)
		})
	}
	t.Run("stopped", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errors.New("over"))
		defer cancel()
		a := factory(t, Hangs)
		checkAnswer(t, a.Ask(ctx, question(t)), runner.Interrupted, cent)
		checkAnswer(t, a.Ask(ctx, question(t)), runner.Interrupted, 0)
	})
}

// checkAnswer checks the outcome and the cost of an Answer, and the invariants of every Answer.
func checkAnswer(t *testing.T, a runner.Answer, want runner.Outcome, cost budget.USD) {
	t.Helper()
	if a.Outcome != want || a.Cost != cost {
		t.Errorf("%s %q at %s, want %s at %s", a.Outcome, a.Reason, a.Cost, want, cost)
	}
	done := a.Outcome == runner.Done
	if done != (a.Reason == "") || done && a.Text == "" || len(a.Reason) > 400 || strings.Contains(a.Reason, "\n") {
		t.Errorf("%s with reason %q and text %q", a.Outcome, a.Reason, a.Text)
	}
	if (a.Priced == "") != (a.Cost == 0) && a.Outcome != runner.Throttled {
		t.Errorf("cost %s, priced %q", a.Cost, a.Priced)
	}
	if data, err := json.Marshal(a); err != nil {
		t.Error(err)
	} else if back := (runner.Answer{}); json.Unmarshal(data, &back) != nil || !reflect.DeepEqual(back, a) {
		t.Errorf("an Answer must travel:\n%+v\nbecame\n%+v", a, back)
	}
}

// question returns a Question in a fresh folder.
func question(t *testing.T) runner.Question {
	t.Helper()
	req := request(t)
	return runner.Question{Name: "conformance", Dir: req.Dir, LogDir: req.LogDir, Prompt: "why?"}
}

// checkResult checks the invariants of every Result.
func checkResult(t *testing.T, req runner.Request, res runner.Result, began time.Time) {
	t.Helper()
	if len(res.Reason) > 400 || strings.Contains(res.Reason, "\n") || len(res.Detail) > 4<<10 || len(res.Report) > 4<<10 {
		t.Errorf("texts out of bounds: %d, %d, %d bytes", len(res.Reason), len(res.Detail), len(res.Report))
	}
	if done := res.Outcome == runner.Done; done != (res.Reason == "") || done != (res.Signature == "") {
		t.Errorf("%s with reason %q and signature %q", res.Outcome, res.Reason, res.Signature)
	}
	if res.Session != req.Session {
		t.Errorf("session %q, want %q", res.Session, req.Session)
	}
	if res.Started.Before(began.Add(-time.Second)) || res.Duration < 0 || res.Duration > time.Since(began)+time.Second {
		t.Errorf("started %v, took %v", res.Started, res.Duration)
	}
	if (res.Priced == "") != (res.Cost == 0 && res.Usage == (runner.Usage{})) && res.Outcome != runner.Throttled {
		t.Errorf("cost %s, usage %+v, priced %q", res.Cost, res.Usage, res.Priced)
	}
	if !res.Contained {
		t.Error("not contained")
	}
	if res.Outcome == runner.Done && len(res.Checks) != len(req.Checks) {
		t.Errorf("done with %d of %d checks", len(res.Checks), len(req.Checks))
	}
	for _, c := range res.Checks {
		if res.Outcome == runner.Done && !c.Passed {
			t.Errorf("done in spite of %+v", c)
		}
	}
	data, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	var back runner.Result
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, res) {
		t.Errorf("a Result must travel:\n%+v\nbecame\n%+v", res, back)
	}
}

// request returns a Request for an empty task in a fresh folder.
func request(t *testing.T) runner.Request {
	t.Helper()
	root := t.TempDir()
	req := runner.Request{
		// Processes are marked and swept by run, task and attempt, so each has its own.
		Run: "conformance-" + uuid.NewString(), Task: "T-001", Attempt: 1, Dir: filepath.Join(root, "project"),
		LogDir:   filepath.Join(root, "logs"),
		Baseline: filepath.Join(root, "base.json"), Prompt: "do it", Session: "22222222-2222-4222-8222-222222222222",
	}
	for _, dir := range []string{req.Dir, req.LogDir} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return req
}
