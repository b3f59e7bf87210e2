package workspace

import (
	"context"
	"fmt"

	"wavex/runner"
)

// Attempts is the Runner of a session. It has the steps of an attempt around its turn and its checks.
type Attempts struct {
	Workspace   *Workspace
	Checkpoints *Checkpointer
	Make        runner.Runner // makes the turn and the checks, here or on another machine
	// Guard begins to look at files that no agent may change. The caller must call end, also after an error, which means
	// that the attempt cannot begin. nil: nothing is looked at.
	Guard func(req runner.Request, hooks *runner.Hooks) (end func(*runner.Result), err error)
	// Traces returns the environment of an attempt with the variables of a trace; nil: there is none.
	Traces interface {
		Env(runner.Request) map[string]string
	}
}

// Attempt makes an attempt. The steps end in the reverse order.
func (a *Attempts) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) (res runner.Result) {
	if a.Guard != nil && req.Command == "" { // the plan's author wrote a command
		end, err := a.Guard(req, &hooks)
		defer func() { end(&res) }()
		if err != nil {
			return runner.CannotBegin(err)
		}
	}
	end, err := a.Checkpoints.begin(ctx, req.Task)
	switch cause := context.Cause(ctx); {
	case err != nil && cause != nil:
		return runner.Result{Outcome: runner.Interrupted, Reason: cause.Error(), Contained: true}
	case err != nil:
		return runner.CannotBegin(err)
	}
	defer end()
	if err := a.Workspace.releaseFailed(ctx); err != nil && context.Cause(ctx) == nil {
		res = runner.CannotBegin(fmt.Errorf("keeping what a failed task left: %w", err))
		res.Session = req.Session
		return res
	}
	leave, res := a.Workspace.Enter(ctx, &req, &hooks)
	if leave == nil {
		return res
	}
	defer func() { leave(&res) }()
	if a.Traces != nil {
		req.Env = a.Traces.Env(req)
	}
	return a.Make.Attempt(ctx, req, hooks)
}
