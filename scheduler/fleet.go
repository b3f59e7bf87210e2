package scheduler

import "wavex/runner"

// Fleet adapts the number of concurrent attempts to the API. It begins with a slow start, so that a
// wide wave does not send a burst to the API; each success then adds one. each success then adds
// one. The first refusal ends the slow start. From then on, each throttling halves the limit and
// each round of successes adds one. From then on, each throttling halves the limit and each round
// of successes adds one. After a usage limit one attempt starts alone. Fleet does not handle money
// or tasks.
type Fleet struct {
	Limit  int // limit of concurrent attempts and panels, 1 to Max
	Max    int
	steady bool // the slow start is over
	calm   int  // successes since the last change
}

// firstFleet is the number of attempts that may start at once. Users of other tools report that
// bursts of ten are refused.
const firstFleet = 8

func newFleet(limit int) Fleet {
	limit = max(1, limit)
	return Fleet{Limit: min(limit, firstFleet), Max: limit}
}

// after returns the fleet after an attempt has ended.
func (f Fleet) after(o runner.Outcome) Fleet {
	switch o {
	case runner.Throttled:
		return Fleet{Limit: max(1, f.Limit/2), Max: f.Max, steady: true}
	case runner.Limited:
		return Fleet{Limit: 1, Max: f.Max, steady: true}
	case runner.Interrupted, runner.Unauthorised, runner.Broken:
		return f
	}
	f.calm++
	if f.Limit < f.Max && (!f.steady || f.calm >= f.Limit) {
		f.Limit, f.calm = f.Limit+1, 0
	}
	return f
}
