package scheduler

import (
	"context"
	"maps"
	"slices"
	"strings"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/runner"
)

// This file closes open work of an earlier session before any new decision, except attempts that the session adopts.

// Recovery knows the results of work that an earlier session started and did not end.
type Recovery interface {
	// Adopts reports whether an attempt may run on elsewhere, so that the Runner can wait for its end.
	Adopts(e event.AttemptStarted) bool
	// Attempt returns the result of an attempt that is not adopted. It must stop an attempt that still runs elsewhere.
	Attempt(e event.AttemptStarted) runner.Result
	// Cost returns the cost of the calls of a task's panel ("counsel-1"). If task is "", it returns the cost of a review
	// ("review-3"), a verification ("criteria-1") or a challenge. It returns at most limit if the cost is unknown.
	Cost(task, calls string, limit budget.USD) budget.USD
}

// atCap is a Recovery for work about which only the cap is known.
type atCap struct{}

func (atCap) Adopts(event.AttemptStarted) bool { return false }

func (atCap) Attempt(e event.AttemptStarted) runner.Result { return lostResult(e.Cap) }

func (atCap) Cost(_, _ string, limit budget.USD) budget.USD { return limit }

const interruptedEarlier = "interrupted with the earlier session"

// SettleUnfinished returns the ends of all open work but the attempts that are adopted. It was interrupted, which is no
// fault of the tasks, but its money is spent.
func (s *State) SettleUnfinished(from Recovery) []event.Body {
	var ends []event.Body
	for _, key := range slices.Sorted(maps.Keys(s.openWork)) {
		open := s.openWork[key]
		if o := open.attempt; o != nil {
			if !s.isCurrent(o.AttemptStarted) || !from.Adopts(o.AttemptStarted) {
				ends = append(ends, s.endInterruptedAttempt(*o, from))
			}
			continue
		}
		cost := from.Cost(open.task, strings.TrimPrefix(key, open.task+"/"), open.cap)
		ends = append(ends, event.Interrupted(open.start, interruptedEarlier, cost))
	}
	return ends
}

// isCurrent reports whether an open attempt is at a task as the plan now has it.
func (s *State) isCurrent(o event.AttemptStarted) bool {
	i, ok := s.Index(o.Task)
	return ok && s.Tasks[i].Key == o.Key && s.Tasks[i].Status == event.InProgress && s.Tasks[i].Attempts == o.Attempt
}

// decideAdoptions returns the adoptions of the attempts that settleUnfinished has left open.
func (s *State) decideAdoptions() []event.Body {
	var out []event.Body
	for _, key := range slices.Sorted(maps.Keys(s.openWork)) {
		if o := s.openWork[key].attempt; o != nil {
			out = append(out, event.AttemptAdopted{Task: o.Task, Attempt: o.Attempt})
		}
	}
	return out
}

// endInterruptedAttempt returns the end of an open attempt.
func (s *State) endInterruptedAttempt(o openAttempt, from Recovery) event.Body {
	res := from.Attempt(o.AttemptStarted)
	if o.turn != nil {
		contained := res.Contained
		res = o.turn.Result
		res.Outcome, res.Reason, res.Contained = runner.Interrupted, "wavex ended before the checks did", contained
	}
	end := event.AttemptEnded{Task: o.Task, Key: o.Key, Attempt: o.Attempt, Result: res, Status: event.Pending,
		Charged: o.turn != nil, Continue: o.turn == nil && res.Session != "" && res.Turns > 0, Note: interruptedEarlier}
	if i, ok := s.Index(o.Task); ok {
		end.Stuck = s.Tasks[i].Stuck
	}
	return end
}

// settleUnfinished records the ends of the open work of an earlier session.
func (r *running) settleUnfinished(ctx context.Context) error {
	if len(r.s.openWork) == 0 {
		return nil
	}
	var from Recovery = atCap{}
	if r.Recover != nil {
		from = r.Recover(ctx)
	}
	return r.commit(r.s.SettleUnfinished(from)...)
}

// lostResult returns the result of an attempt without a recorded end, because wavex died. Its cost is the
// cap, unless the caller finds the actual cost.
func lostResult(cap budget.USD) runner.Result {
	r := runner.Result{Outcome: runner.Interrupted, Reason: "wavex ended before the attempt did", Cost: cap}
	if cap > 0 {
		r.Priced = "cap"
	}
	return r
}
