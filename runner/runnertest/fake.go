// Package runnertest helps to test the users of a runner, and agents. It has a scripted Fake in place
// of a runner, and the Conformance suite that every agent passes.
package runnertest

import (
	"context"
	"sync"
	"testing"

	"wavex/runner"
)

// Fake makes attempts that end as scripted, without processes and files. The test fails if a task
// has no script, if its script is too short, or if a part of it was not used.
type Fake struct {
	t testing.TB

	mu         sync.Mutex // Attempt is called from many goroutines
	scripts    map[string][]runner.Result
	paused     map[string]chan struct{}
	requests   []runner.Request
	running    int
	maxRunning int
	started    chan struct{} // closed and replaced at each start
}

// New returns a Fake that answers the nth attempt at a task with its nth Result. Zero fields of a
// Result get defaults: Done, the request's session, contained.
func New(t testing.TB, scripts map[string][]runner.Result) *Fake {
	t.Helper()
	f := &Fake{t: t, scripts: map[string][]runner.Result{}, paused: map[string]chan struct{}{},
		started: make(chan struct{})}
	for task, results := range scripts {
		f.scripts[task] = append([]runner.Result(nil), results...)
	}
	t.Cleanup(f.reportUnused)
	return f
}

// Done returns the script of a task that succeeds at once.
func Done() []runner.Result { return []runner.Result{{Outcome: runner.Done}} }

// Pause keeps attempts at a task from ending until Release, so that a test decides the order in
// which attempts end. An attempt that is interrupted while it is held ends as Interrupted and
// leaves its script for the next.
func (f *Fake) Pause(tasks ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, task := range tasks {
		if f.paused[task] == nil {
			f.paused[task] = make(chan struct{})
		}
	}
}

// Release lets attempts at a held task end.
func (f *Fake) Release(task string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if gate := f.paused[task]; gate != nil {
		close(gate)
		delete(f.paused, task)
	}
}

// Attempt plays the next Result of the task's script.
func (f *Fake) Attempt(ctx context.Context, req runner.Request, _ runner.Hooks) runner.Result {
	f.mu.Lock()
	f.requests = append(f.requests, req)
	f.running++
	f.maxRunning = max(f.maxRunning, f.running)
	gate := f.paused[req.Task]
	close(f.started)
	f.started = make(chan struct{})
	f.mu.Unlock()

	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
	if cause := context.Cause(ctx); cause != nil {
		return runner.Result{Outcome: runner.Interrupted, Reason: "stopped: " + cause.Error(), Session: req.Session,
			Contained: true}
	}
	script := f.scripts[req.Task]
	if len(script) == 0 {
		f.t.Errorf("runnertest: no result is scripted for attempt %d at %s", req.Attempt, req.Task)
		return runner.Result{Outcome: runner.Broken, Reason: "not scripted", Contained: true}
	}
	f.scripts[req.Task] = script[1:]
	res := script[0]
	if res.Outcome == "" {
		res.Outcome = runner.Done
	}
	if res.Session == "" {
		res.Session = req.Session
	}
	if res.Outcome != runner.Done && res.Signature == "" {
		res.Signature = runner.Signature(res.Reason, res.Detail)
	}
	res.Contained = true
	return res
}

// Requests returns the requests so far, in the order of their starts.
func (f *Fake) Requests() []runner.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]runner.Request(nil), f.requests...)
}

// MaxRunning returns the largest number of attempts that ran at the same time.
func (f *Fake) MaxRunning() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.maxRunning
}

// AwaitStarts returns when n attempts have started. It fails the test if ctx ends before.
func (f *Fake) AwaitStarts(ctx context.Context, n int) {
	f.t.Helper()
	for {
		f.mu.Lock()
		have, next := len(f.requests), f.started
		f.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-next:
		case <-ctx.Done():
			f.t.Errorf("runnertest: %d attempts started, waiting for %d: %v", have, n, context.Cause(ctx))
			return
		}
	}
}

func (f *Fake) reportUnused() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for task, rest := range f.scripts {
		if len(rest) > 0 {
			f.t.Errorf("runnertest: %d scripted results of %s were not used", len(rest), task)
		}
	}
}
