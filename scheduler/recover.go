package scheduler

import (
	"context"
	"maps"
	"slices"
	"strings"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
)

// This file closes open work of an earlier session before any new decision.

// RecoveredWork return the results of work that an earlier session started and did not end. Each may be
// nil: the work then counts at its cap.
type RecoveredWork struct {
	Attempt func(event.AttemptStarted) runner.Result
	Panel   func(event.CounselStarted) counsel.Verdict
	// Cost returns the cost of the calls of a review ("review-3"), a verification ("criteria-1")
	// or a challenge, at most limit if it is unknown.
	Cost func(name string, limit budget.USD) budget.USD
}

const interruptedEarlier = "interrupted with the earlier session"

// SettleUnfinished returns the ends of all open work. It was interrupted, which is no fault of the tasks, but
// its money is spent.
func (s *State) SettleUnfinished(from RecoveredWork) []event.Body {
	asked := func(key string, limit budget.USD) budget.USD {
		if from.Cost == nil {
			return limit
		}
		return from.Cost(strings.TrimPrefix(key, "/"), limit)
	}
	var ends []event.Body
	for _, key := range slices.Sorted(maps.Keys(s.openWork)) {
		var b event.Body
		switch o := s.openWork[key].(type) {
		case event.AttemptStarted:
			b = s.endInterruptedAttempt(o, nil, from)
		case openChecks:
			b = s.endInterruptedAttempt(o.AttemptStarted, &o.turn, from)
		case event.CounselStarted:
			v := counsel.Verdict{Unavailable: interruptedEarlier, Cost: o.Cap}
			if from.Panel != nil {
				v = from.Panel(o)
			}
			b = event.CounselEnded{Task: o.Task, Panel: o.Panel, Verdict: v}
		case event.PrecheckStarted:
			b = event.PrecheckEnded{Task: o.Task, Key: o.Key, N: o.N, Challenge: counsel.Challenge{Error: interruptedEarlier,
				Failure: runner.Interrupted, Cost: asked(key, o.Cap)}}
		case event.CriteriaStarted:
			b = event.CriteriaEnded{Round: o.Round, Wave: o.Wave, Cost: asked(key, o.Cap), Error: interruptedEarlier}
		case event.ReviewStarted:
			b = event.ReviewEnded{N: o.N, Mode: o.Mode, Wave: o.Wave, Round: o.Round,
				Review: counsel.Review{Error: interruptedEarlier, Failure: runner.Interrupted, Cost: asked(key, o.Cap)}}
		default:
			continue // an integration or a delivery costs nothing
		}
		ends = append(ends, b)
	}
	return ends
}

// endInterruptedAttempt returns the end of an open attempt. turn is its turn, if that has ended.
func (s *State) endInterruptedAttempt(o event.AttemptStarted, turn *runner.Turn, from RecoveredWork) event.Body {
	res := lostResult(o.Cap)
	if from.Attempt != nil {
		res = from.Attempt(o)
	}
	if turn != nil {
		contained := res.Contained
		res = turn.Result
		res.Outcome, res.Reason, res.Contained = runner.Interrupted, "wavex ended before the checks did", contained
	}
	end := event.AttemptEnded{Task: o.Task, Key: o.Key, Attempt: o.Attempt, Result: res, Status: event.Pending,
		Charged: turn != nil, Continue: turn == nil && res.Session != "" && res.Turns > 0, Note: interruptedEarlier}
	if i, ok := s.Index(o.Task); ok {
		end.Stuck = s.Tasks[i].Stuck
	}
	return end
}

// settleUnfinished records the ends of the open work of an earlier session.
func (r *running) settleUnfinished(ctx context.Context) error {
	var from RecoveredWork
	if r.Recover != nil {
		from.Attempt = func(e event.AttemptStarted) runner.Result { return r.Recover(ctx, e) }
	}
	if r.RecoverPanel != nil {
		from.Panel = func(e event.CounselStarted) counsel.Verdict { return r.RecoverPanel(ctx, e) }
	}
	if r.RecoverCost != nil {
		from.Cost = func(name string, limit budget.USD) budget.USD { return r.RecoverCost(ctx, name, limit) }
	}
	for _, b := range r.s.SettleUnfinished(from) {
		if err := r.emit(b); err != nil {
			return err
		}
	}
	if err := r.settleSpares(ctx); err != nil {
		return err
	}
	return r.flush()
}
