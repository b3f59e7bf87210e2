package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/runner"
)

// failing returns a failed attempt with an error of its own and one failed check.
func failing(reason, command string) runner.Result {
	r := wrong(reason)
	r.Checks = []check.Evidence{{Check: command, Reason: "exit code 1"}}
	return r
}

// A task that fails three times with one error is stopped. All tasks that do not depend on it are completed. The run
// and a resume end with exit 4. A session that names the task tries it again.
func TestStoppedTask(t *testing.T) {
	t.Parallel()
	for _, isolation := range []event.Isolation{"", event.Isolated} {
		tasks := []string{task("stuck")}
		for n := range 19 {
			tasks = append(tasks, task(fmt.Sprint("after", n), "stuck"))
		}
		for n := range 26 {
			blockers := []string{}
			if n >= 4 {
				blockers = append(blockers, fmt.Sprint("other", n-4))
			}
			tasks = append(tasks, task(fmt.Sprint("other", n), blockers...))
		}
		c := event.DefaultConfig()
		c.Run, c.Limits, c.Isolation = "r", testConfig().Limits, isolation
		c.Parallel = 4
		b := newFixture(t, mustPlan(t, planText(tasks...)), c)
		b.Integrator = &fakeIntegrator{}
		b.runner.results["stuck"] = []runner.Result{wrong("no"), wrong("no"), wrong("no"), {Outcome: runner.Done}}
		end := b.run(t)
		if end.ExitCode != 4 || end.Status != event.RunPaused ||
			end.Tasks != (event.Counts{Completed: 26, Failed: 1, Blocked: 19}) ||
			!strings.HasPrefix(end.Reason, "task stuck failed 3 times in a row") || b.State.Stop.Breaker != event.SameError {
			t.Fatalf("isolation %q: ended as %+v", isolation, end)
		}
		cut := slices.IndexFunc(b.journal.events, func(e event.Event) bool {
			ended, _ := e.Body.(event.AttemptEnded)
			return ended.TaskStop != nil
		})
		for _, events := range [][]event.Event{b.journal.events, b.journal.events[:cut+1]} { // ended, or killed
			again := nextSession(t, mustPlan(t, planText(tasks...)), c, events)
			again.Integrator = &fakeIntegrator{}
			before := b.State.Ended
			if end := again.run(t); end.Reason != before.Reason || end.ExitCode != 4 || end.Tasks != before.Tasks ||
				slices.Contains(again.runner.order(), "stuck") {
				t.Fatalf("isolation %q: the resume ended as %+v", isolation, end)
			}
			for _, only := range [][]string{{"stuck"}, nil} {
				c.Only = only
				again.StartEvent = event.RunResumed{Config: c}
				end = again.run(t)
			}
			if end.Status != event.RunComplete || end.Iterations != 29+20 {
				t.Fatalf("isolation %q: after the retry it ended as %+v", isolation, end)
			}
		}
	}
}

// The ends of runs with stopped and failed tasks.
func TestEndWithStoppedTask(t *testing.T) {
	t.Parallel()
	same, other := wrong("no"), []runner.Result{wrong("1"), wrong("2"), wrong("3"), wrong("4")}
	for _, tc := range []struct {
		name    string
		change  func(*event.Config)
		results map[string][]runner.Result
		code    event.ExitCode
		reason  string
	}{
		{"one is stopped, one failed", nil, map[string][]runner.Result{"a": other, "b": {same}}, 4, "task b failed 3 times"},
		{"one failed", nil, map[string][]runner.Result{"a": other}, 1, "1 failed, 1 blocked by them"},
		{"two are stopped", nil, map[string][]runner.Result{"a": {wrong("x")}, "b": {wrong("y")}}, 4, "; also stopped: b"},
		{"no retry is left to stop", func(c *event.Config) { c.MaxRetries = 2 },
			map[string][]runner.Result{"b": {same}}, 1, "1 failed, 0 blocked by them"},
		{"fail fast", func(c *event.Config) { c.FailFast = true }, map[string][]runner.Result{"a": {same}}, 4,
			"task a failed 3 times"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := testConfig()
			c.SameError, c.Parallel = 3, 1
			if tc.change != nil {
				tc.change(&c)
			}
			b := newFixture(t, mustPlan(t, planText(task("a"), task("b"), task("c", "a"), task("d"))), c)
			maps.Copy(b.runner.results, tc.results)
			if end := b.run(t); end.ExitCode != tc.code || !strings.Contains(end.Reason, tc.reason) {
				t.Errorf("ended as %+v", end)
			}
		})
	}
}

// The trouble of one task of four stops that task and those that wait for it; the others are completed. No panel is
// paid for it.
func TestTroubleOfOneTask(t *testing.T) {
	t.Parallel()
	again := outcome(runner.Refused)
	again.FreshMayHelp, again.Session = true, "s"
	for _, tc := range []struct {
		result runner.Result
		starts int // of that task
	}{
		{outcome(runner.Denied), 1},
		{outcome(runner.Refused), 1},
		{again, 2},
		{outcome(runner.Truncated), 2},
	} {
		c := event.DefaultConfig()
		c.Run, c.Limits, c.Parallel = "r", testConfig().Limits, 1
		b := newFixture(t, mustPlan(t, planText(task("a"), task("b"), task("c", "a"), task("d"), task("e"))), c)
		b.runner.results["a"] = []runner.Result{tc.result}
		end, starts := b.run(t), 0
		for _, call := range b.runner.calls {
			if call.Task == "a" {
				starts++
				if call.Resume {
					t.Errorf("%s: attempt %d continues the session", tc.result.Outcome, call.Attempt)
				}
			}
		}
		if end.ExitCode != 4 || end.Tasks != (event.Counts{Completed: 3, Failed: 1, Blocked: 1}) || starts != tc.starts ||
			!strings.Contains(end.Reason, tc.result.Reason) ||
			b.State.Tasks[0].Stop.Breaker != event.Breaker(tc.result.Outcome) || b.State.Tasks[0].Panels > 0 {
			t.Errorf("%s: %d attempts, ended as %+v", tc.result.Outcome, starts, end)
		}
	}
}

// Three tasks in a row whose streams break off twice pause the run. The first two are stopped, so a retry is advised.
func TestStreamsOfSeveralTasksBreakOff(t *testing.T) {
	t.Parallel()
	c := testConfig()
	c.SameError, c.Parallel = 3, 1
	b := newFixture(t, mustPlan(t, planText(task("a"), task("b"), task("c"), task("d"))), c)
	for _, id := range []string{"a", "b", "c", "d"} {
		lost := outcome(runner.Truncated)
		lost.Signature = id
		b.runner.results[id] = []runner.Result{lost}
	}
	if end := b.run(t); end.ExitCode != 4 || end.Iterations != 6 || b.State.Stop.Breaker != event.SameError ||
		!strings.HasPrefix(end.Reason, "3 tasks in a row") ||
		b.State.Stop.Advice != "look for a cause that they share, then: wavex retry a b c" {
		t.Errorf("ended as %+v, advice %q", end, b.State.Stop.Advice)
	}
}

// One error at three tasks in a row pauses the run, unless a task was done between them.
func TestErrorOfSeveralTasks(t *testing.T) {
	t.Parallel()
	for _, done := range []bool{false, true} {
		c := testConfig()
		c.SameError, c.Parallel, c.Counsel = 3, 1, false
		b := newFixture(t, mustPlan(t, planText(task("a"), task("b"), task("c"), task("d"), task("e"))), c)
		for _, id := range []string{"a", "b", "c", "d"} { // a and b are stopped, each after three failures
			b.runner.results[id] = []runner.Result{wrong("no compiler")}
		}
		if done {
			b.runner.results["c"] = nil
		}
		end := b.run(t)
		if done && end.Tasks != (event.Counts{Completed: 2, Failed: 3}) {
			t.Errorf("with a task done between them it ended as %+v", end)
		}
		if !done && (end.ExitCode != 4 || end.Tasks != (event.Counts{Failed: 2, Pending: 3}) || len(b.runner.calls) != 7 ||
			!strings.HasPrefix(end.Reason, "3 tasks in a row failed with the same error: a, b, c: no compiler")) {
			t.Errorf("ended as %+v", end)
		}
	}
}

// Two stuck tasks in turn, each with other words for the same failing check, pause the run after five
// rounds.
func TestUnmetChecksOfTwoTasks(t *testing.T) {
	t.Parallel()
	c := testConfig()
	c.SameError, c.SameUnmet, c.MaxRetries = 3, 5, 7
	s := NewState(mustPlan(t, planText(task("a"), task("b"), task("c", "a", "b"))))
	mustApply(t, s, event.RunStarted{Config: c}, event.WaveStarted{Wave: 1, Of: 2})
	for n := range 5 {
		for i, id := range []string{"a", "b"} {
			if s.Stop != nil {
				t.Fatalf("stopped in round %d: %+v", n+1, s.Stop)
			}
			mustApply(t, s, event.AttemptStarted{Task: id, Key: s.Tasks[i].Key, Wave: 1, Attempt: n + 1, Try: n + 1,
				Iteration: 1, Why: "retry"})
			mustApply(t, s, onAttempt(s, i, failing(fmt.Sprint(id, n), "make "+id), epoch, 0))
		}
	}
	if s.Stop == nil || s.Stop.ExitCode != 4 || s.Stop.Breaker != event.SameUnmet ||
		s.Stop.Reason != "the same checks stayed unmet 5 times: a: make a; b: make b" {
		t.Errorf("stopped by %+v", s.Stop)
	}
	if s.Streaks.UnmetStreak != 5 || !slices.Equal(s.Streaks.Unmet, []string{"b: make b"}) {
		t.Errorf("%d times %q", s.Streaks.UnmetStreak, s.Streaks.Unmet)
	}
}
