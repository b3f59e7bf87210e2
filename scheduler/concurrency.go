package scheduler

import "wavex/runner"

// Limiter adapts the number of concurrent attempts to the API. It begins with a slow start, so that a
// wide wave does not send a burst to the API; each success then adds one. The first refusal ends the
// slow start. From then on, each throttling halves the limit and each round of successes adds one.
// After a usage limit one attempt starts alone.
type Limiter struct {
	Limit     int // limit of concurrent attempts and panels, 1 to Max
	Max       int
	steady    bool // the slow start is over
	successes int  // successes since the last change
}

// initialLimit is the number of attempts that may start at once. Users of other tools report that
// bursts of ten are refused.
const initialLimit = 8

func newLimiter(limit int) Limiter {
	limit = max(1, limit)
	return Limiter{Limit: min(limit, initialLimit), Max: limit}
}

// afterOutcome returns the fleet after an attempt has ended.
func (f Limiter) afterOutcome(o runner.Outcome) Limiter {
	switch o {
	case runner.Throttled:
		return Limiter{Limit: max(1, f.Limit/2), Max: f.Max, steady: true}
	case runner.Limited:
		return Limiter{Limit: 1, Max: f.Max, steady: true}
	case runner.Interrupted, runner.Unauthorised, runner.Broken:
		return f
	}
	f.successes++
	if f.Limit < f.Max && (!f.steady || f.successes >= f.Limit) {
		f.Limit, f.successes = f.Limit+1, 0
	}
	return f
}
