package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wavex/fleet/ferry"
	"wavex/fleet/remote/wire"
	"wavex/internal/plan"
	"wavex/runner"
)

// Runner makes attempts through an Engine. Its methods are safe for concurrent use. Its requests have a Commit, and a
// Dir relative to the top of the repository.
type Runner struct {
	Engine Engine
	Ferry  *ferry.Ferry
	Key    *wire.Key // seals the results on the git remote, and names the queues
	Repo   string    // URL of the git remote as workers reach it

	Release   string     // the version of wavex
	Outputs   string     // the directory of large outputs, as requests name them; "": there are none
	Setup     plan.Setup // of the plan, for worktrees
	NoVerify  bool       // commit without the repository's hooks
	Rehearsal bool
	NoWall    bool                     // no wall around agents
	Same      bool                     // only workers with the same version of wavex
	Subject   func(task string) string // of a task's commit
	// NewSession returns the id of a session that replaces one of a worker that does not take the attempt.
	NewSession func() string

	QueueWait time.Duration // see Limits.Queue; also how long an engine may be away before a start
	Heartbeat time.Duration // see Limits.Heartbeat
	// Poll is the time between two looks at the progress of an attempt, or longer if many run. An attempt that no worker
	// makes looks for workers half as often.
	Poll     time.Duration
	StopWait time.Duration // for the result of an attempt that was cancelled

	Observe func(runner.Observation) // receives signs of life; may be nil
	Redact  func([]byte) []byte      // removes secrets from log files; nil: nothing is removed
	Warn    func(error)              // shows a problem, from any goroutine

	running atomic.Int64 // attempts that are awaited
	awaited sync.Map     // their ids
	known   known
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

// sessionWait bounds the wait for the worker that has the session of an attempt. Afterwards any worker may take it.
const sessionWait = 2 * time.Minute

// Attempt makes an attempt on another machine, or waits for one that was started there. Its commits are in the
// repository of this machine when it returns, and its log files in the LogDir of the request. One that resumes a
// session goes to the worker that has the session, and to any worker if that one does not take it.
func (r *Runner) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	a := &attempt{Runner: r, id: wire.ID(req.Run, req.Task, req.Attempt), req: req, hooks: hooks, began: time.Now()}
	res := a.run(ctx)
	if res.Session == "" {
		res.Session = a.req.Session
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
	res, end := a.await(stopped)
	for end == NotTaken { // it may have been started again
		var other runner.Result
		if a.id = wire.NextID(a.id); a.id == "" {
			break
		}
		if other, end = a.await(stopped); end != Gone {
			res = other
		}
	}
	if res.Outcome == runner.Done { // its work is for another task than that of the plan
		res.Outcome, res.Reason = runner.Interrupted, errUnwanted.Error()
	}
	res.Started = a.began.UTC()
	return res
}

// Late returns the results of attempts of a run that their workers have pushed, in the order of the requests. One that
// is not there has no outcome. The work and the logs of these attempts stay on the git remote.
func (r *Runner) Late(ctx context.Context, reqs ...runner.Request) ([]runner.Result, error) {
	results := make([]runner.Result, len(reqs))
	var names []string
	for _, req := range reqs {
		names = append(names, ferry.Logs(req.Run, req.Task, req.Attempt))
	}
	there, err := r.Ferry.Find(ctx, names...)
	if err == nil && len(there) > 0 {
		err = r.Ferry.Fetch(ctx, slices.Sorted(maps.Keys(there))...)
	}
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if there[name] == "" {
			continue
		}
		a := &attempt{Runner: r, req: reqs[i]}
		if res, pushed, err := a.pushedResult(ctx); pushed && err == nil {
			results[i] = res
		}
	}
	return results, nil
}

func (a *attempt) run(ctx context.Context) runner.Result {
	adopted := a.req.Adopted
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
	session := a.req.Session
	if a.req.Resume && a.req.Worker != "" {
		res, end := a.startAndAwait(ctx, adopted, a.req.Worker, min(sessionWait, a.QueueWait))
		if end != NotTaken {
			return res
		}
		a.id = wire.NextID(a.id)
		adopted = adopted && a.exists(ctx, a.id)
		// A worker with the same home would find the session, which knows paths of the other worker.
		a.req.Resume, a.req.Session = false, a.NewSession()
		a.req.Prompt = cmp.Or(a.req.FullPrompt, a.req.Prompt)
	}
	replaced := a.req.Session != session
	for unsure := false; ; {
		res, end := a.startAndAwait(ctx, adopted, "", a.QueueWait)
		res.SessionReplaced = res.SessionReplaced || replaced
		next := wire.NextID(a.id)
		if end != NotTaken || next == "" {
			return res
		}
		adopted = adopted && a.exists(ctx, next)
		switch busy, err := a.busy(ctx); {
		case busy:
			unsure = false
		case adopted: // they were busy
		case err == nil || unsure || ctx.Err() != nil:
			return res
		default:
			unsure = true
			a.known.unsure.Do(func() {
				a.Warn(fmt.Errorf("the engine does not tell whether workers are busy; attempts wait for another %s: %w",
					a.QueueWait, err))
			})
		}
		a.id = next
	}
}

// startAndAwait starts the attempt for a worker, or for any for "", and waits for its end. end is "" if it was not
// started. adopted says that it may have been started before.
func (a *attempt) startAndAwait(ctx context.Context, adopted bool, worker string,
	wait time.Duration) (res runner.Result, end End) {
	activity, err := a.send(ctx)
	activity.Queue, activity.Limits.Queue = a.Key.Queue(worker), wait
	switch cause := context.Cause(ctx); {
	case err == nil:
	case adopted: // it may run, and cost money
		return a.await(ctx)
	case cause != nil:
		return ended(runner.Interrupted, "stopped before it began: %v", cause), ""
	default:
		return ended(runner.Broken, "sending it to the workers: %v", err), ""
	}
	if err := a.start(ctx, activity); err != nil {
		res := ended(runner.Broken, "the engine of the workers: %v", err)
		if cause := context.Cause(ctx); cause != nil {
			res = ended(runner.Interrupted, "stopped while it was started: %v", cause)
		}
		once, end := context.WithTimeout(context.WithoutCancel(ctx), a.Poll)
		defer end()
		a.cancel(once, res.Reason) // it may have been started
		return a.atCap(res), ""
	}
	return a.await(ctx)
}

// send pushes the commits and files that the attempt needs, and returns it as the engine needs it, but for its queue.
func (a *attempt) send(ctx context.Context) (Activity, error) {
	limits := Limits{Heartbeat: a.Heartbeat, Run: runLimit(&a.req)}
	request, outputs := a.request()
	m, detached, err := wire.New(wire.KindRequest, a.id, a.Release, request)
	if err != nil {
		return Activity{}, err
	}
	m.Repo = a.Repo
	files, err := ferry.TaskFiles(&a.req)
	if err != nil {
		return Activity{}, err
	}
	maps.Copy(files, outputs)
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
		ref := ferry.Ref{Name: ferry.Base(a.req.Run, id), Commit: id}
		if id != "" && !slices.Contains(refs, ref) { // git takes no ref twice
			refs = append(refs, ref)
		}
	}
	if err := a.Ferry.Push(ctx, refs...); err != nil {
		return Activity{}, err
	}
	message, err := m.Encode()
	return Activity{ID: a.id, Request: message, Limits: limits}, err
}

// request returns the request without the paths of this machine, and the outputs that it names, for ferry.Pack.
func (a *attempt) request() (w wire.Request, outputs map[string]string) {
	req := a.req
	if a.Outputs != "" {
		outputs = map[string]string{}
		for _, name := range wire.MoveOutputs(&req, a.Outputs+string(filepath.Separator), wire.OutputsDir) {
			outputs[ferry.Outputs+"/"+name] = filepath.Join(a.Outputs, name)
		}
	}
	w = wire.Request{Setup: a.Setup, NoVerify: a.NoVerify, Rehearsal: a.Rehearsal, NoWall: a.NoWall, SameVersion: a.Same,
		Attempt: req}
	if a.Subject != nil {
		w.Subject = a.Subject(req.Task)
	}
	return w, outputs
}
