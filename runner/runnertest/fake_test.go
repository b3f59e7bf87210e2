package runnertest_test

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"wavex/runner"
	"wavex/runner/runnertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFakePlaysItsScripts(t *testing.T) {
	t.Parallel()
	f := runnertest.New(t, map[string][]runner.Result{
		"a": {{Outcome: runner.Wrong, Reason: "bad line 3"}, {}},
		"b": runnertest.Done(),
	})
	first := f.Attempt(t.Context(), runner.Request{Task: "a", Attempt: 1, Session: "s"}, runner.Hooks{})
	if first.Outcome != runner.Wrong || first.Signature == "" || first.Session != "s" {
		t.Errorf("first = %+v", first)
	}
	for _, task := range []string{"a", "b"} {
		if r := f.Attempt(t.Context(), runner.Request{Task: task}, runner.Hooks{}); r.Outcome != runner.Done {
			t.Errorf("%s = %+v", task, r)
		}
	}
	if reqs := f.Requests(); len(reqs) != 3 || reqs[0].Attempt != 1 || reqs[2].Task != "b" {
		t.Errorf("requests = %+v", reqs)
	}
}

func TestFakePauses(t *testing.T) {
	t.Parallel()
	f := runnertest.New(t, map[string][]runner.Result{"a": runnertest.Done(), "b": runnertest.Done()})
	f.Pause("a", "b")
	ended := make(chan string)
	for _, task := range []string{"a", "b"} {
		go func() {
			f.Attempt(t.Context(), runner.Request{Task: task}, runner.Hooks{})
			ended <- task
		}()
	}
	f.AwaitStarts(t.Context(), 2)
	for _, task := range []string{"b", "a"} {
		f.Release(task)
		if got := <-ended; got != task {
			t.Errorf("%s ended, %s was released", got, task)
		}
	}
	if f.MaxRunning() != 2 {
		t.Errorf("most at once = %d", f.MaxRunning())
	}
}

func TestFakeInterrupted(t *testing.T) {
	t.Parallel()
	f := runnertest.New(t, map[string][]runner.Result{"a": runnertest.Done()})
	f.Pause("a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := f.Attempt(ctx, runner.Request{Task: "a"}, runner.Hooks{}); r.Outcome != runner.Interrupted {
		t.Errorf("result = %+v", r)
	}
	f.Release("a")
	if r := f.Attempt(t.Context(), runner.Request{Task: "a"}, runner.Hooks{}); r.Outcome != runner.Done {
		t.Errorf("the script was lost: %+v", r)
	}
}

func TestFakeReportsMistakes(t *testing.T) {
	t.Parallel()
	heard := &recorder{TB: t}
	f := runnertest.New(heard, map[string][]runner.Result{"unused": runnertest.Done()})
	f.Attempt(t.Context(), runner.Request{Task: "unknown", Attempt: 2}, runner.Hooks{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.AwaitStarts(ctx, 9)
	for _, clean := range heard.cleanups {
		clean()
	}
	want := []string{
		"runnertest: no result is scripted for attempt 2 at unknown",
		"runnertest: 1 attempts started, waiting for 9: context canceled",
		"runnertest: 1 scripted results of unused were not used",
	}
	if fmt.Sprint(heard.errors) != fmt.Sprint(want) {
		t.Errorf("complaints %q, want %q", heard.errors, want)
	}
}

// recorder is a testing.TB that records failures.
type recorder struct {
	testing.TB
	errors   []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
