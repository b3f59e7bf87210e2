package scheduler

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/runner"
)

// beside returns the result of an attempt whose checks passed while others edited the directory.
func beside() runner.Result {
	return runner.Result{Outcome: runner.Done, Beside: true, Session: "s", Cost: 1000, Priced: "result", Turns: 1,
		Checks: []check.Evidence{{Check: "look", Passed: true}}}
}

// fakeVerifier repeats checks. A check that belongs to a task in red fails, once for each count.
type fakeVerifier struct {
	mu    sync.Mutex
	red   map[string]int
	flaky bool
	calls []event.CriteriaStarted
}

func (f *fakeVerifier) verify(
	_ *State, e event.CriteriaStarted,
) verification {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, e)
	var v Verification
	for _, r := range e.Rechecks {
		got := RecheckResult{Passed: true, Flaky: f.flaky, Check: "look " + r.Tasks[0]}
		for _, id := range r.Tasks {
			if f.red[id] > 0 {
				f.red[id]--
				got = RecheckResult{Check: "look " + r.Tasks[0], Reason: "exit code 1", Output: "it is gone"}
				break
			}
		}
		v.Rechecks = append(v.Rechecks, got)
	}
	return verified(v, nil)
}

// sharing returns a fixture in a shared directory. The tasks in verified end beside others at first.
func sharing(t *testing.T, schedule event.Schedule, f *fakeVerifier, verified []string, tasks ...string) *fixture {
	c := testConfig()
	c.Schedule, c.Counsel = schedule, false
	b := newFixture(t, mustPlan(t, planText(tasks...)), c)
	b.Verify = f.verify
	alone := beside()
	alone.Beside = false
	for _, id := range verified {
		b.runner.results[id] = []runner.Result{beside(), alone}
	}
	return b
}

// steps returns the ends and the starts in the journal, in order.
func steps(m *memJournal) []string {
	var out []string
	for _, e := range m.events {
		switch b := e.Body.(type) {
		case event.AttemptStarted:
			out = append(out, fmt.Sprintf("%s %d starts (%s)", b.Task, b.Attempt, b.Why))
		case event.AttemptEnded:
			out = append(out, fmt.Sprintf("%s %s", b.Task, b.Status))
		case event.IntegrationStarted:
			out = append(out, "together "+strings.Join(b.Tasks, " "))
		case event.IntegrationEnded:
			line := "complete " + strings.Join(b.Completed, " ")
			for _, r := range b.Reopened {
				line += fmt.Sprintf(", %s %s", r.Task, r.Status)
			}
			out = append(out, line)
		}
	}
	return out
}

// A task whose checks passed beside others is verified. Its checks are made again when nothing runs, and then
// it is completed. Its files are free before.
func TestVerifiedInASharedDirectory(t *testing.T) {
	t.Parallel()
	file := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"subject":"x","verify":["look %s"],"files":[{"path":"same","action":"modify"}]}`, id, id)
	}
	f := &fakeVerifier{}
	b := sharing(t, event.Waves, f, []string{"quick"}, file("quick"), task("slow"), file("other"))
	b.runner.gates["slow"], b.runner.started = make(chan struct{}), make(chan string, 9)
	ended := b.start(t)
	for range 3 {
		<-b.runner.started // other begins while slow is at work
	}
	close(b.runner.gates["slow"])
	end := <-ended
	got := steps(b.journal)
	if end.Status != event.RunComplete || !slices.Contains(got, "quick verified") ||
		!slices.Equal(got[len(got)-2:], []string{"together quick", "complete quick"}) {
		t.Errorf("ended as %+v after\n%s", end, strings.Join(got, "\n"))
	}
	together := f.calls[0]
	if len(together.Rechecks) != 1 || !slices.Equal(together.Rechecks[0].Tasks, []string{"quick"}) {
		t.Errorf("checked together: %+v", together.Rechecks)
	}
	for _, c := range f.calls[1:] {
		for _, r := range c.Rechecks {
			if r.Tasks[0] == "quick" {
				t.Errorf("the check of quick is made once more at the end: %+v", c)
			}
		}
	}
}

// Where nothing can repeat checks, they hold as they were.
func TestVerifiedWithoutAVerification(t *testing.T) {
	t.Parallel()
	b := newFixture(t, mustPlan(t, planText(task("a"), task("b", "a"))), testConfig())
	beside := resultWithChecks(1)
	beside.Beside = true
	b.runner.results["a"], b.runner.results["b"] = []runner.Result{beside}, []runner.Result{beside}
	if end := b.run(t); end.Status != event.RunComplete || end.Tasks.Completed != 2 || len(b.runner.calls) != 2 {
		t.Errorf("ended as %+v after %v", end, b.runner.order())
	}
}

// Work that does not hold any more goes back, with the names of the tasks that ended since. Of several tasks
// with the failed check, only the one that changed files last goes back.
func TestCulpritsInASharedDirectory(t *testing.T) {
	t.Parallel()
	f := &fakeVerifier{red: map[string]int{"c": 1}}
	look := func(id string) string { return fmt.Sprintf(`{"id":%q,"subject":"x","verify":["look %s"]}`, id, id) }
	b := sharing(t, event.Waves, f, []string{"a", "b", "c"}, task("a"), task("b"), look("c"), look("slow"))
	b.runner.gates["slow"], b.runner.gates["b"] = make(chan struct{}), make(chan struct{})
	endSlow := sync.OnceFunc(func() { close(b.runner.gates["slow"]) })
	b.afterEnd("a", func() { close(b.runner.gates["b"]) })
	b.Views = append(b.Views, viewFunc(func(e event.Event, s *State) {
		if _, ok := e.Body.(event.AttemptEnded); ok && s.merges.waiting[1] == 3 {
			endSlow()
		}
	}))
	if end := b.run(t); end.Status != event.RunComplete {
		t.Fatalf("ended as %+v after\n%s", end, strings.Join(steps(b.journal), "\n"))
	}
	first := of[event.IntegrationEnded](b.journal)[0]
	if len(first.Reopened) != 1 || first.Reopened[0].Task != "c" || !slices.Equal(first.Completed, []string{"a", "b"}) {
		t.Fatalf("%+v", first)
	}
	reason := first.Reopened[0].Result.Reason
	if !strings.Contains(reason, "check failed: look c: exit code 1") || !strings.Contains(reason, "slow") ||
		first.Reopened[0].Result.Detail != "it is gone" {
		t.Errorf("the reason is %q", reason)
	}
	if got := of[event.AttemptStarted](b.journal); got[len(got)-1].Task != "c" || got[len(got)-1].Why != "retry" {
		t.Errorf("the last attempt is %+v", got[len(got)-1])
	}

	f = &fakeVerifier{red: map[string]int{"a": 1}} // a and b have the same check
	b = sharing(t, event.Waves, f, []string{"a", "b"}, task("a"), task("b"), look("slow"))
	b.runner.gates["slow"], b.runner.gates["b"] = make(chan struct{}), make(chan struct{})
	b.afterEnd("a", func() { close(b.runner.gates["b"]) })
	b.afterEnd("b", func() { close(b.runner.gates["slow"]) })
	if end := b.run(t); end.Status != event.RunComplete {
		t.Fatalf("ended as %+v after\n%s", end, strings.Join(steps(b.journal), "\n"))
	}
	got := steps(b.journal)
	if !slices.Contains(got, "complete , b pending") || slices.Contains(got, "a 2 starts (retry)") {
		t.Errorf("not only b goes back:\n%s", strings.Join(got, "\n"))
	}
}

type viewFunc func(event.Event, *State)

func (f viewFunc) Event(e event.Event, s *State) { f(e, s) }

// Verified work is not checked while a task is between two attempts: its unfinished work may be what fails.
func TestNoCheckBesideUnfinishedWork(t *testing.T) {
	t.Parallel()
	f := &fakeVerifier{}
	b := sharing(t, event.Waves, f, []string{"a"}, task("a"), task("b"))
	b.runner.results["b"] = []runner.Result{wrong("no"), wrong("still"), {Outcome: runner.Done}}
	b.runner.gates["b"] = make(chan struct{})
	b.afterEnd("a", func() { close(b.runner.gates["b"]) })
	if end := b.run(t); end.Status != event.RunComplete {
		t.Fatalf("ended as %+v", end)
	}
	got := steps(b.journal)
	if want := []string{"b completed", "together a", "complete a"}; !slices.Equal(got[len(got)-3:], want) {
		t.Errorf("\n%s", strings.Join(got, "\n"))
	}
}

// With the eager schedule a dependent starts when its blocker is verified; without, when the wave is complete.
func TestDependentsOfVerifiedWork(t *testing.T) {
	t.Parallel()
	for _, schedule := range []event.Schedule{event.Waves, event.Eager} {
		f := &fakeVerifier{}
		b := sharing(t, schedule, f, []string{"a"}, task("a"), task("slow"), task("c", "a"))
		b.runner.gates["slow"], b.runner.started = make(chan struct{}), make(chan string, 9)
		ended := b.start(t)
		started := []string{<-b.runner.started, <-b.runner.started}
		if schedule == event.Eager {
			started = append(started, <-b.runner.started)
			if !slices.Contains(started, "c") {
				t.Errorf("started %v, not c", started)
			}
		}
		close(b.runner.gates["slow"])
		if end := <-ended; end.Status != event.RunComplete || end.Tasks.Completed != 3 {
			t.Errorf("%s: ended as %+v", schedule, end)
		}
		waited := slices.Index(steps(b.journal), "c 1 starts (first)") > slices.Index(steps(b.journal), "slow completed")
		if waited != (schedule == event.Waves) {
			t.Errorf("%s: c waited: %v", schedule, waited)
		}
	}
}

// A verified task that goes back holds its dependents back until it stands again. If it fails for good, those
// that have not begun are blocked, and those that are verified stay.
func TestReopenedBlocker(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		again runner.Result // of a, after it was verified
		red   map[string]int
		want  event.Counts
		last  string
	}{
		"a stands again": {outcome(runner.Done), map[string]int{"a": 1}, event.Counts{Completed: 4}, "d completed"},
		"a fails": {wrong("no"), map[string]int{"a": 1},
			event.Counts{Completed: 2, Failed: 1, Blocked: 1}, ""},
		"both, and a fails": {wrong("no"), map[string]int{"a": 1, "c": 1},
			event.Counts{Completed: 1, Failed: 1, Blocked: 2}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeVerifier{red: tc.red}
			look := func(id string, by ...string) string { return checked(id, fmt.Sprintf(`"look %s"`, id), by...) }
			// d waits for c and for slow, so it is pending when a goes back.
			b := sharing(t, event.Eager, f, []string{"a", "c"}, look("a"), look("slow"), look("c", "a"), look("d", "c", "slow"))
			b.State.Config.MaxRetries = 1
			c := b.StartEvent.(event.RunStarted)
			c.Config.MaxRetries = 1
			b.StartEvent = c
			b.runner.results["a"] = []runner.Result{beside(), tc.again}
			b.runner.results["slow"] = []runner.Result{beside()}
			b.runner.gates["slow"] = make(chan struct{})
			b.afterEnd("c", func() { close(b.runner.gates["slow"]) })
			end := b.run(t)
			got := steps(b.journal)
			if end.Tasks != tc.want {
				t.Errorf("ended as %+v after\n%s", end, strings.Join(got, "\n"))
			}
			if i := slices.Index(got, tc.last); tc.last != "" && i < slices.Index(got, "a completed") {
				t.Errorf("d did not wait:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

// A task that goes back is blocked if a task before the one that it waits for fails, whichever is listed first.
func TestReopenedBehindStandingWork(t *testing.T) {
	t.Parallel()
	look := func(id string, by ...string) string { return checked(id, fmt.Sprintf(`"look %s"`, id), by...) }
	tasks := []string{look("a"), look("b", "a"), look("c", "b"), look("d", "c"), look("slow")}
	for k := range 4 {
		red, want := map[string]int{"a": 1, "c": 1}, event.Counts{Completed: 3, Failed: 1, Blocked: 1} // b, d and slow stand
		if k > 1 {
			red["d"], want = 1, event.Counts{Completed: 2, Failed: 1, Blocked: 2}
		}
		b := sharing(t, event.Eager, &fakeVerifier{red: red}, []string{"b", "c"}, tasks...)
		c := b.StartEvent.(event.RunStarted)
		c.Config.MaxRetries = 1
		b.StartEvent = c
		b.runner.results["a"] = []runner.Result{wrong("no"), beside()}
		b.runner.results["d"] = []runner.Result{beside()}
		b.runner.gates["slow"] = make(chan struct{})
		b.afterEnd("d", func() { close(b.runner.gates["slow"]) })
		end := b.run(t)
		if i, _ := b.State.Index("c"); end.Tasks != want || b.State.Tasks[i].RootCause != "a" {
			t.Errorf("ended as %+v after\n%s", end, strings.Join(steps(b.journal), "\n"))
		}
		slices.Reverse(tasks)
	}
}

// Where it is not known whether the checks failed before, an edit counts as evidence, or a failure of the checks in
// an earlier attempt.
func TestEvidenceOfAnUnmeasuredTask(t *testing.T) {
	t.Parallel()
	end := beside()
	end.Unmeasured = true
	touched, changed, failed := end, end, wrong("check failed")
	touched.Surplus, changed.Changed = []string{"x.go"}, []string{"x.go"}
	failed.Checks = []check.Evidence{{Check: "look"}}
	for name, tc := range map[string]struct {
		results []runner.Result
		want    event.ExitCode
	}{
		"nothing":       {[]runner.Result{end}, event.ExitFailed},
		"edited":        {[]runner.Result{touched}, event.ExitComplete},
		"changed":       {[]runner.Result{changed}, event.ExitComplete},
		"failed before": {[]runner.Result{failed, end}, event.ExitComplete},
		"stuck before":  {[]runner.Result{outcome(runner.OverTurns), end}, event.ExitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := sharing(t, event.Waves, &fakeVerifier{}, nil, task("a"))
			b.runner.results["a"] = tc.results
			end := b.run(t)
			if end.ExitCode != tc.want || end.ExitCode != 0 && !strings.Contains(end.Reason, "nothing was changed") {
				t.Errorf("ended as %+v", end)
			}
		})
	}
}

// Tasks that used the output of work that goes back run again, on its next output, and so do those that used theirs.
// Other dependents do not.
func TestUsersOfAnOutputThatGoesBack(t *testing.T) {
	t.Parallel()
	const output = `"output":{"type":"object"}`
	for first, c := range map[string]struct {
		schedule event.Schedule
		tasks    []string
		want     string
		users    []string
	}{
		"T-001": {event.Eager, []string{`{"id":"T-001","subject":"A","verify":["look a"],` + output + `}`, task("slow"),
			`{"id":"u","subject":"U","verify":["look u"],"prompt":"${tasks.1.output.n}",` + output + `}`,
			`{"id":"v","command":"echo ${tasks.u.output.n}"}`, task("w", "T-001")},
			"map[T-001:2 slow:1 u:2 v:2 w:1]", []string{"u", "v"}},
		"g[i].1": {event.Waves, []string{`{"id":"g","foreach":["i"],"steps":[{"subject":"A","verify":["look a"],` + output +
			`},{"name":"u","subject":"U","verify":["look u"],"prompt":"${steps.1.output.n}",` + output +
			`},{"name":"v","command":"echo ${steps.u.output.n}"}]}`, task("slow")}, "map[g[i].1:2 g[i].u:2 g[i].v:2 slow:1]",
			[]string{"g[i].u", "g[i].v"}},
	} {
		f := &fakeVerifier{red: map[string]int{first: 1}}
		b := sharing(t, c.schedule, f, nil, c.tasks...)
		with := func(r runner.Result, n string) runner.Result {
			r.Output = &runner.Output{Value: json.RawMessage(`{"n":` + n + `}`)}
			return r
		}
		alone := beside()
		alone.Beside = false
		b.runner.results = map[string][]runner.Result{first: {with(beside(), "1"), with(alone, "2")}, "u": {with(alone, "3")},
			"g[i].u": {with(alone, "3")}, "w": {alone}, "slow": {alone}}
		b.runner.gates["slow"] = make(chan struct{})
		endSlow := sync.OnceFunc(func() { close(b.runner.gates["slow"]) })
		b.Views = []View{viewFunc(func(e event.Event, s *State) {
			if _, ok := e.Body.(event.AttemptEnded); ok && s.Counts.Completed == len(s.Tasks)-2 {
				endSlow() // all but the first, which is verified, are done
			}
		})}
		if end := b.run(t); end.Status != event.RunComplete {
			t.Fatalf("ended as %+v after\n%s", end, strings.Join(steps(b.journal), "\n"))
		}
		starts := map[string]int{}
		for _, e := range of[event.AttemptStarted](b.journal) {
			starts[e.Task]++
		}
		got := steps(b.journal)
		if fmt.Sprint(starts) != c.want || !slices.Contains(got, "complete , "+first+" pending") {
			t.Errorf("the starts are %v:\n%s", starts, strings.Join(got, "\n"))
		}
		mustRecordUsers(t, b.journal, c.users...)
	}
}
