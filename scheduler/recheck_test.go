package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/runner"
)

// checked returns a task with checks of its own, given as a list of JSON values.
func checked(id, checks string, blockedBy ...string) string {
	return strings.Replace(task(id, blockedBy...), `["true"]`, "["+checks+"]", 1)
}

// resultWithChecks returns a successful attempt with n checks that passed.
func resultWithChecks(n int) runner.Result {
	r := outcome(runner.Done)
	for range n {
		r.Checks = append(r.Checks, check.Evidence{Passed: true})
	}
	return r
}

// answer returns the answer to a verification: the checks in fails, named by task and number, fail now.
func answer(s *State, e event.CriteriaStarted, fails ...string) Verification {
	v := Verification{Criteria: slices.Clone(s.Assessment.Criteria)}
	for i := range v.Criteria {
		v.Criteria[i].Met, v.Criteria[i].Verification = !e.Before, event.ExecutionOutput
	}
	for _, r := range e.Rechecks {
		v.Rechecks = append(v.Rechecks, RecheckResult{Check: "look", Passed: !slices.Contains(fails,
			fmt.Sprintf("%s/%d", r.Tasks[0], r.N)), ExitCode: 1})
	}
	return v
}

func verifyFailing(fails ...string) func(*State, event.CriteriaStarted) verification {
	return func(s *State, e event.CriteriaStarted) verification { return verified(answer(s, e, fails...), nil) }
}

// regressionTexts returns the rechecks of each verification after the first attempt in short.
func regressionTexts(m *memJournal) (out []string) {
	for _, b := range of[event.CriteriaStarted](m) {
		if b.Before {
			continue
		}
		var list []string
		for _, r := range b.Rechecks {
			list = append(list, fmt.Sprintf("%s/%d", strings.Join(r.Tasks, "+"), r.N))
		}
		out = append(out, strings.Join(list, " "))
	}
	return out
}

func TestRechecksAfterLaterWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan  string
		done  map[string]int // checks that passed, by task
		first map[string]runner.Result
		fails []string
		want  []string
		said  []string
	}{
		"nothing came after": {planText(checked("a", `"x"`)), map[string]int{"a": 1}, nil, nil, nil, nil},
		"another task did": {planText(checked("a", `"x"`), checked("b", `"y"`, "a")),
			map[string]int{"a": 1, "b": 1}, nil, nil, []string{"a/1"}, nil},
		"and broke it": {planText(checked("a", `"w","x"`), checked("b", `"y"`, "a")),
			map[string]int{"a": 2, "b": 1}, nil, []string{"a/2"}, []string{"a/1 a/2"},
			[]string{"a check of a passed and fails now: look: exit code 1; ended since: b"}},
		"one after the break": {planText(checked("a", `"x"`), checked("b", `"y"`, "a"), checked("c", `"y"`, "b")),
			map[string]int{"a": 1, "b": 1, "c": 1}, nil, []string{"a/1"}, []string{"a/1"},
			[]string{"a check of a passed and fails now: look: exit code 1; ended since: b, c"}},
		"an equal one came last": {planText(checked("a", `"x"`), checked("b", `"x"`, "a")),
			map[string]int{"a": 1, "b": 1}, nil, nil, nil, nil},
		"equal ones are one": {planText(checked("a", `"x"`), checked("b", `"x"`, "a"), checked("c", `"y"`, "b")),
			map[string]int{"a": 1, "b": 1, "c": 1}, nil, []string{"a/1"}, []string{"a+b/1"},
			[]string{"a check of a, b passed and fails now: look: exit code 1; ended since: c"}},
		"in another place": {planText(strings.Replace(checked("a", `"x"`), `"id"`, `"dir":"sub","id"`, 1),
			checked("b", `"x"`, "a")), map[string]int{"a": 1, "b": 1}, nil, nil, []string{"a/1"}, nil},
		"it asks whose it is": {planText(checked("a", `"test -e $WAVEX_TASK"`), checked("b", `"test -e $WAVEX_TASK"`,
			"a")), map[string]int{"a": 1, "b": 1}, nil, nil, []string{"a/1"}, nil},
		"for its own time": {planText(checked("a", `{"run":"! x","once":true},"z"`), checked("b", `"x"`, "a")),
			map[string]int{"a": 2, "b": 1}, nil, []string{"a/1"}, []string{"a/2"}, nil},
		"a command is no check": {`{"tasks":[{"id":"a","command":"x"},{"id":"b","command":"y","blockedBy":"a"}]}`, nil,
			nil, nil, nil, nil},
		"a check of a command is": {`{"tasks":[{"id":"a","command":"x","verify":"w"},{"id":"b","command":"y","blockedBy":"a"}]}`, map[string]int{"a": 1}, nil, nil, []string{"a/1"}, nil},
		"an attempt that failed, too": {planText(checked("a", `"x"`), checked("b", `"x"`)), map[string]int{"a": 1, "b": 1},
			map[string]runner.Result{"b": wrong("no")}, nil, nil, nil},
		"with criteria, in one": {`{"criteria":[{"text":"c","verify":"z"}],` + planText(checked("a", `"x"`),
			checked("b", `"y"`, "a"))[1:], map[string]int{"a": 1, "b": 1}, nil, []string{"a/1"}, []string{"a/1"},
			[]string{"a check of a passed and fails now: look: exit code 1; ended since: b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig()
			cfg.Review, cfg.Parallel, cfg.Counsel = event.ReviewOff, 1, false
			b := newFixture(t, mustPlan(t, c.plan), cfg)
			for i := range b.State.Plan.Tasks {
				id := b.State.Plan.Tasks[i].ID
				if r, ok := c.first[id]; ok {
					b.runner.results[id] = append(b.runner.results[id], r)
				}
				b.runner.results[id] = append(b.runner.results[id], resultWithChecks(c.done[id]))
			}
			b.Verify = verifyFailing(c.fails...)
			if end := b.run(t); (end.ExitCode == 0) != (c.said == nil) || b.State.Assessment.ExitSignal != (c.said == nil) {
				t.Fatalf("ended as %+v", end)
			}
			if got := regressionTexts(b.journal); !slices.Equal(got, c.want) {
				t.Errorf("made again %q, want %q", got, c.want)
			}
			var said []string
			for _, r := range b.State.Assessment.Regressions {
				said = append(said, r.String())
			}
			if !slices.Equal(said, c.said) {
				t.Errorf("said %q, want %q", said, c.said)
			}
			gate := of[event.GateEnded](b.journal)[0]
			for _, s := range c.said {
				if !slices.Contains(gate.Reasons, s) {
					t.Errorf("the gate does not say %q: %q", s, gate.Reasons)
				}
			}
		})
	}
}

// A broken check is repeated after the next work, also if an equal check has passed with it.
func TestABrokenCheckIsRecheckedAgain(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Review, cfg.Parallel = event.ReviewOff, 1
	text := `{"criteria":[{"text":"c","verify":"z"}],` + planText(checked("a", `"z"`), checked("b", `"y"`, "a"))[1:]
	b := newFixture(t, mustPlan(t, text), cfg)
	for _, id := range []string{"a", "b", "R-001"} {
		b.runner.results[id] = []runner.Result{resultWithChecks(1)}
	}
	round := 0
	b.Verify = func(s *State, e event.CriteriaStarted) verification {
		if !e.Before {
			round++
		}
		if round != 1 {
			return verified(answer(s, e), nil)
		}
		v := answer(s, e, "a/1")
		v.Criteria[0].Met = false
		return verified(v, nil)
	}
	if end := b.run(t); end.Status != "complete" {
		t.Fatalf("ended as %+v", end)
	}
	if got, want := regressionTexts(b.journal), []string{"a/1", "a+R-001/1 b/1"}; !slices.Equal(got, want) {
		t.Errorf("made again %q, want %q", got, want)
	}
	if len(b.State.Assessment.Regressions) > 0 {
		t.Errorf("still broken: %+v", b.State.Assessment.Regressions)
	}
}

// After a signal the running check ends and no other starts. A resume repeats all of them, because
// people may have changed files.
func TestASignalSkipsTheRemainingRechecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Review, cfg.Parallel = event.ReviewOff, 1
		p := mustPlan(t, planText(checked("a", `"w","x"`), checked("b", `"y"`, "a")))
		b := newFixture(t, p, cfg)
		b.runner.results["a"], b.runner.results["b"] = []runner.Result{resultWithChecks(2)},
			[]runner.Result{resultWithChecks(1)}
		begun := make(chan struct{})
		b.Verify = func(*State, event.CriteriaStarted) verification {
			return func(ctx context.Context, more func() bool) (Verification, error) {
				close(begun)
				for more() {
					time.Sleep(time.Second) // virtual time of the synctest bubble
				}
				return Verification{Rechecks: []RecheckResult{{Passed: true}, {Skipped: true}}}, context.Cause(ctx)
			}
		}
		go func() {
			<-begun
			b.signals <- Signal{Name: "SIGINT", Code: 130}
		}()
		if end := b.run(t); end.Status != "interrupted" || end.ExitCode != 130 || end.Resume == "" {
			t.Fatalf("ended as %+v", end)
		}
		if got := of[event.CriteriaEnded](b.journal); len(got) != 1 || got[0].Error != "" || got[0].Rechecked.Made != 1 ||
			got[0].Rechecked.Skipped != 1 {
			t.Errorf("it came to %+v", got)
		}

		again := nextSession(t, p, cfg, b.journal.events)
		again.Verify = verifyFailing("a/2")
		if end := again.run(t); end.ExitCode != event.ExitFailed {
			t.Fatalf("ended as %+v", end)
		}
		if got, want := regressionTexts(again.journal), []string{"a/1 a/2", "a/1 a/2 b/1"}; !slices.Equal(got, want) {
			t.Errorf("made again %q, want %q", got, want)
		}
		if r := again.State.Assessment.Regressions; len(r) != 1 || !r[0].EarlierSession {
			t.Errorf("broken: %+v", r)
		}
	})
}

// After the time limit no check starts, and the run pauses.
func TestTheTimeLimitSkipsTheRemainingRechecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Review, cfg.Parallel, cfg.Limits.Wall = event.ReviewOff, 1, time.Hour
		b := newFixture(t, mustPlan(t, planText(checked("a", `"x"`), checked("b", `"y"`, "a"))), cfg)
		b.runner.results["a"], b.runner.results["b"] = []runner.Result{resultWithChecks(1)},
			[]runner.Result{resultWithChecks(1)}
		b.Verify = func(*State, event.CriteriaStarted) verification {
			return func(_ context.Context, more func() bool) (Verification, error) {
				for more() {
					time.Sleep(time.Minute) // virtual time of the synctest bubble
				}
				return Verification{Rechecks: []RecheckResult{{Skipped: true}}}, nil
			}
		}
		if end := b.run(t); end.Status != "paused" || end.ExitCode != 3 || !strings.Contains(end.Reason, "wall") {
			t.Errorf("ended as %+v", end)
		}
	})
}

// With isolation, checks that passed on the combined tree in the last integration are not repeated,
// unless the integration has a note.
func TestChecksOfAnIntegrationAreNotRechecked(t *testing.T) {
	t.Parallel()
	for note, want := range map[string][]string{"": {"a/1"}, "flaky: x": {"a/1", "b/1", "c/1"}} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			s := NewState(mustPlan(t, planText(checked("a", `"x"`), checked("b", `"y"`), checked("c", `"z"`, "a"),
				checked("d", `"y"`, "a"))))
			cfg := testConfig()
			cfg.Isolation = event.Isolated
			mustApply(t, s, event.RunStarted{Config: cfg})
			for i, id := range []string{"a", "b", "c", "d"} {
				mustApply(t, s, event.AttemptStarted{Task: id, Key: s.Tasks[i].Key, Attempt: 1},
					event.AttemptEnded{Task: id, Key: s.Tasks[i].Key, Attempt: 1, Result: resultWithChecks(1), Status: event.Verified})
				switch id {
				case "b":
					mustApply(t, s, event.IntegrationStarted{Wave: 1}, event.IntegrationEnded{Wave: 1, Completed: []string{"a", "b"}})
				case "c":
					mustApply(t, s, event.IntegrationStarted{Wave: 2}, event.IntegrationEnded{Wave: 2, Completed: []string{"c"}})
				}
			}
			mustApply(t, s, event.IntegrationStarted{Wave: 2},
				event.IntegrationEnded{Wave: 2, Completed: []string{"d"}, Note: note})
			var got []string
			for _, r := range dueRechecks(s) {
				got = append(got, fmt.Sprintf("%s/%d", r.Tasks[0], r.N))
			}
			if !slices.Equal(got, want) {
				t.Errorf("due %q, want %q", got, want)
			}
			g := event.Regression{Tasks: []string{"a"}, N: 1}
			if findSuspects(s, &g); !slices.Equal(g.Since, []string{"c", "d"}) || g.EarlierSession {
				t.Errorf("suspects %+v", g)
			}
		})
	}
}

// The record of repeated checks names those that passed only when they were run again.
func TestFlakyChecksAreNamed(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"), task("b"), task("c"))))
	b := event.CriteriaStarted{Round: 1, Rechecks: []event.Recheck{{Tasks: []string{"a"}}, {Tasks: []string{"b"}},
		{Tasks: []string{"c"}}}}
	if e := onVerification(s, event.CriteriaStarted{Round: 1}, Verification{}, nil); e.Rechecked != nil {
		t.Errorf("without repeated checks: %+v", e.Rechecked)
	}
	e := onVerification(s, b, Verification{Rechecks: []RecheckResult{{Passed: true, Check: "x"},
		{Passed: true, Flaky: true, Check: "y"}}}, nil)
	if got := e.Rechecked; got.Made != 2 || got.Skipped != 1 || !slices.Equal(got.Flaky, []string{"b: y"}) ||
		len(got.Regressions) != 0 {
		t.Errorf("%+v", got)
	}
}
