package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"wavex/internal/event"
	"wavex/internal/ferry"
	"wavex/internal/loop"
	"wavex/internal/remote"
	"wavex/internal/safefile"
	"wavex/internal/usererr"
	"wavex/runner"
)

// This file connects a run with workers on other machines.

// workersPoll is the time between two looks at an attempt on another machine, and workersStopWait the time to wait for
// its result after it was cancelled.
const (
	workersPoll     = 5 * time.Second
	workersStopWait = time.Minute
)

// openWorkers makes attempts go to workers, if the options say so.
func (r *Session) openWorkers(ctx context.Context) error {
	w := r.opts.Workers
	if w == nil {
		return nil
	}
	if r.config.Isolation != event.Isolated {
		return usererr.Blocked(errors.New("workers on other machines need worktrees: run with --isolation worktree"))
	}
	r.elsewhere = &remote.Runner{Engine: w.Engine, Ferry: ferry.New(ctx, r.config.Dir, w.Remote, w.Env), Key: w.Key,
		Repo: w.URL, Release: r.opts.Version, Outputs: r.config.Loop.Path(loop.Outputs), Setup: r.plan.Setup,
		NoVerify: r.config.NoVerify, Rehearsal: r.opts.Agent.IsRehearsal(),
		NoWall: r.config.Sandbox.Mode != event.SandboxAuto, Same: w.Same, Subject: r.workspace.Subject,
		NewSession: uuid.NewString, QueueWait: w.QueueWait, Heartbeat: w.Heartbeat, Poll: workersPoll,
		StopWait: workersStopWait, Observe: r.observe, Redact: r.opts.Redactor.Bytes, Warn: r.warn}
	return nil
}

// noticeAwaited tells which attempts on workers were cancelled and have not told their results.
func (r *Session) noticeAwaited() {
	if r.elsewhere == nil {
		return
	}
	for _, id := range r.elsewhere.Awaited() {
		fmt.Fprintf(r.opts.Err,
			"wavex: %s is cancelled; its worker stops it, and a resume collects its result and its cost\n", id)
	}
}

// recordWorker writes where an attempt runs, for processes that watch the run. After an error they do not show it.
func (r *Session) recordWorker(o runner.Observation) {
	if o.Worker == "" {
		return
	}
	path := r.config.Loop.Task(r.config.Run, o.Task, loop.Attempt(o.Attempt), loop.WorkerFile)
	if safefile.MkdirAll(filepath.Dir(path), 0o700) == nil {
		_ = safefile.Replace(path, []byte(o.Worker+"\n"+o.Text+"\n"), 0o600, false)
	}
}

// recoveryElsewhere is a Recovery of attempts on other machines, which run on.
type recoveryElsewhere struct {
	recovery
	adopt func(event.AttemptStarted)
	end   func(event.AttemptStarted) runner.Result
}

func (l recoveryElsewhere) Adopts(e event.AttemptStarted) bool {
	l.adopt(e)
	return true
}

func (l recoveryElsewhere) Attempt(e event.AttemptStarted) runner.Result { return l.end(e) }

// adoptElsewhere makes this session wait for an attempt on another machine that an earlier one started.
func (r *Session) adoptElsewhere(e event.AttemptStarted) {
	r.elsewhere.Adopt(r.config.Run, e.Task, e.Attempt)
}

// lateCostsTimeout bounds each search of scheduler.Loop.LateCosts for results of lost attempts.
const lateCostsTimeout = 30 * time.Second

// lateCosts returns the corrections of the costs of lost attempts whose workers have pushed their results.
func (r *Session) lateCosts(ctx context.Context, unknown []event.CostCorrected) (told []event.CostCorrected) {
	if r.elsewhere == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lateCostsTimeout)
	defer cancel()
	var reqs []runner.Request
	for _, c := range unknown {
		reqs = append(reqs, runner.Request{Run: r.config.Run, Task: c.Task, Attempt: c.Attempt})
	}
	results, err := r.elsewhere.Late(ctx, reqs...)
	if err != nil {
		r.warn(fmt.Errorf("looking for the costs of lost attempts: %w", err))
	}
	for i, res := range results {
		if res.Outcome != "" && res.Priced != "cap" {
			c := unknown[i]
			c.Cost, c.Priced, c.Usage = res.Cost, res.Priced, res.Usage
			told = append(told, c)
		}
	}
	return told
}

// endElsewhere returns the result of an attempt on another machine that this session does not go on with.
func (r *Session) endElsewhere(ctx context.Context, e event.AttemptStarted) runner.Result {
	return r.elsewhere.End(ctx, runner.Request{Run: r.config.Run, Task: e.Task, Attempt: e.Attempt, Session: e.Session,
		Cap: e.Cap, LogDir: r.config.Loop.Task(r.config.Run, e.Task, loop.Attempt(e.Attempt)),
		Baseline: r.config.Loop.Task(r.config.Run, e.Task, loop.Digests)})
}
