package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wavex/budget"
	"wavex/internal/async"
	"wavex/internal/check"
	"wavex/internal/ferry"
	"wavex/internal/remote/wire"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// Runner makes attempts through an Engine. Its methods are safe for concurrent use. Its requests have a Commit, and a
// Dir relative to the top of the repository.
type Runner struct {
	Engine Engine
	Ferry  *ferry.Ferry
	Queue  string
	Repo   string // URL of the git remote as workers reach it

	Release   string // the version of wavex
	Setup     string // shell command of the plan for a fresh worktree
	NoVerify  bool   // commit without the repository's hooks
	Rehearsal bool
	NoWall    bool                     // no wall around agents
	Subject   func(task string) string // of a task's commit

	QueueWait time.Duration // see Limits.Queue; also how long an engine may be away before a start
	Heartbeat time.Duration // see Limits.Heartbeat
	Poll      time.Duration // between two looks at the progress of an attempt, or longer if many run
	StopWait  time.Duration // for the result of an attempt that was cancelled

	Observe func(runner.Observation) // receives signs of life; may be nil
	Redact  func([]byte) []byte      // removes secrets from log files; nil: nothing is removed
	Warn    func(error)              // shows a problem, from any goroutine

	running atomic.Int64 // attempts that are awaited
	awaited sync.Map     // their ids
	adopted sync.Map     // ids of attempts that an earlier session may have started
}

// Adopt says that an earlier session of the run may have started an attempt. It must be called before Attempt.
func (r *Runner) Adopt(run, task string, attempt int) {
	r.adopted.Store(wire.ID(run, task, attempt), true)
}

// Awaited returns the ids of the attempts whose ends are awaited, sorted.
func (r *Runner) Awaited() (ids []string) {
	r.awaited.Range(func(id, _ any) bool {
		ids = append(ids, id.(string))
		return true
	})
	slices.Sort(ids)
	return ids
}

// Attempt makes an attempt on another machine, or waits for one that was started there. Its commits are in the
// repository of this machine when it returns, and its log files in the LogDir of the request.
func (r *Runner) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	a := &attempt{Runner: r, id: wire.ID(req.Run, req.Task, req.Attempt), req: req, hooks: hooks, began: time.Now()}
	res := a.run(ctx)
	if res.Session == "" {
		res.Session = req.Session
	}
	res.Started, res.Duration = a.began.UTC(), cmp.Or(res.Duration, time.Since(a.began))
	if res.Outcome != runner.Done && res.Signature == "" {
		res.Signature = runner.Signature(res.Reason, res.Detail)
	}
	return res
}

var errUnwanted = errors.New("the plan has changed")

// End stops an attempt that an earlier session may have started, and returns its result. It waits for that as Attempt
// does when its context ends.
func (r *Runner) End(ctx context.Context, req runner.Request) runner.Result {
	a := &attempt{Runner: r, id: wire.ID(req.Run, req.Task, req.Attempt), req: req, began: time.Now()}
	stopped, cancel := context.WithCancelCause(ctx)
	cancel(errUnwanted)
	res := a.await(stopped)
	if res.Outcome == runner.Done { // its work is for another task than that of the plan
		res.Outcome, res.Reason = runner.Interrupted, errUnwanted.Error()
	}
	res.Started = a.began.UTC()
	return res
}

// attempt is one call of Attempt.
type attempt struct {
	*Runner
	id    string
	req   runner.Request
	hooks runner.Hooks
	began time.Time

	worker string       // the last that has told its progress; "": none
	cost   budget.USD   // so far, as the worker has told
	turn   *runner.Turn // the reported end of the turn
}

func (a *attempt) run(ctx context.Context) runner.Result {
	_, adopted := a.adopted.Load(a.id)
	if err := context.Cause(ctx); err != nil && !adopted {
		return ended(runner.Interrupted, "stopped before it began: %v", err)
	}
	if adopted {
		// The engine may have lost its memory, and would start the attempt again.
		if res, found := a.collect(ctx); found {
			return res
		}
		if a.turn != nil { // only its checks remain
			a.req.Turn, a.req.WIP = a.turn, a.turn.Result.WIP
		}
	}
	activity, err := a.send(ctx)
	switch cause := context.Cause(ctx); {
	case err == nil:
	case adopted: // it may run, and cost money
		return a.await(ctx)
	case cause != nil:
		return ended(runner.Interrupted, "stopped before it began: %v", cause)
	default:
		return ended(runner.Broken, "sending it to the workers: %v", err)
	}
	if err := a.start(ctx, activity); err != nil {
		res := ended(runner.Broken, "the engine of the workers: %v", err)
		if cause := context.Cause(ctx); cause != nil {
			res = ended(runner.Interrupted, "stopped while it was started: %v", cause)
		}
		once, end := context.WithTimeout(context.WithoutCancel(ctx), a.Poll)
		defer end()
		a.cancel(once, res.Reason) // it may have been started
		return a.atCap(res)
	}
	return a.await(ctx)
}

// ended returns the result of an attempt that cost nothing.
func ended(o runner.Outcome, format string, args ...any) runner.Result {
	reason := textfmt.OneLine(fmt.Sprintf(format, args...), runner.ReasonMax)
	return runner.Result{Outcome: o, Reason: reason, Contained: true}
}

// atCap sets the cost of an attempt whose cost is unknown.
func (a *attempt) atCap(res runner.Result) runner.Result {
	res.Cost, res.Worker = max(a.req.Cap, a.cost), a.worker
	if res.Cost > 0 {
		res.Priced = "cap"
	}
	return res
}

// send pushes the commits and files that the attempt needs, and returns it as the engine needs it.
func (a *attempt) send(ctx context.Context) (Activity, error) {
	limits := Limits{Queue: a.QueueWait, Heartbeat: a.Heartbeat, Run: runLimit(&a.req)}
	m, detached, err := wire.New(wire.KindRequest, a.id, a.Release, a.request())
	if err != nil {
		return Activity{}, err
	}
	m.Repo = a.Repo
	files, err := ferry.TaskFiles(&a.req)
	if err != nil {
		return Activity{}, err
	}
	texts := map[string][]byte{}
	if detached != nil {
		texts[wire.RequestFile] = detached
	}
	if len(files)+len(texts) > 0 {
		if m.Files, err = a.Ferry.Pack(ctx, "Files of "+a.req.Task, files, texts); err != nil {
			return Activity{}, err
		}
	}
	var refs []ferry.Ref
	for _, id := range []string{a.req.Commit, a.req.WIP, m.Files} {
		if id != "" {
			refs = append(refs, ferry.Ref{Name: ferry.Base(a.req.Run, id), Commit: id})
		}
	}
	if err := a.Ferry.Push(ctx, refs...); err != nil {
		return Activity{}, err
	}
	message, err := m.Encode()
	return Activity{ID: a.id, Queue: a.Queue, Request: message, Limits: limits}, err
}

// request returns the request without the paths of this machine.
func (a *attempt) request() wire.Request {
	req := a.req
	req.LogDir, req.Baseline, req.Closed = "", "", nil
	if req.CheckFiles != nil {
		c := *req.CheckFiles
		c.Store = ""
		req.CheckFiles = &c
	}
	if req.Output != nil {
		o := *req.Output
		o.Dir = ""
		req.Output = &o
	}
	w := wire.Request{Setup: a.Setup, NoVerify: a.NoVerify, Rehearsal: a.Rehearsal, NoWall: a.NoWall,
		Attempt: req}
	if a.Subject != nil {
		w.Subject = a.Subject(req.Task)
	}
	return w
}

// runLimit bounds the time of an attempt with its checks. The worker itself keeps the limits of the plan, so the engine
// needs this one only for a worker that does not.
func runLimit(req *runner.Request) time.Duration {
	limit := cmp.Or(req.Settings.Timeout, runner.DefaultTimeout) + 10*time.Minute
	for _, c := range req.Checks {
		limit += 2 * cmp.Or(c.Timeout, check.DefaultTimeout) // before and after the turn
	}
	return limit
}

// start starts the attempt. While the engine cannot be asked, it tries again for QueueWait.
func (a *attempt) start(ctx context.Context, activity Activity) error {
	var err error
	for deadline := time.Now().Add(a.QueueWait); ; {
		if err = a.Engine.Start(ctx, activity); err == nil {
			return nil
		}
		if time.Now().After(deadline) || async.Sleep(ctx, a.Poll) != nil {
			return err
		}
	}
}

// cancel asks for the end of the attempt until the engine has taken that, or ctx ends.
func (a *attempt) cancel(ctx context.Context, reason string) {
	for {
		try, end := context.WithTimeout(ctx, max(a.Poll, time.Second))
		err := a.Engine.Cancel(try, a.id, reason)
		end()
		if err == nil {
			return
		}
		if async.Sleep(ctx, a.Poll) != nil {
			if !errors.Is(context.Cause(ctx), context.Canceled) { // else the attempt has ended
				a.Warn(fmt.Errorf("%s may go on until its cap: %w", a.id, err))
			}
			return
		}
	}
}

var errStopWait = errors.New("its worker did not tell the result in time")

// await waits for the end of the attempt. If ctx ends, it cancels the attempt and waits for its result.
func (a *attempt) await(ctx context.Context) runner.Result {
	waiting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() {
		select {
		case <-ctx.Done():
			stopping, end := context.WithTimeoutCause(waiting, a.StopWait, errStopWait)
			defer end()
			a.cancel(stopping, context.Cause(ctx).Error())
			<-stopping.Done()
			cancel(errStopWait)
		case <-waiting.Done():
		}
	})
	type over struct {
		data []byte
		end  End
		err  error
	}
	ends := make(chan over, 1)
	watching.Go(func() {
		data, end, err := a.wait(waiting)
		ends <- over{data, end, err}
	})
	a.running.Add(1)
	defer a.running.Add(-1)
	a.awaited.Store(a.id, true)
	defer a.awaited.Delete(a.id)
	look := time.NewTimer(a.lookDelay())
	defer look.Stop()
	for {
		select {
		case o := <-ends:
			if o.err != nil {
				return a.atCap(ended(runner.Interrupted, "%v: %v", context.Cause(ctx), o.err))
			}
			return a.end(ctx, o.data, o.end)
		case <-look.C:
			a.look(waiting)
			look.Reset(a.lookDelay())
		}
	}
}

// looksPerSecond bounds the looks of all attempts together.
const looksPerSecond = 20

// lookDelay returns the time until the next look at the progress.
func (r *Runner) lookDelay() time.Duration {
	return max(r.Poll, time.Duration(r.running.Load())*time.Second/looksPerSecond)
}

// awayWarning is the time after which an engine that does not answer is told.
const awayWarning = 10 * time.Second

// wait waits for the end. While the engine cannot be asked, it asks again.
func (a *attempt) wait(ctx context.Context) ([]byte, End, error) {
	for warned, since := false, time.Now(); ; {
		data, end, err := a.Engine.Wait(ctx, a.id)
		if err == nil {
			return data, end, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return nil, "", cause
		}
		if !warned && time.Since(since) > awayWarning {
			warned = true
			a.Warn(fmt.Errorf("the engine of the workers does not answer; attempts go on: %w", err))
		}
		if err := async.Sleep(ctx, a.Poll); err != nil {
			return nil, "", err
		}
	}
}

// look shows the progress of the attempt, and reports the end of its turn once.
func (a *attempt) look(ctx context.Context) {
	data, err := a.Engine.Progress(ctx, a.id)
	if err != nil || data == nil {
		return // wait tells of an engine that is away
	}
	m, err := wire.Parse(wire.KindProgress, a.id, data)
	if err == nil && m.Digest != "" {
		err = a.attach(ctx, &m, wire.ProgressFile)
	}
	var p wire.Progress
	if err == nil {
		err = m.Decode(&p)
	}
	if err != nil {
		a.Warn(fmt.Errorf("the progress of %s: %w", a.id, err))
		return
	}
	a.worker, a.cost = p.Worker, p.Cost
	if a.Observe != nil && p.Kind != "" {
		a.Observe(runner.Observation{Task: a.req.Task, Attempt: a.req.Attempt, Kind: p.Kind, Text: p.Text, Cost: p.Cost})
	}
	if p.Turn != nil {
		a.reportTurn(ctx, p.Turn)
	}
}

// attach brings the detached body of a message.
func (a *attempt) attach(ctx context.Context, m *wire.Message, file string) error {
	logs := ferry.Logs(a.req.Run, a.req.Task, a.req.Attempt)
	if err := a.Ferry.Fetch(ctx, logs); err != nil {
		return err
	}
	body, err := a.Ferry.Show(ctx, logs+":"+file)
	if err != nil {
		return err
	}
	return m.Attach(body)
}

// reportTurn brings the work of a turn here and reports its end, once.
func (a *attempt) reportTurn(ctx context.Context, t *runner.Turn) {
	if a.turn != nil || a.hooks.TurnEnded == nil {
		return
	}
	err := a.Ferry.Fetch(ctx, ferry.Work(a.req.Run, a.req.Task, a.req.Attempt))
	if err == nil {
		a.turn = t
		err = a.hooks.TurnEnded(*t)
	}
	if err != nil && context.Cause(ctx) == nil {
		a.Warn(fmt.Errorf("the turn of %s is not on record: %w", a.id, err))
	}
}

// end returns the result of an attempt that has ended.
func (a *attempt) end(ctx context.Context, data []byte, end End) runner.Result {
	always := context.WithoutCancel(ctx) // pushed work is brought here also while the run stops
	switch end {
	case Completed:
		res, err := a.read(always, data)
		if err != nil {
			return a.atCap(ended(runner.Broken, "the result of %s: %v", cmp.Or(a.worker, "its worker"), err))
		}
		if cause := context.Cause(ctx); cause != nil && res.Outcome == runner.Interrupted {
			res.Reason = textfmt.OneLine("stopped: "+cause.Error(), runner.ReasonMax)
			res.Signature = runner.Signature(res.Reason, res.Detail)
		}
		return res
	case NotTaken:
		return ended(runner.Broken, "no worker took it in %s", a.QueueWait)
	case Cancelled:
		return ended(runner.Interrupted, "stopped before a worker took it: %v", cmp.Or(context.Cause(ctx), errCancelled))
	case Refused:
		return ended(runner.Broken, "the worker cannot read it: it has another key or another wavex")
	}
	if res, found := a.collect(always); found {
		return res
	}
	why := fmt.Sprintf("lost: worker %s was silent for %s", cmp.Or(a.worker, "(unknown)"), a.Heartbeat)
	switch end {
	case TimedOut:
		why = "lost: it ran for longer than " + runLimit(&a.req).String()
	case Gone:
		why = "lost: the engine does not know it any more, and it has pushed no result"
	case Ended:
		why = "ended at the engine by a person"
	}
	res := a.atCap(ended(runner.Interrupted, "%s", why))
	if a.cost > 0 {
		res.Detail = fmt.Sprintf("It had cost at least %s.", a.cost)
	}
	if a.turn != nil {
		res.WIP = a.turn.Result.WIP
	}
	return res
}

var errCancelled = errors.New("cancelled")

// read returns the result in a message, and brings its work and its logs here.
func (a *attempt) read(ctx context.Context, data []byte) (runner.Result, error) {
	m, err := wire.Parse(wire.KindResult, a.id, data)
	if err == nil && m.Digest != "" {
		err = a.attach(ctx, &m, wire.ResultFile)
	}
	var r wire.Result
	if err == nil {
		err = m.Decode(&r)
	}
	if err != nil {
		return runner.Result{}, err
	}
	return a.bring(ctx, r.Attempt)
}

// bring brings the work and the logs of a result here. The logs of an attempt that never began do not exist.
func (a *attempt) bring(ctx context.Context, res runner.Result) (runner.Result, error) {
	work, logs := ferry.Work(a.req.Run, a.req.Task, a.req.Attempt), ferry.Logs(a.req.Run, a.req.Task, a.req.Attempt)
	there, err := a.Ferry.Find(ctx, work, logs)
	if err != nil {
		return res, err
	}
	if id := cmp.Or(res.Commit, res.WIP); id != "" && there[work] != id {
		return res, fmt.Errorf("the git remote does not have its work, commit %s", id)
	}
	if len(there) > 0 {
		if err := a.Ferry.Fetch(ctx, slices.Collect(maps.Keys(there))...); err != nil {
			return res, err
		}
	}
	if there[logs] == "" {
		return res, nil
	}
	return res, a.Ferry.Unpack(ctx, there[logs], ferry.Dirs(&a.req), a.Redact)
}

// collect looks on the git remote for the work of an attempt that the engine has lost: its result, or else the end of
// its turn, which it reports.
func (a *attempt) collect(ctx context.Context) (res runner.Result, found bool) {
	logs := ferry.Logs(a.req.Run, a.req.Task, a.req.Attempt)
	there, err := a.Ferry.Find(ctx, logs)
	if err != nil || there[logs] == "" || a.Ferry.Fetch(ctx, logs) != nil {
		return res, false
	}
	if body, err := a.Ferry.Show(ctx, logs+":"+wire.ResultFile); err == nil {
		var r wire.Result
		m := wire.Message{Kind: wire.KindResult, Body: body}
		if err = m.Decode(&r); err == nil {
			res, err = a.bring(ctx, r.Attempt)
		}
		if err == nil {
			return res, true
		}
		a.Warn(fmt.Errorf("the pushed result of %s: %w", a.id, err))
		return res, false
	}
	if body, err := a.Ferry.Show(ctx, logs+":"+wire.ProgressFile); err == nil {
		var p wire.Progress
		m := wire.Message{Kind: wire.KindProgress, Body: body}
		if m.Decode(&p) == nil && p.Turn != nil {
			a.worker = cmp.Or(a.worker, p.Worker)
			a.reportTurn(ctx, p.Turn)
		}
	}
	return res, false
}
