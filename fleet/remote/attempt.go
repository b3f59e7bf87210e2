package remote

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"time"

	"wavex/budget"
	"wavex/internal/plan"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// attempt is one call of Attempt.
type attempt struct {
	*Runner
	id    string
	req   runner.Request
	hooks runner.Hooks
	began time.Time

	observed runner.Observation // the last one
	taken    atomic.Bool        // a worker has told its progress
	worker   string             // the last that has told its progress; "": none
	cost     budget.USD         // so far, as the worker has told
	turn     *runner.Turn       // the reported end of the turn
}

// ended returns the result of an attempt that cost nothing.
func ended(o runner.Outcome, format string, args ...any) runner.Result {
	reason := textfmt.OneLine(fmt.Sprintf(format, args...), runner.ReasonMax)
	return runner.Result{Outcome: o, Reason: reason, Contained: true}
}

// atCap sets the cost of an attempt whose cost is unknown.
func (a *attempt) atCap(res runner.Result) runner.Result {
	res.Cost, res.Worker = max(a.req.Cap, a.cost), a.worker
	if res.Cost > 0 {
		res.Priced = "cap"
	}
	return res
}

// runLimit bounds the time of an attempt with its checks. The worker itself keeps the limits of the plan, so the engine
// needs runLimit only for a worker that does not.
func runLimit(req *runner.Request) time.Duration {
	limit := cmp.Or(req.Settings.Timeout, plan.DefaultTimeout) + 10*time.Minute
	for _, c := range req.Checks {
		limit += 2 * cmp.Or(c.Timeout, plan.DefaultTimeLimit) // before and after the turn
	}
	return limit
}
