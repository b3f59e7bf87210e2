package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"wavex/internal/plan"
	"wavex/internal/workspace"
	"wavex/runner"
	"wavex/scheduler"
)

// This file makes checkpoints around tasks that are hard to undo (LEDGER S2-23), where
// tasks share the project directory. In worktrees each task's work is a commit anyway.

// lasting bounds a checkpoint that is made although the run is being stopped.
const lasting = time.Minute

// hard tells whether a task is to have checkpoints.
func hard(t *plan.Task) bool { return t.Reversibility == "2B" || t.Reversibility == "1" }

// hasHard tells whether any task is.
func hasHard(p *plan.Plan) bool {
	for i := range p.Tasks {
		if hard(&p.Tasks[i]) {
			return true
		}
	}
	return false
}

// checkpoints gives the run's checkpoints; nil where it needs none, or has no repository,
// which is told.
func (r *Session) checkpoints(ctx context.Context) *workspace.Points {
	if r.config.Isolation == scheduler.Isolated || !hasHard(r.plan) {
		return nil
	}
	points, err := workspace.OpenPoints(ctx, r.config.Dir, r.config.Run, os.Environ())
	if err != nil {
		fmt.Fprintln(r.opts.Err, "wavex: warning: there are tasks that are hard to undo, and no checkpoints of them:", err)
		return nil
	}
	return points
}

// pointed is a runner that makes checkpoints before and after what the inner one does.
type pointed struct {
	scheduler.Runner
	points *workspace.Points
	plan   *plan.Plan
	waves  []int // by task; nil without barriers
	warn   func(error)
}

func (r *Session) pointed(inner scheduler.Runner, points *workspace.Points) pointed {
	p := pointed{Runner: inner, points: points, plan: r.plan, warn: func(err error) {
		fmt.Fprintln(r.opts.Err, "wavex: warning:", err)
	}}
	if r.config.Schedule != "eager" {
		p.waves, _ = r.plan.Waves()
	}
	return p
}

// Attempt makes no attempt when its checkpoint cannot be made.
func (p pointed) Attempt(ctx context.Context, req runner.Request) runner.Result {
	i, known := p.plan.Lookup(req.Task) // a task that joined the run later has none of its own
	wave := 1
	if known && p.waves != nil {
		wave = p.waves[i]
	}
	err := p.points.Wave(ctx, wave)
	point := known && hard(&p.plan.Tasks[i])
	if err == nil && point {
		err = p.points.Before(ctx, req.Task)
	}
	if cause := context.Cause(ctx); cause != nil {
		return runner.Result{Outcome: runner.Interrupted, Reason: cause.Error(), Contained: true}
	}
	if err != nil {
		return runner.Result{Outcome: runner.Broken, Reason: err.Error(), Contained: true}
	}
	res := p.Runner.Attempt(ctx, req)
	if point {
		p.keep(ctx, func(ctx context.Context) error { return p.points.After(ctx, req.Task) })
	}
	return res
}

var errLong = errors.New("the checkpoint took too long")

// keep makes a checkpoint of what is done, also when the run is being stopped.
func (p pointed) keep(ctx context.Context, point func(context.Context) error) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), lasting, errLong)
	defer cancel()
	if err := point(ctx); err != nil {
		p.warn(err)
	}
}
