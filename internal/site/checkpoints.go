package site

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

// Checkpoints puts checkpoints around the attempts of a loop that was wired, where the
// plan needs them and there is a repository; that there is none is told to warn. seal
// makes the last one, at the end of the run.
func (t *Site) Checkpoints(ctx context.Context, loop *scheduler.Loop, warn func(error)) (seal func()) {
	if t.config.Isolation == scheduler.Isolated || !hasHard(t.plan) {
		return func() {}
	}
	points, err := workspace.OpenPoints(ctx, t.config.Dir, t.config.Run, os.Environ())
	if err != nil {
		warn(fmt.Errorf("there are tasks that are hard to undo, and no checkpoints of them: %w", err))
		return func() {}
	}
	if err := points.Begin(ctx); err != nil {
		warn(err)
	}
	p := pointed{Runner: loop.Runner, points: points, plan: t.plan, warn: warn}
	if t.config.Schedule != "eager" {
		p.waves, _ = t.plan.Waves()
	}
	loop.Runner = p
	return func() { p.keep(ctx, points.End) }
}

// pointed is a runner that makes checkpoints before and after what the inner one does.
type pointed struct {
	scheduler.Runner
	points *workspace.Points
	plan   *plan.Plan
	waves  []int // by task; nil without barriers
	warn   func(error)
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
