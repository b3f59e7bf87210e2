package fleet

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wavex/budget"
	"wavex/fleet/remote"
	"wavex/fleet/remote/wire"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// scriptedEngine is an engine whose answers about workers are functions. It counts them.
type scriptedEngine struct {
	*memoryEngine
	asked   atomic.Int32
	busy    func() (bool, error)
	workers func(context.Context) ([]remote.Worker, error)
}

func (e *scriptedEngine) Busy(context.Context, string) (bool, error) {
	e.asked.Add(1)
	return e.busy()
}

func (e *scriptedEngine) Workers(ctx context.Context, _ string) ([]remote.Worker, error) {
	return e.workers(ctx)
}

// Wait returns an error if ctx has ended, as an engine elsewhere does.
func (e *scriptedEngine) Wait(ctx context.Context, id string) ([]byte, remote.End, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, "", err
	}
	return e.memoryEngine.Wait(ctx, id)
}

// attemptsOf returns a function that makes an attempt of a task in the background.
func attemptsOf(t *testing.T, r *remote.Runner, req runner.Request) func(task string) <-chan runner.Result {
	return func(task string) <-chan runner.Result {
		req, res := req, make(chan runner.Result, 1)
		req.Task, req.LogDir = task, filepath.Join(t.TempDir(), task, "attempt-1")
		go func() { res <- r.Attempt(t.Context(), req, runner.Hooks{}) }()
		return res
	}
}

// While workers make attempts of the run itself, the engine is not asked whether they are busy.
func TestBusyWithTheRun(t *testing.T) {
	t.Parallel()
	begun, gate := make(chan string, 9), make(chan struct{})
	f := newCrew(t, waits(begun, gate))
	f.stop()
	f.engine.Slots = 1
	f.addWorker("w2")
	dir, req := f.request("a")
	r := f.runner(dir)
	engine := &scriptedEngine{memoryEngine: f.engine, busy: func() (bool, error) { return false, nil }}
	r.Engine, r.Poll = engine, time.Minute
	told := make(chan runner.Observation, 9)
	r.Observe = func(o runner.Observation) { told <- o }
	attempt := attemptsOf(t, r, req)
	a := attempt("a")
	<-told
	b := attempt("b")
	id := wire.ID("r-1", "b", 1)
	testrepo.Must(t, f.engine.AwaitStart(t.Context(), id))
	f.engine.End(id, remote.NotTaken)
	testrepo.Must(t, f.engine.AwaitStart(t.Context(), wire.NextID(id)))
	close(gate)
	for _, res := range []runner.Result{<-a, <-b} {
		if res.Outcome != runner.Done {
			t.Errorf("%+v", res)
		}
	}
	if n := engine.asked.Load(); n != 0 {
		t.Errorf("the engine was asked %d times", n)
	}
}

// Attempts that none took at the same time share the answer whether workers are busy. Without an answer they wait once
// more, and one of them says so.
func TestBusyIsShared(t *testing.T) {
	t.Parallel()
	f := newCrew(t, works())
	f.stop()
	dir, req := f.request("a")
	r := f.runner(dir)
	refusal := errors.New("too many requests")
	engine := &scriptedEngine{memoryEngine: f.engine, busy: func() (bool, error) { return false, refusal }}
	warned := make(chan error, 9)
	r.Engine, r.Poll, r.Warn = engine, time.Hour, func(err error) { warned <- err }
	attempt := attemptsOf(t, r, req)
	const attempts = 3
	var results []<-chan runner.Result
	var ids []string
	for i := range attempts {
		task := fmt.Sprint("t", i)
		results, ids = append(results, attempt(task)), append(ids, wire.ID("r-1", task, 1))
	}
	for range 2 {
		for i, id := range ids {
			testrepo.Must(t, f.engine.AwaitStart(t.Context(), id))
			f.engine.End(id, remote.NotTaken)
			ids[i] = wire.NextID(id)
		}
	}
	for _, res := range results {
		if res := <-res; res.Outcome != runner.Broken || res.Reason != "no worker took it in 1m0s" {
			t.Errorf("%+v", res)
		}
	}
	if n := engine.asked.Load(); n != 1 || f.engine.Starts() != 2*attempts {
		t.Errorf("the engine was asked %d times, after %d starts", n, f.engine.Starts())
	}
	if err := <-warned; len(warned) > 0 || !errors.Is(err, refusal) {
		t.Errorf("told %v, and %d more", err, len(warned))
	}
}

// An attempt waits once more without an answer, each time after it has got one.
func TestBusyIsUnknown(t *testing.T) {
	t.Parallel()
	f := newCrew(t, works())
	f.stop()
	dir, req := f.request("a")
	r := f.runner(dir)
	away := errAway
	answers := []error{away, nil, away, away}
	engine := &scriptedEngine{memoryEngine: f.engine}
	engine.busy = func() (bool, error) {
		err := answers[engine.asked.Load()-1]
		return err == nil, err
	}
	engine.workers = func(context.Context) ([]remote.Worker, error) { return nil, away }
	r.Engine, r.Poll = engine, time.Millisecond // an answer is old after a push
	res, id := attemptsOf(t, r, req)("a"), wire.ID("r-1", "a", 1)
	for range answers {
		testrepo.Must(t, f.engine.AwaitStart(t.Context(), id))
		f.engine.End(id, remote.NotTaken)
		id = wire.NextID(id)
	}
	if res := <-res; res.Outcome != runner.Broken || f.engine.Starts() != len(answers) {
		t.Errorf("%+v after %d starts", res, f.engine.Starts())
	}
}

// A missing worker is told also if the engine did not answer at first, or still listed a worker that was killed.
func TestNoWorkerIsTold(t *testing.T) {
	t.Parallel()
	f := newCrew(t, works())
	f.stop()
	dir, req := f.request("a")
	r := f.runner(dir)
	answers, calls := make(chan remote.Worker, 1), make(chan struct{}, 9)
	engine := &scriptedEngine{memoryEngine: f.engine, busy: func() (bool, error) { return false, nil }}
	engine.workers = func(ctx context.Context) ([]remote.Worker, error) {
		select {
		case calls <- struct{}{}:
		default:
		}
		select {
		case w := <-answers:
			return []remote.Worker{w}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	answers <- remote.Worker{Name: "killed", Seen: time.Now()}
	warned := make(chan error, 9)
	r.Engine, r.Poll, r.Warn = engine, time.Millisecond, func(err error) { warned <- err }
	res := attemptsOf(t, r, req)("a")
	for range 3 { // with an answer, without one, and once more
		<-calls
	}
	if len(warned) > 0 {
		t.Errorf("told too early: %v", <-warned)
	}
	answers <- remote.Worker{Name: "killed", Seen: time.Now().Add(-2 * time.Minute)}
	if err := <-warned; !strings.Contains(err.Error(), "no worker asks for attempts of queue "+f.key.Queue("")) {
		t.Error(err)
	}
	f.engine.End(wire.ID("r-1", "a", 1), remote.NotTaken)
	if res := <-res; res.Outcome != runner.Broken {
		t.Errorf("%+v", res)
	}
}

// An engine that does not tell its workers does not hide the end of an attempt.
func TestEndWhileWorkersAreAsked(t *testing.T) {
	t.Parallel()
	f := newCrew(t, works())
	f.stop()
	dir, req := f.request("a")
	r := f.runner(dir)
	asked := make(chan struct{}, 99)
	engine := &scriptedEngine{memoryEngine: f.engine, busy: func() (bool, error) { return false, nil }}
	engine.workers = func(ctx context.Context) ([]remote.Worker, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	r.Engine = engine
	res := attemptsOf(t, r, req)("a")
	<-asked
	f.engine.End(wire.ID("r-1", "a", 1), remote.NotTaken)
	if res := <-res; res.Outcome != runner.Broken {
		t.Errorf("%+v", res)
	}
}

// An attempt that no worker took costs nothing if the next session is stopped before it starts the attempt again. One
// that was started again counts.
func TestStoppedBeforeItStartsAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		busy   bool
		worker string     // has the session
		next   remote.End // of the attempt that was started again; "": it was not
		cost   budget.USD
	}{
		"idle workers":       {},
		"busy workers":       {busy: true},
		"worker of session":  {worker: "gone"},
		"started again":      {next: remote.Lost, cost: budget.Dollar},
		"started, and busy":  {busy: true, next: remote.Lost, cost: budget.Dollar},
		"started, elsewhere": {worker: "gone", next: remote.Lost, cost: budget.Dollar},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newCrew(t, works())
			f.stop()
			dir, req := f.request("a")
			req.Cap, req.Resume, req.Worker = budget.Dollar, c.worker != "", c.worker
			id := wire.ID("r-1", "a", 1)
			ends := map[string]remote.End{id: remote.NotTaken, wire.NextID(id): c.next}
			for id, end := range ends {
				if end != "" {
					testrepo.Must(t, f.engine.Start(t.Context(), remote.Activity{ID: id}))
					f.engine.End(id, end)
				}
			}
			started := f.engine.Starts()
			r := f.runner(dir)
			r.Engine = &scriptedEngine{memoryEngine: f.engine, busy: func() (bool, error) { return c.busy, nil },
				workers: func(context.Context) ([]remote.Worker, error) { return nil, errAway }}
			req.Adopted = true
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errors.New("stopped by the test"))
			res := r.Attempt(ctx, req, runner.Hooks{})
			if res.Outcome == runner.Done || res.Cost != c.cost || f.engine.Starts() != started {
				t.Errorf("%+v after %d starts", res, f.engine.Starts()-started)
			}
		})
	}
}
