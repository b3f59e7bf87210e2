package run

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/runner"
	"wavex/scheduler"
)

// This file pauses a run whose project's directory was moved or replaced. Paths of the run name the old place, so
// nothing starts any more. Work under way goes on in the open directory; its turn's end is recorded there, and its
// checks are left to a resume.

// obstacle returns the stop of a run whose project was moved, or nil.
func (r *Session) obstacle() *event.Stop {
	e := r.journal.Moved()
	if e == nil {
		return nil
	}
	advice := "put it back at that path, then resume"
	if path := r.opts.Plan.Path; e.To != "" && !planfile.IsList(path) {
		if rel, err := filepath.Rel(e.From, planfile.AbsPath(r.plan)); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		advice = fmt.Sprintf("nothing is lost: move it back and resume, or go on there: cd %s && %s",
			plan.ShellQuote(e.To), event.ResumeCommand(plan.ShellQuote(path), nil))
	}
	return event.NewStop(event.RunBlocked, e.Error(), advice)
}

// movedGuard is a Runner that blames no attempt for a project that was moved.
type movedGuard struct {
	runner.Runner
	moved func() error
}

func (g movedGuard) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	if err := g.moved(); err != nil {
		return runner.Result{Outcome: runner.Interrupted, Reason: "stopped before it began: " + err.Error(),
			Session: req.Session, Started: time.Now().UTC(), Contained: true}
	}
	if record := hooks.TurnEnded; record != nil {
		hooks.TurnEnded = func(t runner.Turn) error {
			if err := record(t); err != nil {
				return err
			}
			return g.moved()
		}
	}
	res := g.Runner.Attempt(ctx, req, hooks)
	err := g.moved()
	if err == nil || res.Outcome == runner.Done {
		return res
	}
	if res.Outcome != runner.Interrupted {
		res.Outcome, res.Reason, res.Signature = runner.Interrupted, "stopped: "+err.Error(), ""
	}
	res.Tampered, res.Violated = nil, nil // the files seem to be gone
	return res
}

// movedIntegrator is an Integrator that neither begins in a project that was moved, nor blames a task for it.
type movedIntegrator struct {
	scheduler.Integrator
	moved func() error
}

func (g movedIntegrator) Integrate(ctx context.Context, wave int, tasks []string) (scheduler.Integrated, error) {
	if err := g.moved(); err != nil {
		return scheduler.Integrated{}, err
	}
	got, err := g.Integrator.Integrate(ctx, wave, tasks)
	if moved := g.moved(); moved != nil && (err != nil || len(got.Culprits) > 0) {
		return scheduler.Integrated{}, moved
	}
	return got, err
}

func (g movedIntegrator) Deliver(ctx context.Context, complete bool) (event.DeliveryEnded, error) {
	if err := g.moved(); err != nil {
		return event.DeliveryEnded{}, err
	}
	return g.Integrator.Deliver(ctx, complete)
}

// verifyInPlace returns prepare with results only of checks that were made before the project was moved.
func (r *Session) verifyInPlace(prepare verifier) verifier {
	return func(s *scheduler.State, e event.CriteriaStarted) func(context.Context, func() bool) (scheduler.Verification,
		error) {
		work := prepare(s, e)
		return func(ctx context.Context, more func() bool) (v scheduler.Verification, err error) {
			if v, err = work(ctx, more); err == nil {
				err = r.movedError()
			}
			return v, err
		}
	}
}

// verifier is the type of scheduler.Loop.Verify.
type verifier = func(s *scheduler.State, e event.CriteriaStarted) func(ctx context.Context,
	more func() bool) (scheduler.Verification, error)
