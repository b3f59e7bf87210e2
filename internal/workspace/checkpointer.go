package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/safefile"
	"wavex/internal/secret"
	"wavex/runner"
	"wavex/scheduler"
)

// This file makes checkpoints of a shared directory: before the run, and around tasks that are hard to undo. In
// worktrees each task's work is a commit anyway.

// saveTimeout limits the time of a checkpoint at the end of an attempt or a session, and interruptedSave the time that
// remains for it when the run is interrupted.
const (
	saveTimeout     = time.Minute
	interruptedSave = 1500 * time.Millisecond
)

// maxNew bounds the contents that the checkpoints of a plan without tasks that need them add, in bytes.
const maxNew = 64 << 20

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

// NewCheckpointer returns a Checkpointer for the run. It makes a checkpoint before the first attempt of a run in a
// git checkout, and more if tasks of the plan need them. It saves the files in .loop, unless no task has an agent, or
// base, the commit that the run began on, is "". It calls warn from any goroutine if there is no checkpoint.
func (t *Workspace) NewCheckpointer(ctx context.Context, base string, warn func(error)) *Checkpointer {
	costs := false
	for task := range t.plan.AllTasks() {
		costs = costs || task.Command == ""
	}
	if !costs { // to make the files of commands again
		base = ""
	}
	p := &Checkpointer{config: t.config, base: base, warn: warn, pending: map[string]pendingCheckpoint{}}
	if t.config.Isolation == event.Isolated {
		return p
	}
	index := t.config.Loop.Run(t.config.Run, loop.Index)
	_ = safefile.RemoveAll(index) // a session that was killed has left it
	if p.Checkpoints, p.none = gitwork.OpenCheckpoints(ctx, t.config.Dir, t.config.Run, os.Environ()); p.none == nil {
		p.Checkpoints.IndexDir = index
	}
	return p
}

// Checkpointer makes checkpoints before and after attempts in the shared directory.
type Checkpointer struct {
	Checkpoints *gitwork.Checkpoints // nil: there are none

	config event.Config
	base   string // the commit that the run began on; "": the files are not saved in .loop
	warn   func(error)
	none   error // why there are none

	// For the loop's goroutine only.
	checkedPlan *plan.Plan // the plan that needed was computed from
	needed      bool
	scheduled   bool

	session sessionStart // set before the first attempt

	mu      sync.Mutex
	pending map[string]pendingCheckpoint // of attempts that are about to begin, by task

	openMu      sync.Mutex
	opened      bool                 // also if it failed
	checkpoints *gitwork.Checkpoints // in use
	runOnce     sync.Once            // reports on the checkpoint before the run
	unsealed    bool                 // the end of the session gets no checkpoint; guarded by openMu
}

// sessionStart holds facts about the first attempt of a session.
type sessionStart struct {
	needed bool // tasks of the plan needed checkpoints
	begun  bool // an earlier attempt of the run may have changed files
}

// pendingCheckpoint is the checkpoint that is due before an attempt.
type pendingCheckpoint struct {
	wave  int  // the task's wave, 1 for the run
	carry int  // the wave before which the files are saved, 1 for none
	task  bool // the task itself needs checkpoints
}

// updatePlan finds out whether any of the tasks, which may be more than before, needs checkpoints.
func (p *Checkpointer) updatePlan(now *plan.Plan) {
	if p.checkedPlan != now {
		p.checkedPlan, p.needed = now, anyNeedsCheckpoint(now)
	}
}

// Schedule records the checkpoint that is due before the attempt at task i. The loop's goroutine calls it
// before the attempt's Attempt.
func (p *Checkpointer) Schedule(s *scheduler.State, i int) {
	if p.config.Isolation == event.Isolated || p.config.MadeUp {
		return
	}
	p.updatePlan(s.Plan)
	if !p.scheduled {
		p.scheduled, p.session = true, sessionStart{p.needed, begun(s)}
	}
	wave := s.Tasks[i].Wave
	d := pendingCheckpoint{wave, wave, needsCheckpoint(&s.Plan.Tasks[i])}
	if p.config.Schedule == event.Eager { // waves have no checkpoints, only the run
		d.wave, d.carry = 1, 1
	} else if !p.needed {
		d.wave = 1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending[s.Plan.Tasks[i].ID] = d
}

// begun reports whether an attempt of the run may have changed files. An agent that was interrupted before its first
// response did not.
func begun(s *scheduler.State) bool {
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if last := t.Last; t.Turn != nil || last != nil && (last.Outcome != runner.Interrupted || last.Turns > 0 ||
			last.Cost > 0 || s.Plan.Tasks[i].Command != "") {
			return true
		}
	}
	return false
}

// open returns the checkpoints of the run, or nil if there are none. The error is the cause of the end of ctx.
func (p *Checkpointer) open(ctx context.Context, d pendingCheckpoint) (*gitwork.Checkpoints, error) {
	p.openMu.Lock()
	defer p.openMu.Unlock()
	if p.opened {
		return p.checkpoints, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	p.opened = true
	points := p.Checkpoints
	if points == nil {
		if p.session.needed || d.task {
			p.warn(fmt.Errorf("there are tasks that are hard to undo, and no checkpoints of them: %w", p.none))
		}
		return nil, nil
	}
	points.Own, points.Warn = p.config.Outputs, p.warn
	if !p.session.needed {
		points.MaxNew = maxNew
	}
	if p.base != "" {
		secrets := secret.New(os.Environ()).Data()
		points.HasSecret = func(text []byte) bool { return !bytes.Equal(secrets.Bytes(text), text) }
		if err := points.OpenBundles(p.config.Loop, p.base); err != nil {
			return nil, err
		}
	}
	if err := points.SetRanHere(ctx); err != nil { // before any work
		p.warn(err)
	}
	if err := points.StartSession(ctx); err != nil {
		p.unsealed = true // the changes of others since the last session would count as the run's
		p.warn(err)
	}
	if p.session.begun {
		if has, err := points.HasRun(ctx); err != nil || !has {
			p.unsealed = true
			p.warn(errors.Join(errNoRunCheckpoint, err))
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	p.checkpoints = points
	return points, nil
}

// errNoRunCheckpoint means that the run began without a checkpoint: it could not be made, or was interrupted.
var errNoRunCheckpoint = errors.New("there is no checkpoint from before this run; `wavex rollback run` cannot undo it")

// Seal makes the checkpoint at the end of a session, after the last attempt. If the run was interrupted, little time
// remains for it.
func (p *Checkpointer) Seal(ctx context.Context, interrupted bool) {
	defer func() { _ = safefile.RemoveAll(p.config.Loop.Run(p.config.Run, loop.Index)) }()
	p.openMu.Lock()
	points, unsealed := p.checkpoints, p.unsealed
	p.openMu.Unlock()
	if points == nil {
		return
	}
	limit := saveTimeout
	if interrupted {
		limit = interruptedSave
	}
	p.save(ctx, limit, func(ctx context.Context) error {
		if unsealed {
			return points.Carry(ctx)
		}
		return errors.Join(points.EndSession(ctx), points.Carry(ctx))
	})
}

// begin makes the checkpoints that Schedule recorded before an attempt. An error is the cause of the end of ctx, or
// means that the attempt cannot begin. Else the caller must call end after the attempt.
func (p *Checkpointer) begin(ctx context.Context, task string) (end func(), err error) {
	p.mu.Lock()
	d, asked := p.pending[task]
	delete(p.pending, task)
	p.mu.Unlock()
	var points *gitwork.Checkpoints
	if asked {
		points, err = p.open(ctx, d)
	}
	if points == nil {
		return func() {}, err
	}
	if err = p.beforeWave(ctx, points, d); err == nil && d.task {
		err = points.BeforeTask(ctx, task)
	}
	if err == nil && d.carry > 1 {
		points.CarryBeforeWave(ctx, d.carry)
	}
	return func() {
		if d.task {
			p.save(ctx, saveTimeout, func(ctx context.Context) error { return points.AfterTask(ctx, task) })
		}
	}, cmp.Or(context.Cause(ctx), err)
}

// beforeWave makes the checkpoint of a wave or of the run. If no task needed checkpoints when the session began, an
// attempt starts without it.
func (p *Checkpointer) beforeWave(ctx context.Context, points *gitwork.Checkpoints, d pendingCheckpoint) error {
	if d.wave == 1 && p.session.begun {
		return nil
	}
	err := points.BeforeWave(ctx, d.wave)
	if context.Cause(ctx) != nil || err != nil && p.session.needed {
		return err
	}
	switch {
	case err == nil:
	case d.wave > 1:
		p.warn(err)
	default:
		p.runOnce.Do(func() {
			p.openMu.Lock()
			p.unsealed = true
			p.openMu.Unlock()
			p.warn(fmt.Errorf("%w: %w", errNoRunCheckpoint, err))
		})
	}
	return nil
}

var errSaveTimeout = errors.New("the checkpoint took too long")

// save makes a checkpoint within limit although ctx may have ended, because the files that an interrupted attempt left
// are on disk. After the end of ctx, interruptedSave remains for it.
func (p *Checkpointer) save(ctx context.Context, limit time.Duration, point func(context.Context) error) {
	saving, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, errSaveTimeout)
	defer cancel()
	saving, interrupt := context.WithCancelCause(saving)
	defer interrupt(nil)
	defer context.AfterFunc(ctx, func() { time.AfterFunc(interruptedSave, func() { interrupt(errSaveTimeout) }) })()
	if err := point(saving); err != nil {
		p.warn(err)
	}
}
