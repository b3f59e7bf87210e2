package run

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/safefile"
	"wavex/internal/usererr"
	"wavex/runner"
	"wavex/scheduler"
)

// Fleet makes the attempts of a session on other machines, if the configuration names an engine, and traces of the
// session, if the environment names a collector. The core of wavex has none.
type Fleet interface {
	// Begin connects the session. It returns the Runner that makes the attempts, whose requests have no directory of
	// this machine if an engine is named, and Traces, or nil.
	Begin(ctx context.Context, s FleetSession) (runner.Runner, Traces, error)
	// Results returns the results of attempts that other sessions or lost workers have left, in the order of the
	// requests. It stops those that still run if stop is set, else one that has not ended has no outcome.
	Results(ctx context.Context, stop bool, reqs ...runner.Request) []runner.Result
	// Close tells which attempts it still awaits, sends the rest of the traces until ctx is done, and ends the
	// connection. It may be called without Begin.
	Close(ctx context.Context)
}

// Traces is a View that makes traces of the events.
type Traces interface {
	scheduler.View
	// Env returns the environment of an attempt with the identity of its span.
	Env(runner.Request) map[string]string
}

// FleetSession is the session of a Fleet.
type FleetSession struct {
	Config    event.Config
	Plan      *plan.Plan
	Local     runner.Runner // makes attempts on this machine
	Rehearsal bool
	Subject   func(task string) string // of a task's commit
	Observe   func(runner.Observation)
	Redactor  runner.Redactor
	Warn      func(error)
}

// ErrNoFleet is the error of the core of wavex about workers.
var ErrNoFleet = usererr.Blocked(errors.New("workers are in the whole wavex, and this is the core: take the " +
	"container image, or install it with: go install ./cmd/wavex (in the folder fleet of the repository)"))

// beginFleet returns the Runner of the session's attempts and Traces, or nil.
func (r *Session) beginFleet(ctx context.Context, local runner.Runner) (runner.Runner, Traces, error) {
	if r.opts.Fleet == nil {
		return local, nil, nil
	}
	return r.opts.Fleet.Begin(ctx, FleetSession{Config: r.config, Plan: r.plan, Local: local,
		Rehearsal: r.opts.Agent.IsRehearsal(), Subject: r.workspace.Subject, Observe: r.observe,
		Redactor: r.opts.Redactor, Warn: r.warn})
}

// fleetCloseTimeout bounds the end of a Fleet.
const fleetCloseTimeout = 5 * time.Second

func (r *Session) closeFleet(ctx context.Context) {
	if r.opts.Fleet == nil || r.fleetClosed {
		return
	}
	r.fleetClosed = true // after a third signal the loop may still use it
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.closeLimit(fleetCloseTimeout))
	defer cancel()
	r.opts.Fleet.Close(ctx)
}

// isElsewhere reports whether other machines make the attempts.
func (r *Session) isElsewhere() bool { return r.config.Workers.Engine != "" }

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

// adoptElsewhere makes this session wait for an attempt on another machine that an earlier one started.
func (r *Session) adoptElsewhere(e event.AttemptStarted) {
	if r.adopted == nil {
		r.adopted = map[string]int{}
	}
	r.adopted[e.Task] = e.Attempt
}

// endElsewhere returns the result of an attempt on another machine that this session does not go on with.
func (r *Session) endElsewhere(ctx context.Context, e event.AttemptStarted) runner.Result {
	return r.opts.Fleet.Results(ctx, true, runner.Request{Run: r.config.Run, Task: e.Task, Attempt: e.Attempt,
		Session: e.Session, Cap: e.Cap, LogDir: r.config.Loop.Task(r.config.Run, e.Task, loop.Attempt(e.Attempt)),
		Baseline: r.config.Loop.Task(r.config.Run, e.Task, loop.Digests)})[0]
}

// lateCostsTimeout bounds each search of scheduler.Loop.LateCosts for results of lost attempts.
const lateCostsTimeout = 30 * time.Second

// lateCosts returns the corrections of the costs of lost attempts whose workers have pushed their results.
func (r *Session) lateCosts(ctx context.Context, unknown []event.CostCorrected) (told []event.CostCorrected) {
	ctx, cancel := context.WithTimeout(ctx, lateCostsTimeout)
	defer cancel()
	var reqs []runner.Request
	for _, c := range unknown {
		reqs = append(reqs, runner.Request{Run: r.config.Run, Task: c.Task, Attempt: c.Attempt})
	}
	for i, res := range r.opts.Fleet.Results(ctx, false, reqs...) {
		if res.Outcome != "" && res.Priced != "cap" {
			c := unknown[i]
			c.Cost, c.Priced, c.Usage = res.Cost, res.Priced, res.Usage
			told = append(told, c)
		}
	}
	return told
}
