package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/plan"
	"wavex/runner"
	"wavex/scheduler"
)

// This file makes checkpoints around tasks that are hard to undo, if tasks share the project
// directory. In worktrees each task's work is a commit anyway.

// saveTimeout limits the time of a checkpoint that is made while the run is being stopped.
const saveTimeout = time.Minute

// needsCheckpoint reports whether a task needs checkpoints.
func needsCheckpoint(t *plan.Task) bool { return t.Reversibility == "2B" || t.Reversibility == "1" }

// anyNeedsCheckpoint reports whether any task of p needs checkpoints.
func anyNeedsCheckpoint(p *plan.Plan) bool {
	for i := range p.Tasks {
		if needsCheckpoint(&p.Tasks[i]) {
			return true
		}
	}
	return false
}

// NewCheckpointer returns a Checkpointer for a run of plan. It makes checkpoints if the plan needs them, or a
// task that joins needs them, and there is a repository. If there is none it calls warn, from any goroutine.
func (t *Workspace) NewCheckpointer(ctx context.Context, plan *plan.Plan, warn func(error)) *Checkpointer {
	p := &Checkpointer{config: t.config, warn: warn, pending: map[string]pendingCheckpoint{}}
	if p.updatePlan(plan); p.needed {
		p.fromStart = true
		_, _ = p.open(ctx) // Attempt opens them again if this fails because the run stops
	}
	return p
}

// Checkpointer makes checkpoints before and after attempts in the shared directory.
type Checkpointer struct {
	config event.Config
	warn   func(error)

	// For the loop's goroutine only.
	checkedPlan *plan.Plan // the plan that hard was computed from
	needed      bool

	mu      sync.Mutex
	pending map[string]pendingCheckpoint // of attempts that are about to begin, by task

	openMu      sync.Mutex
	opened      bool // also if it failed
	checkpoints *gitwork.Checkpoints
	fromStart   bool // since the beginning of the run
}

// pendingCheckpoint lists the checkpoints that an attempt needs.
type pendingCheckpoint struct {
	wave int  // the task's wave; 0: no checkpoint of a wave
	task bool // the task itself needs checkpoints
}

// updatePlan computes whether a plan, which may have grown, has tasks that are hard to undo.
func (p *Checkpointer) updatePlan(now *plan.Plan) {
	if p.checkedPlan != now {
		p.checkedPlan, p.needed = now, p.config.Isolation != event.Isolated && anyNeedsCheckpoint(now)
	}
}

// Schedule records the checkpoints that the next attempt at task i needs. The loop's goroutine calls it,
// because its state has the tasks that joined the run, and their waves.
func (p *Checkpointer) Schedule(s *scheduler.State, i int) {
	if p.updatePlan(s.Plan); !p.needed {
		return
	}
	d := pendingCheckpoint{s.Tasks[i].Wave, needsCheckpoint(&s.Plan.Tasks[i])}
	if p.config.Schedule == event.Eager { // there are no waves, only the run
		if d.wave = 0; p.fromStart {
			d.wave = 1
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending[s.Plan.Tasks[i].ID] = d
}

// open opens the checkpoints, once. It returns nil without a repository, after one warning.
func (p *Checkpointer) open(ctx context.Context) (*gitwork.Checkpoints, error) {
	p.openMu.Lock()
	defer p.openMu.Unlock()
	if p.opened {
		return p.checkpoints, nil
	}
	points, err := gitwork.OpenCheckpoints(ctx, p.config.Dir, p.config.Run, os.Environ())
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	p.opened = true
	if err != nil {
		p.warn(fmt.Errorf("there are tasks that are hard to undo, and no checkpoints of them: %w", err))
		return nil, nil
	}
	if err := points.StartSession(ctx); err != nil {
		p.warn(err)
	}
	p.checkpoints = points
	return points, nil
}

// openedCheckpoints returns the checkpoints, or nil if they were not opened.
func (p *Checkpointer) openedCheckpoints() *gitwork.Checkpoints {
	p.openMu.Lock()
	defer p.openMu.Unlock()
	return p.checkpoints
}

// Seal makes the last checkpoint, at the end of the run.
func (p *Checkpointer) Seal(ctx context.Context) {
	if points := p.openedCheckpoints(); points != nil {
		p.save(ctx, points.EndSession)
	}
}

// Runner returns a Runner that makes the checkpoints of the attempts of inner.
func (p *Checkpointer) Runner(inner runner.Runner) runner.Runner { return checkpointed{inner, p} }

// checkpointed is a Runner that makes checkpoints before and after the attempts of its inner Runner.
type checkpointed struct {
	runner.Runner
	*Checkpointer
}

// Attempt fails the attempt if its checkpoint cannot be made.
func (p checkpointed) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	p.mu.Lock()
	d, asked := p.pending[req.Task]
	delete(p.pending, req.Task)
	p.mu.Unlock()
	if !asked {
		return p.Runner.Attempt(ctx, req, hooks)
	}
	points, err := p.open(ctx)
	if err == nil && points == nil {
		return p.Runner.Attempt(ctx, req, hooks)
	}
	if err == nil && d.wave > 0 {
		err = points.BeforeWave(ctx, d.wave)
	}
	if err == nil && d.task {
		err = points.BeforeTask(ctx, req.Task)
	}
	if cause := context.Cause(ctx); cause != nil {
		return runner.Result{Outcome: runner.Interrupted, Reason: cause.Error(), Contained: true}
	}
	if err != nil {
		return runner.Result{Outcome: runner.Broken, Reason: err.Error(), Contained: true}
	}
	res := p.Runner.Attempt(ctx, req, hooks)
	if d.task {
		p.save(ctx, func(ctx context.Context) error { return points.AfterTask(ctx, req.Task) })
	}
	return res
}

var errSaveTimeout = errors.New("the checkpoint took too long")

// save makes a checkpoint of finished work, even if the run is being stopped.
func (p *Checkpointer) save(ctx context.Context, point func(context.Context) error) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), saveTimeout, errSaveTimeout)
	defer cancel()
	if err := point(ctx); err != nil {
		p.warn(err)
	}
}
