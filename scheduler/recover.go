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

// This file closes what an earlier session left open, before anything new is decided.

// recover closes what an earlier session left open: its attempts were interrupted,
// which is nobody's fault, but their money is spent.
func (r *running) recover(ctx context.Context) error {
	for _, key := range slices.Sorted(maps.Keys(r.s.open)) {
		var b Body
		switch o := r.s.open[key].(type) {
		case AttemptStarted:
			res := lost(o.Cap)
			if r.Recover != nil {
				res = r.Recover(ctx, o)
			}
			end := AttemptEnded{Task: o.Task, Key: o.Key, Attempt: o.Attempt, Result: res, Status: Pending,
				Continue: res.Session != "" && res.Turns > 0, Note: "interrupted with the earlier session"}
			if i, ok := r.s.Index(o.Task); ok {
				end.Stuck = r.s.Tasks[i].Stuck
			}
			b = end
		case CounselStarted:
			v := counsel.Verdict{Unavailable: "interrupted with the earlier session", Cost: o.Cap}
			if r.RecoverPanel != nil {
				v = r.RecoverPanel(ctx, o)
			}
			b = CounselEnded{Task: o.Task, Panel: o.Panel, Verdict: v}
		case PrecheckStarted:
			b = PrecheckEnded{Task: o.Task, Key: o.Key, N: o.N, Challenge: counsel.Challenge{Error: "interrupted with the earlier session",
				Failure: runner.Interrupted, Cost: r.asked(ctx, key, o.Cap)}}
		case CriteriaStarted:
			b = CriteriaEnded{Round: o.Round, Wave: o.Wave, Cost: r.asked(ctx, key, o.Cap), Error: "interrupted with the earlier session"}
		case ReviewStarted:
			b = ReviewEnded{N: o.N, Mode: o.Mode, Wave: o.Wave, Round: o.Round,
				Review: counsel.Review{Error: "interrupted with the earlier session", Failure: runner.Interrupted, Cost: r.asked(ctx, key, o.Cap)}}
		}
		if err := r.stage(b); err != nil {
			return err
		}
	}
	return r.flush()
}

// asked is what the calls of a review or verification had cost when their session ended.
func (r *running) asked(ctx context.Context, key string, limit budget.USD) budget.USD {
	if r.Asked == nil {
		return limit
	}
	return r.Asked(ctx, strings.TrimPrefix(key, "/"), limit)
}
