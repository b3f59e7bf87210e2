package fleet

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wavex/fleet/remote"
	"wavex/fleet/remote/wire"
	"wavex/fleet/worker"
	"wavex/internal/filetree"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/runner"
)

// errAway is the error of an engine that is away.
var errAway = errors.New("the engine is away")

// memoryEngine is a remote.Engine in memory. It keeps no time: attempts are taken, lost or given up when the test says
// so.
type memoryEngine struct {
	Slots int // of each worker that StartWorker starts; 0: more than tests need

	mu       sync.Mutex
	attempts map[string]*memoryAttempt
	queue    []*memoryAttempt
	workers  []remote.Worker // that call Serve
	away     bool
	changed  chan struct{} // closed and replaced at each change
}

// newMemoryEngine returns one without workers.
func newMemoryEngine() *memoryEngine {
	return &memoryEngine{attempts: map[string]*memoryAttempt{}, changed: make(chan struct{})}
}

// memoryAttempt is an attempt in the engine, and a worker.Task.
type memoryAttempt struct {
	remote.Activity
	engine    *memoryEngine
	taken     bool
	progress  []byte
	cancelled bool
	end       remote.End
	result    []byte
}

// change makes a change and tells all who wait.
func (e *memoryEngine) change(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
	close(e.changed)
	e.changed = make(chan struct{})
}

// await returns when done does, or with the cause of the end of ctx.
func (e *memoryEngine) await(ctx context.Context, done func() bool) error {
	for {
		e.mu.Lock()
		over, changed := done(), e.changed
		e.mu.Unlock()
		if over {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// SetAway makes the engine go away, or come back. Meanwhile all its answers are errAway.
func (e *memoryEngine) SetAway(away bool) { e.change(func() { e.away = away }) }

// End ends an attempt, unless it has ended.
func (e *memoryEngine) End(id string, end remote.End) {
	e.change(func() {
		if a := e.attempts[id]; a != nil && a.end == "" {
			a.end = end
		}
	})
}

// Forget makes the engine forget all attempts, as after the loss of its database.
func (e *memoryEngine) Forget() {
	e.change(func() { e.attempts, e.queue = map[string]*memoryAttempt{}, nil })
}

// AwaitProgress returns when the last message of an attempt is one that f wants.
func (e *memoryEngine) AwaitProgress(ctx context.Context, id string, f func(message []byte) bool) error {
	return e.await(ctx, func() bool {
		a := e.attempts[id]
		return a != nil && a.progress != nil && f(a.progress)
	})
}

// AwaitStart returns when an attempt was started.
func (e *memoryEngine) AwaitStart(ctx context.Context, id string) error {
	return e.await(ctx, func() bool { return e.attempts[id] != nil })
}

// Starts returns the number of attempts that were started.
func (e *memoryEngine) Starts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.attempts)
}

// Start queues an attempt.
func (e *memoryEngine) Start(_ context.Context, a remote.Activity) (err error) {
	e.change(func() {
		switch {
		case e.away:
			err = errAway
		case e.attempts[a.ID] == nil:
			e.attempts[a.ID] = &memoryAttempt{Activity: a, engine: e}
			e.queue = append(e.queue, e.attempts[a.ID])
		}
	})
	return err
}

// Wait waits for the end of an attempt.
func (e *memoryEngine) Wait(ctx context.Context, id string) (result []byte, end remote.End, err error) {
	err = e.await(ctx, func() bool {
		if e.away {
			return true
		}
		a := e.attempts[id]
		if end = remote.Gone; a != nil {
			end, result = a.end, a.result
		}
		return end != ""
	})
	if err == nil && end == "" {
		err = errAway
	}
	return result, end, err
}

// Progress returns the last message of an attempt.
func (e *memoryEngine) Progress(_ context.Context, id string) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.away {
		return nil, errAway
	}
	if a := e.attempts[id]; a != nil {
		return a.progress, nil
	}
	return nil, nil
}

// Cancel cancels an attempt.
func (e *memoryEngine) Cancel(_ context.Context, id, _ string) (err error) {
	e.change(func() {
		a := e.attempts[id]
		switch {
		case e.away:
			err = errAway
		case a == nil:
		case !a.taken && a.end == "":
			a.end = remote.Cancelled
		default:
			a.cancelled = true
		}
	})
	return err
}

// Serve gives the attempts of queues to work, at most slots at a time, until ctx ends. It returns after the last of
// them. Meanwhile Workers has who.
func (e *memoryEngine) Serve(ctx context.Context, who remote.Worker, queues []string, slots int,
	work func(worker.Task)) {
	e.change(func() { e.workers = append(e.workers, who) })
	defer e.change(func() {
		e.workers = slices.DeleteFunc(e.workers, func(w remote.Worker) bool { return w.Name == who.Name })
	})
	var running sync.WaitGroup
	defer running.Wait()
	free := slots
	for {
		var next *memoryAttempt
		err := e.await(ctx, func() bool {
			for i, a := range e.queue {
				if free > 0 && slices.Contains(queues, a.Queue) && a.end == "" {
					next, e.queue = a, append(e.queue[:i:i], e.queue[i+1:]...)
					next.taken = true
					free--
					return true
				}
			}
			return false
		})
		if err != nil {
			return
		}
		running.Go(func() {
			work(next)
			e.change(func() { free++ })
		})
	}
}

// Workers returns the workers that call Serve.
func (e *memoryEngine) Workers(context.Context, string) ([]remote.Worker, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.away {
		return nil, errAway
	}
	return slices.Clone(e.workers), nil
}

// Busy reports whether a worker makes an attempt of a queue.
func (e *memoryEngine) Busy(_ context.Context, queue string) (busy bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.away {
		return false, errAway
	}
	for _, a := range e.attempts {
		busy = busy || a.taken && a.end == "" && strings.HasPrefix(a.Queue+".", queue+".")
	}
	return busy, nil
}

// AwaitWorkers returns when n workers call Serve.
func (e *memoryEngine) AwaitWorkers(ctx context.Context, n int) error {
	return e.await(ctx, func() bool { return len(e.workers) == n })
}

// StartWorker starts a worker that makes attempts with an agent. bare is the git remote. StartWorker returns the
// function that stops the worker and interrupts its attempts. The end of the test calls it too.
func (e *memoryEngine) StartWorker(t testing.TB, name, bare string, key *wire.Key, agent runner.Agent) (stop func()) {
	w := worker.New(worker.Options{Name: name, Key: key, Dir: t.TempDir(), Mark: worker.Mark(name, os.Getpid()),
		Release: "test", Env: os.Environ(), Allow: []string{bare}, Warn: func(err error) { t.Log(err) },
		Local: func(_ *wire.Request, _ loop.Dir, observe func(runner.Observation)) (*runner.Local, error) {
			host := runner.Host{Env: proc.Inherit(os.Environ(), nil), Observe: observe, Lister: &filetree.Lister{}}
			return &runner.Local{Host: host, Agent: agent}, nil
		}})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var serving sync.WaitGroup
	serving.Go(func() {
		slots := cmp.Or(e.Slots, 1000)
		who := remote.Worker{Name: name, Slots: slots, Seen: time.Now()}
		e.Serve(ctx, who, []string{key.Queue(""), key.Queue(name)}, slots, func(task worker.Task) { w.Attempt(ctx, task) })
		if err := w.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		serving.Wait()
	})
	t.Cleanup(stop)
	return stop
}

func (a *memoryAttempt) ID() string               { return a.Activity.ID }
func (a *memoryAttempt) Request() []byte          { return a.Activity.Request }
func (a *memoryAttempt) Heartbeat() time.Duration { return a.Limits.Heartbeat }

func (a *memoryAttempt) Beat(_ context.Context, progress []byte) (err error) {
	a.engine.change(func() {
		if err = a.state(); err == nil || errors.Is(err, worker.ErrCancelled) {
			a.progress = progress
		}
	})
	return err
}

func (a *memoryAttempt) Complete(_ context.Context, result []byte) (err error) {
	a.engine.change(func() {
		if err = a.state(); err == nil || errors.Is(err, worker.ErrCancelled) {
			a.end, a.result, err = remote.Completed, result, nil
		}
	})
	return err
}

// state returns the answer to a worker. The caller must hold mu.
func (a *memoryAttempt) state() error {
	switch {
	case a.engine.away:
		return errAway
	case a.end != "" || a.engine.attempts[a.ID()] != a:
		return worker.ErrGone
	case a.cancelled:
		return worker.ErrCancelled
	}
	return nil
}
