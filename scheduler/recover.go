package scheduler

import (
	"context"
	"maps"
	"slices"
	"strings"

	"wavex/budget"
	"wavex/counsel"
	"wavex/runner"
)

// This file closes open work of an earlier session before any new decision.

// Sources return the results of work that an earlier session started and did not end. Each may be
// nil: the work then counts at its cap.
type Sources struct {
	Attempt func(AttemptStarted) runner.Result
	Panel   func(CounselStarted) counsel.Verdict
	// Asked returns the cost of the calls of a review ("review-3"), a verification ("criteria-1")
	// or a challenge, at most limit if it is unknown.
	Asked func(name string, limit budget.USD) budget.USD
}

const withSession = "interrupted with the earlier session"

// Lost returns the ends of all open work. It was interrupted, which is no fault of the tasks, but
// its money is spent.
func (s *State) Lost(from Sources) []Body {
	asked := func(key string, limit budget.USD) budget.USD {
		if from.Asked == nil {
			return limit
		}
		return from.Asked(strings.TrimPrefix(key, "/"), limit)
	}
	var ends []Body
	for _, key := range slices.Sorted(maps.Keys(s.open)) {
		var b Body
		switch o := s.open[key].(type) {
		case AttemptStarted:
			res := lost(o.Cap)
			if from.Attempt != nil {
				res = from.Attempt(o)
			}
			end := AttemptEnded{Task: o.Task, Key: o.Key, Attempt: o.Attempt, Result: res, Status: Pending,
				Continue: res.Session != "" && res.Turns > 0, Note: withSession}
			if i, ok := s.Index(o.Task); ok {
				end.Stuck = s.Tasks[i].Stuck
			}
			b = end
		case CounselStarted:
			v := counsel.Verdict{Unavailable: withSession, Cost: o.Cap}
			if from.Panel != nil {
				v = from.Panel(o)
			}
			b = CounselEnded{Task: o.Task, Panel: o.Panel, Verdict: v}
		case PrecheckStarted:
			b = PrecheckEnded{Task: o.Task, Key: o.Key, N: o.N, Challenge: counsel.Challenge{Error: withSession,
				Failure: runner.Interrupted, Cost: asked(key, o.Cap)}}
		case CriteriaStarted:
			b = CriteriaEnded{Round: o.Round, Wave: o.Wave, Cost: asked(key, o.Cap), Error: withSession}
		case ReviewStarted:
			b = ReviewEnded{N: o.N, Mode: o.Mode, Wave: o.Wave, Round: o.Round,
				Review: counsel.Review{Error: withSession, Failure: runner.Interrupted, Cost: asked(key, o.Cap)}}
		default:
			continue // an integration or a delivery costs nothing
		}
		ends = append(ends, b)
	}
	return ends
}

// recover records the ends of the open work of an earlier session.
func (r *running) recover(ctx context.Context) error {
	var from Sources
	if r.Recover != nil {
		from.Attempt = func(e AttemptStarted) runner.Result { return r.Recover(ctx, e) }
	}
	if r.RecoverPanel != nil {
		from.Panel = func(e CounselStarted) counsel.Verdict { return r.RecoverPanel(ctx, e) }
	}
	if r.Asked != nil {
		from.Asked = func(name string, limit budget.USD) budget.USD { return r.Asked(ctx, name, limit) }
	}
	for _, b := range r.s.Lost(from) {
		if err := r.stage(b); err != nil {
			return err
		}
	}
	if err := r.recoverSpares(ctx); err != nil {
		return err
	}
	return r.flush()
}
