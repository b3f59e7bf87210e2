// Package hearing prepares the cases of a run for experts: a panel for a stuck task, a challenge of
// a task that is hard to undo, reviewers of a wave or of the whole, and a judge for criteria in
// prose. It collects their material, runs the checks of criteria, stores the answers, and prices
// the questions that an earlier session left open. Package scheduler decides when they are asked
// and what follows; package counsel asks the experts and interprets their answers.
package hearing

import (
	"context"
	"os"
	"path/filepath"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/agent"
	"wavex/internal/plan"
	"wavex/internal/refuse"
	"wavex/internal/secret"
	"wavex/internal/site"
	"wavex/runner"
	"wavex/scheduler"
)

// Options configures a Hearing.
type Options struct {
	Plan    *plan.Plan
	Config  scheduler.Config
	Site    *site.Site // gives access to the work
	Agent   agent.Agent
	Who     *runner.Agent // asks
	Prices  budget.Prices
	Secrets *secret.Redactor
	Chair   bool  // one more call weighs opinions that differ
	OverAPI bool  // experts are asked over the Messages API instead of by Who
	Judge   Judge // judges the findings of a thorough review; nil: no judge
}

// Judge settles the findings of a thorough review, and may ask the panel about them. It is called
// from a review's own goroutine, one call at a time, and must return soon after ctx ends.
type Judge interface {
	Judge(ctx context.Context, p *counsel.Panel, c counsel.ReviewCase, r *counsel.Review)
}

// Hearing has all the experts of a run.
type Hearing struct {
	o     Options
	panel *counsel.Panel
}

// New reads the roster of experts. It returns a *refuse.UsageError if the roster is invalid.
func New(o Options) (*Hearing, error) {
	roster, err := counsel.LoadRoster(filepath.Join(o.Config.Loop, "experts"), o.Config.Blocked)
	if err != nil {
		return nil, refuse.Usage("%s", err)
	}
	h := &Hearing{o: o, panel: &counsel.Panel{Caller: o.Agent.Caller(o.Who), Experts: roster, Chair: o.Chair}}
	if o.OverAPI {
		h.panel.Caller = &counsel.API{BaseURL: os.Getenv("ANTHROPIC_BASE_URL"), Key: os.Getenv("ANTHROPIC_API_KEY"),
			Model: h.apiModel(), Prices: o.Prices, Secrets: o.Secrets}
		h.panel.Blind = true
	}
	return h, nil
}

// Wire sets the hearing's functions in a loop.
func (h *Hearing) Wire(loop *scheduler.Loop) {
	if h.o.Config.Counsel {
		loop.Panel = witness{h.panel, h}
	}
	loop.Case, loop.RecoverPanel = h.panelCase, h.recoverPanel
	loop.Review = h.review
	loop.Verify = h.verification
	loop.Asked = h.asked
	loop.Precheck = h.precheck
}
