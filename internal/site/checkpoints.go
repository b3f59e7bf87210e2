package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"wavex/internal/plan"
	"wavex/internal/workspace"
	"wavex/runner"
	"wavex/scheduler"
)

// This file makes checkpoints around tasks that are hard to undo, if tasks share the project
// directory. In worktrees each task's work is a commit anyway.

// lasting limits the time of a checkpoint that is made while the run is being stopped.
const lasting = time.Minute

// hard reports whether a task needs checkpoints.
func hard(t *plan.Task) bool { return t.Reversibility == "2B" || t.Reversibility == "1" }

// hasHard reports whether any task of p needs checkpoints.
func hasHard(p *plan.Plan) bool {
	for i := range p.Tasks {
		if hard(&p.Tasks[i]) {
			return true
		}
	}
	return false
}

// Checkpoints adds checkpoints around the attempts of a loop that was wired and has its Request. It
// makes them if the plan needs them, or a task that joins needs them, and there is a repository. If
// there is none it calls warn, from any goroutine. seal makes the last checkpoint, at the end of
// the run.
func (t *Site) Checkpoints(ctx context.Context, loop *scheduler.Loop, warn func(error)) (seal func()) {
	if t.config.Isolation == scheduler.Isolated {
		return func() {}
	}
	p := &pointed{Runner: loop.Runner, config: t.config, warn: warn, due: map[string]due{}}
	if p.see(loop.State.Plan); p.hard {
		p.whole = true
		_, _ = p.open(ctx) // Attempt opens them again if this fails because the run stops
	}
	request := loop.Request
	loop.Request = func(s *scheduler.State, i int, e scheduler.AttemptStarted) (runner.Request, error) {
		p.note(s, i)
		return request(s, i, e)
	}
	loop.Runner = p
	return func() {
		if points := p.made(); points != nil {
			p.keep(ctx, points.End)
		}
	}
}

// pointed is a Runner that makes checkpoints before and after the attempts of its inner Runner.
type pointed struct {
	scheduler.Runner
	config scheduler.Config
	warn   func(error)

	// For the loop's goroutine only.
	plan *plan.Plan // the plan that hard was computed from
	hard bool

	mu  sync.Mutex
	due map[string]due // of attempts that are about to begin, by task

	opening sync.Mutex
	opened  bool // also if it failed
	points  *workspace.Points
	whole   bool // since the beginning of the run
}

// due lists the checkpoints that an attempt needs.
type due struct {
	wave int  // the task's wave; 0: no checkpoint of a wave
	hard bool // the task itself needs checkpoints
}

// see computes whether a plan, which may have grown, has tasks that are hard to undo.
func (p *pointed) see(now *plan.Plan) {
	if p.plan != now {
		p.plan, p.hard = now, hasHard(now)
	}
}

// note records the checkpoints that the attempt at task i needs. The loop's goroutine calls it,
// because its state has the tasks that joined the run, and their waves.
func (p *pointed) note(s *scheduler.State, i int) {
	if p.see(s.Plan); !p.hard {
		return
	}
	d := due{s.Tasks[i].Wave, hard(&s.Plan.Tasks[i])}
	if p.config.Schedule == "eager" { // there are no waves, only the run
		if d.wave = 0; p.whole {
			d.wave = 1
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due[s.Plan.Tasks[i].ID] = d
}

// open opens the checkpoints, once. It returns nil without a repository, after one warning.
func (p *pointed) open(ctx context.Context) (*workspace.Points, error) {
	p.opening.Lock()
	defer p.opening.Unlock()
	if p.opened {
		return p.points, nil
	}
	points, err := workspace.OpenPoints(ctx, p.config.Dir, p.config.Run, os.Environ())
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	p.opened = true
	if err != nil {
		p.warn(fmt.Errorf("there are tasks that are hard to undo, and no checkpoints of them: %w", err))
		return nil, nil
	}
	if err := points.Begin(ctx); err != nil {
		p.warn(err)
	}
	p.points = points
	return points, nil
}

// made returns the checkpoints, or nil if they were not opened.
func (p *pointed) made() *workspace.Points {
	p.opening.Lock()
	defer p.opening.Unlock()
	return p.points
}

// Attempt fails the attempt if its checkpoint cannot be made.
func (p *pointed) Attempt(ctx context.Context, req runner.Request) runner.Result {
	p.mu.Lock()
	d, asked := p.due[req.Task]
	delete(p.due, req.Task)
	p.mu.Unlock()
	if !asked {
		return p.Runner.Attempt(ctx, req)
	}
	points, err := p.open(ctx)
	if err == nil && points == nil {
		return p.Runner.Attempt(ctx, req)
	}
	if err == nil && d.wave > 0 {
		err = points.Wave(ctx, d.wave)
	}
	if err == nil && d.hard {
		err = points.Before(ctx, req.Task)
	}
	if cause := context.Cause(ctx); cause != nil {
		return runner.Result{Outcome: runner.Interrupted, Reason: cause.Error(), Contained: true}
	}
	if err != nil {
		return runner.Result{Outcome: runner.Broken, Reason: err.Error(), Contained: true}
	}
	res := p.Runner.Attempt(ctx, req)
	if d.hard {
		p.keep(ctx, func(ctx context.Context) error { return points.After(ctx, req.Task) })
	}
	return res
}

var errLong = errors.New("the checkpoint took too long")

// keep makes a checkpoint of finished work, even if the run is being stopped.
func (p *pointed) keep(ctx context.Context, point func(context.Context) error) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), lasting, errLong)
	defer cancel()
	if err := point(ctx); err != nil {
		p.warn(err)
	}
}
