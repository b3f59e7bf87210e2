package scheduler

import "wavex/runner"

// Fleet is how many attempts may run side by side just now. It begins with a slow
// start, so that a wide wave does not burst upon the API; each success then allows one
// more. The first refusal ends that: from there it halves at each refusal and grows
// by one for each round of successes. After a usage limit a single probe goes first.
// It knows nothing of money and of tasks.
type Fleet struct {
	Limit  int // attempts and panels side by side, 1 to Max
	Max    int
	steady bool // the slow start is over
	calm   int  // successes since the last change
}

// firstFleet is how many may start in one instant. Ten at once are where users of
// other tools saw bursts refused.
const firstFleet = 8

func newFleet(limit int) Fleet {
	limit = max(1, limit)
	return Fleet{Limit: min(limit, firstFleet), Max: limit}
}

// after is the fleet once an attempt has ended.
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
