// Package review prepares the cases of a run for experts: a panel for a stuck task, a challenge of
// a task that is hard to undo, reviewers of a wave or of the whole, and a judge for criteria in
// prose. It collects their material, runs the checks of criteria and stores the answers. Package
// scheduler decides when they are asked and what follows; package counsel asks the experts and
// interprets their answers.
package review

import (
	"context"

	"wavex/counsel"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/workspace"
	"wavex/runner"
	"wavex/scheduler"
)

// Options configures a Coordinator.
type Options struct {
	Plan      *plan.Plan
	Config    event.Config
	Workspace *workspace.Workspace // gives access to the work
	Agent     agent.Agent
	Caller    counsel.Caller // asks the agent
	Redactor  runner.Redactor
	Judge     Judge // nil: no judge

	Checkpoints *gitwork.Checkpoints // of a shared directory; nil: there are none
}

// Judge settles the findings of a thorough review. It is called from a review's own goroutine, one call at a time, and
// must return soon after ctx ends.
type Judge func(ctx context.Context, r *counsel.Review)

// Coordinator has all the experts of a run.
type Coordinator struct {
	opts  Options
	panel *counsel.Panel
}

// New reads the roster of experts. It returns an error if it cannot use the roster.
func New(o Options) (*Coordinator, error) {
	roster, err := counsel.LoadRoster(o.Config.Loop.Path(loop.Experts))
	if err != nil {
		return nil, err
	}
	return &Coordinator{opts: o, panel: &counsel.Panel{Caller: o.Caller, Experts: roster}}, nil
}

// Panel returns the panel for stuck tasks, or nil if the run has none.
func (h *Coordinator) Panel() scheduler.Panel {
	if !h.opts.Config.Counsel {
		return nil
	}
	return diffPanel{h.panel, h}
}
