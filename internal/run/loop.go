package run

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"wavex/internal/event"
	"wavex/internal/review"
	"wavex/internal/statefiles"
	"wavex/internal/workspace"
	"wavex/runner"
	"wavex/scheduler"
)

// parts are the parts of a session that its loop needs.
type parts struct {
	runner      runner.Runner // makes attempts, here or on other machines
	traces      Traces        // nil: there are none
	files       *statefiles.Writer
	checkpoints *workspace.Checkpointer
	reviews     *review.Coordinator
	views       []scheduler.View // nil: not used
}

// newLoop returns the loop of a session.
func (r *Session) newLoop(c Console, p parts) *scheduler.Loop {
	attempts := &workspace.Attempts{Workspace: r.workspace, Checkpoints: p.checkpoints, Traces: p.traces, Make: p.runner}
	var lateCosts func(context.Context, []event.CostCorrected) []event.CostCorrected
	if r.isElsewhere() {
		lateCosts = r.lateCosts
	} else { // agents elsewhere cannot change the plan and .loop, and a person may
		attempts.Guard = r.newTamperDetector(p.files).begin
	}
	return &scheduler.Loop{
		State: r.state, StartEvent: r.startEvent, Journal: restoreWarner{r.journal, r.opts.Err},
		Runner: attempts, Integrator: r.workspace.Integrator(), Obstacle: r.obstacle,
		Views:   slices.DeleteFunc(p.views, func(v scheduler.View) bool { return v == nil }),
		Signals: c.Signals, Approver: c.Approver,
		Request: func(s *scheduler.State, i int, e event.AttemptStarted) (runner.Request, error) {
			p.checkpoints.Schedule(s, i)
			return r.attemptRequest(s, i, e)
		},
		Items:   r.items,
		Recover: r.recovery, LateCosts: lateCosts,
		Panel: p.reviews.Panel(), Case: p.reviews.PreparePanel,
		Review: p.reviews.PrepareReview, Verify: p.reviews.PrepareVerification, Precheck: p.reviews.PreparePrecheck,
		Redact: func(b event.Body) event.Body { return event.Redact(b, r.opts.Redactor.Value) },
		Now:    time.Now, Jitter: rand.Float64,
		// One more than the number of processors keeps them busy during the fsyncs of the journal.
		BatchAbove: runtime.GOMAXPROCS(0) + 1, BatchDelay: 2 * time.Millisecond, SyncDelay: 10 * time.Millisecond,
	}
}
