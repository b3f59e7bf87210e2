package scheduler

import "wavex/runner"

// Fleet is how many attempts may run side by side just now: additive increase,
// multiplicative decrease, as the API throttles us or lets us through. It knows
// nothing of money and of tasks.
type Fleet struct {
	Limit int // attempts and panels side by side, 1 to Max
	Max   int
	calm  int // successes since the last change
}

func newFleet(limit int) Fleet { limit = max(1, limit); return Fleet{Limit: limit, Max: limit} }

// after is the fleet once an attempt has ended.
func (f Fleet) after(o runner.Outcome) Fleet {
	switch o {
	case runner.Throttled, runner.Limited:
		return Fleet{Limit: max(1, f.Limit/2), Max: f.Max}
	case runner.Interrupted, runner.Unauthorised, runner.Broken:
		return f
	}
	f.calm++
	if f.calm >= f.Limit && f.Limit < f.Max {
		return Fleet{Limit: f.Limit + 1, Max: f.Max}
	}
	return f
}
