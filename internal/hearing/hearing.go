// Package hearing puts a run's cases before those who judge: a panel for a stuck task,
// experts against one that is hard to undo, reviewers of a wave or of the whole, a judge
// for criteria in prose. It gathers what they are shown, makes the checks of criteria,
// keeps what was said, and prices what an earlier session left open. When they are heard,
// and what follows from what they say, package scheduler decides; how experts are asked,
// and what their answers mean, is counsel's.
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

// Options are what a hearing is made of.
type Options struct {
	Plan    *plan.Plan
	Config  scheduler.Config
	Site    *site.Site // where the work is
	Agent   agent.Agent
	Who     *runner.Agent // asks
	Prices  budget.Prices
	Secrets *secret.Redactor
	Chair   bool  // one more call weighs opinions that disagree
	OverAPI bool  // experts are asked over the Messages API instead of by Who
	Judge   Judge // of what a thorough review finds; nil: nobody
}

// Judge settles the findings of a thorough review, and may ask the panel about them. It
// is called from a goroutine of a review's own, one at a time, and returns soon after
// ctx ends.
type Judge interface {
	Judge(ctx context.Context, p *counsel.Panel, c counsel.ReviewCase, r *counsel.Review)
}

// Hearing is all who judge in a run.
type Hearing struct {
	o     Options
	panel *counsel.Panel
}

// New reads the roster of experts. A wrong one is a *refuse.UsageError.
func New(o Options) (*Hearing, error) {
	roster, err := counsel.LoadRoster(filepath.Join(o.Config.Loop, "experts"), o.Config.Blocked)
	if err != nil {
		return nil, refuse.Usage("%s", err)
	}
	h := &Hearing{o: o, panel: &counsel.Panel{Caller: o.Agent.Caller(o.Who), Experts: roster, Chair: o.Chair}}
	if o.OverAPI {
		h.panel.Caller = &counsel.API{BaseURL: os.Getenv("ANTHROPIC_BASE_URL"), Key: os.Getenv("ANTHROPIC_API_KEY"), Model: h.apiModel(), Prices: o.Prices, Secrets: o.Secrets}
		h.panel.Blind = true
	}
	return h, nil
}

// Wire puts it into a loop.
func (h *Hearing) Wire(loop *scheduler.Loop) {
	if h.o.Config.Counsel {
		loop.Panel = witness{h.panel, h}
	}
	loop.Case, loop.RecoverPanel = h.panelCase, h.recoverPanel
	loop.Review, loop.Verify, loop.Asked, loop.Precheck = h.review, h.verification, h.asked, h.precheck
}
