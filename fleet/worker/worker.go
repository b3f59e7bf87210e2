package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc/panics"

	"wavex/fleet/ferry"
	"wavex/fleet/remote/wire"
	"wavex/internal/async"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// keptFile is in the log directory of a run that has work which could not be pushed.
const keptFile = "kept"

// Task is one attempt as an engine hands it to a worker. Its methods are called from any goroutine.
type Task interface {
	ID() string
	Request() []byte          // a message
	Heartbeat() time.Duration // the engine gives up an attempt that is silent for this time
	// Beat tells the engine that the attempt lives, with a message about its progress. The error is ErrCancelled, ErrGone,
	// or one that means that the engine was not told.
	Beat(ctx context.Context, progress []byte) error
	// Complete tells the engine the result, a message. It is called again after any error but ErrGone.
	Complete(ctx context.Context, result []byte) error
}

// These are answers of an engine.
var (
	ErrCancelled = errors.New("the run has cancelled the attempt") // the attempt must end; its result is awaited
	ErrGone      = errors.New("the engine has given up the attempt")
)

// Options configures a Worker.
type Options struct {
	Name    string    // of this worker, for people
	Dir     string    // absolute; for repositories and worktrees
	Mark    string    // marks the processes of all attempts, see Mark
	Release string    // the version of wavex
	Key     *wire.Key // seals the results on the git remote; nil: they are not sealed
	Env     []string  // the environment of git, from which that of setups is made
	Pass    []string  // further variables for setups, see proc.Inherit
	Allow   []string  // prefixes of git remotes that requests may name, see CheckPrefix
	Bypass  bool      // requests may ask for bypassPermissions
	// Local returns the Runner that makes an attempt, with its Observe set to observe. dir is the .loop of the
	// attempt's repository. An error refuses the attempt.
	Local  func(req *wire.Request, dir loop.Dir, observe func(runner.Observation)) (*runner.Local, error)
	Redact func(runner.Result) runner.Result // removes the secrets of this machine; nil: nothing is removed
	Warn   func(error)                       // shows a problem, from any goroutine
}

// Mark returns the mark of the processes of a worker.
func Mark(name string, pid int) string {
	return fmt.Sprintf("worker@%s.%d", strings.ReplaceAll(name, "/", "_"), pid)
}

// Worker makes attempts. Its methods are safe for concurrent use; Close must be the last call.
type Worker struct {
	opts Options

	mu    sync.Mutex
	repos map[string]*repo         // by their remotes
	slots map[int]bool             // used ones
	tasks map[string]chan struct{} // closed at the end of the attempt that a task has here
}

// New returns a Worker.
func New(o Options) *Worker {
	if o.Redact == nil {
		o.Redact = func(res runner.Result) runner.Result { return res }
	}
	return &Worker{opts: o, repos: map[string]*repo{}, slots: map[int]bool{}, tasks: map[string]chan struct{}{}}
}

// Close releases the repositories. No attempt may run.
func (w *Worker) Close(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for _, r := range w.repos {
		errs = append(errs, r.close(ctx))
	}
	return errors.Join(errs...)
}

// tellTimeout bounds the time to tell a result after ctx has ended.
const tellTimeout = 30 * time.Second

// Attempt makes one attempt, and returns its result when it is told, or is not wanted any more. If ctx ends, it stops
// the attempt and still tells the result.
func (w *Worker) Attempt(ctx context.Context, task Task) runner.Result {
	a := &attempt{Worker: w, task: task, progress: wire.Progress{Worker: w.opts.Name}}
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer a.pulse(ctx, stop)()
	var res runner.Result
	if p := panics.Try(func() { res = a.run(working) }); p != nil {
		res = w.broken(fmt.Errorf("a bug in wavex: %v", p.Value))
		res.Detail, res.Cost, res.Priced = textfmt.ExcerptOf(p.String(), 4<<10), a.req.Attempt.Cap, "cap"
	}
	if !errors.Is(context.Cause(working), ErrGone) {
		a.tell(ctx, res)
	}
	return res
}

// broken returns the result of an attempt that could not begin, or whose work could not be brought back.
func (w *Worker) broken(err error) runner.Result {
	res := runner.Result{Outcome: runner.Broken, Worker: w.opts.Name, Started: time.Now().UTC(), Contained: true,
		Reason: textfmt.OneLine(fmt.Sprintf("worker %s: %v", w.opts.Name, err), runner.ReasonMax)}
	res = w.opts.Redact(res)
	res.Signature = runner.Signature(res.Reason, "")
	return res
}

// attempt is one call of Attempt.
type attempt struct {
	*Worker
	task Task
	head wire.Message // of the request
	req  wire.Request

	mu       sync.Mutex
	progress wire.Progress
}

// read reads the message of the request, and checks whether this worker works for its git remote. The request itself is
// read later if it is detached.
func (a *attempt) read() (err error) {
	if a.head, err = wire.Parse(wire.KindRequest, a.task.ID(), a.task.Request()); err != nil {
		return err
	}
	if wire.Run(a.task.ID()) == "" {
		return fmt.Errorf("%q is not the id of an attempt", a.task.ID())
	}
	if !slices.ContainsFunc(a.opts.Allow, func(prefix string) bool { return allows(prefix, a.head.Repo) }) {
		return fmt.Errorf("it does not work for the git remote %s (see --allow-repo)", a.head.Repo)
	}
	return nil
}

// readRequest reads the request, and checks whether this worker carries it out.
func (a *attempt) readRequest(ctx context.Context, r *repo) error {
	if a.head.Digest != "" {
		body, err := r.ferry.Show(ctx, a.head.Files+":"+wire.RequestFile)
		if err != nil {
			return err
		}
		if err := a.head.Attach(body); err != nil {
			return err
		}
	}
	if err := a.head.Decode(&a.req); err != nil {
		return err
	}
	if a.req.SameVersion && a.head.Release != a.opts.Release {
		return fmt.Errorf("it has wavex %s, and the run has %s (see --same-version)", a.opts.Release, a.head.Release)
	}
	if a.req.Attempt.Settings.PermissionMode == "bypassPermissions" && !a.opts.Bypass {
		return errors.New("it allows no bypassPermissions (see --allow-bypass)")
	}
	return a.req.Check(a.task.ID())
}

// enter waits until no other attempt of a task is here: one that the engine has given up may still be stopping. The
// caller must call leave, also after an error, which is the cause of ctx's end.
func (w *Worker) enter(ctx context.Context, task string) (leave func(), err error) {
	for {
		w.mu.Lock()
		other := w.tasks[task]
		if other == nil {
			own := make(chan struct{})
			w.tasks[task] = own
			w.mu.Unlock()
			return func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				delete(w.tasks, task)
				close(own)
			}, nil
		}
		w.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return func() {}, context.Cause(ctx)
		}
	}
}

// run makes the attempt and brings back its work.
func (a *attempt) run(ctx context.Context) runner.Result {
	began := time.Now()
	end, err := a.enter(ctx, path.Dir(a.task.ID()))
	defer end()
	var here place
	if err == nil {
		here, err = a.prepare(ctx)
	}
	if err != nil {
		res := a.broken(err)
		if cause := context.Cause(ctx); cause != nil {
			res.Outcome, res.Reason = runner.Interrupted, "stopped before it began: "+cause.Error()
		}
		return res
	}
	defer here.done()
	defer a.releaseSlot(here.req.Slot)
	local, err := a.opts.Local(&a.req, here.loop, a.observe)
	if err != nil {
		return a.broken(err)
	}
	req, hooks := here.req, runner.Hooks{TurnEnded: func(t runner.Turn) error {
		return a.bringTurn(ctx, here, a.redactTurn(t))
	}}
	leave, res := here.manager.Enter(ctx, &req, &hooks)
	if leave != nil {
		res = local.Attempt(ctx, req, hooks)
		leave(&res)
	}
	res.Worker, res.Duration = a.opts.Name, time.Since(began)
	res = a.opts.Redact(res) // what follows a push must not change it: a detached body is the pushed one
	if err := a.bringBack(context.WithoutCancel(ctx), here, &res); err != nil {
		a.keep(here, &res, err)
	} else if res.Outcome == runner.Done {
		if err := here.manager.Release(context.WithoutCancel(ctx), a.req.Attempt.Task); err != nil {
			a.opts.Warn(err) // its worktree stays, and others get another one
		}
	}
	return res
}

// keep changes the result of an attempt whose work could not be pushed.
func (a *attempt) keep(here place, res *runner.Result, why error) {
	kept := cmp.Or(res.Commit, res.WIP)
	if err := os.WriteFile(here.loop.Run(here.req.Run, keptFile), nil, 0o600); err != nil {
		a.opts.Warn(err) // it is removed when it is old
	}
	if res.Outcome == runner.Done || res.Outcome.Stuck() {
		res.Outcome = runner.Broken
	}
	res.Reason = textfmt.OneLine(fmt.Sprintf("worker %s keeps the work, commit %s: %v", a.opts.Name, kept, why),
		runner.ReasonMax)
	*res = a.opts.Redact(*res)
	res.Commit, res.WIP, res.Signature = "", "", runner.Signature(res.Reason, "")
	// The whole lists are in its log directory. Detached, they would be nowhere.
	res.Checks, res.Tampered = nil, nil
	res.Changed, res.Digests, res.Edits = nil, nil, nil
}

// redactTurn returns a turn as it may leave this machine.
func (a *attempt) redactTurn(t runner.Turn) runner.Turn {
	t.Result.Worker = a.opts.Name
	t.Result = a.opts.Redact(t.Result)
	t.Unfinished = a.opts.Redact(runner.Result{Reason: t.Unfinished}).Reason
	return t
}

// place is where an attempt works.
type place struct {
	*repo
	manager *gitwork.Manager
	done    func()
	loop    loop.Dir
	req     runner.Request // with the paths of this machine
}

// prepare brings the commits and files of the request here, and chooses where it works.
func (a *attempt) prepare(ctx context.Context) (p place, err error) {
	if err := a.read(); err != nil {
		return p, err
	}
	if p.repo, err = a.repo(ctx, a.head.Repo); err != nil {
		return p, err
	}
	if a.head.Files != "" {
		if err := p.ferry.Fetch(ctx, ferry.Base(wire.Run(a.task.ID()), a.head.Files)); err != nil {
			return p, err
		}
	}
	if err := a.readRequest(ctx, p.repo); err != nil {
		return p, err
	}
	p.loop, p.req = p.repo.loop(), a.req.Attempt
	r := &p.req
	names := []string{ferry.Base(r.Run, r.Commit)}
	if r.WIP != "" {
		names = append(names, ferry.Base(r.Run, r.WIP))
	}
	if err := p.ferry.Fetch(ctx, names...); err != nil {
		return p, err
	}
	if p.manager, p.done, err = p.open(ctx, a); err != nil {
		return p, err
	}
	p.addPaths()
	if a.head.Files != "" {
		dirs := ferry.Dirs(r)
		dirs[ferry.Outputs] = p.loop.Path(loop.Outputs)
		if err := p.ferry.Unpack(ctx, a.head.Files, dirs, nil); err != nil {
			p.done()
			return p, err
		}
	}
	r.Slot = a.takeSlot()
	return p, nil
}

// addPaths puts the paths of this machine into the request.
func (p *place) addPaths() {
	r, outputs := &p.req, p.loop.Path(loop.Outputs)
	r.Dir = filepath.Join(p.dir, filepath.FromSlash(r.Dir))
	r.LogDir = p.loop.Task(r.Run, r.Task, loop.Attempt(r.Attempt))
	r.Baseline = p.loop.Task(r.Run, r.Task, loop.Digests)
	r.Closed = []string{string(p.loop)}
	if r.Trees != nil {
		r.Trees.Store = p.loop.Run(r.Run, loop.Contents)
	}
	if r.Output != nil {
		r.Output.Dir = outputs
	}
	wire.MoveOutputs(r, wire.OutputsDir, outputs+string(filepath.Separator))
}

func (w *Worker) takeSlot() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	slot := 0
	for w.slots[slot] {
		slot++
	}
	w.slots[slot] = true
	return slot
}

func (w *Worker) releaseSlot(slot int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.slots, slot)
}

// observe makes a sign of life the progress of the attempt.
func (a *attempt) observe(o runner.Observation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.progress.Kind, a.progress.Text, a.progress.Cost = o.Kind, o.Text, o.Cost
}

// message returns the progress as a message. It leaves out a turn that is too long: the git remote has that.
func (a *attempt) message() ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	m, detached, err := wire.New(wire.KindProgress, a.task.ID(), a.opts.Release, a.progress)
	if err == nil && detached != nil {
		short := a.progress
		short.Turn = nil
		m, _, err = wire.New(wire.KindProgress, a.task.ID(), a.opts.Release, short)
	}
	if err != nil {
		return nil, err
	}
	return m.Encode()
}

// tell tells the engine the result until it takes it, has given up the attempt, or this worker ends.
func (a *attempt) tell(ctx context.Context, res runner.Result) {
	m, _, err := wire.New(wire.KindResult, a.task.ID(), a.opts.Release, res)
	message, encodeErr := m.Encode()
	if err = cmp.Or(err, encodeErr); err != nil {
		a.opts.Warn(fmt.Errorf("the result of %s cannot be told: %w", a.task.ID(), err))
		return
	}
	telling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(tellTimeout, cancel) })()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := a.task.Complete(telling, message)
		if err == nil || errors.Is(err, ErrGone) {
			return
		}
		if async.Sleep(telling, pause) != nil {
			a.opts.Warn(fmt.Errorf("the result of %s was not told: %w", a.task.ID(), err))
			return
		}
	}
}
