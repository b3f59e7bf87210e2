package scheduler

import (
	"slices"

	"wavex/internal/event"
	"wavex/internal/plan"
)

// This file decides when criteria are verified, and whether the evidence suffices for completion.
// It is pure; verifications run elsewhere.

// decideWaveCriteria returns the verification that is due between two waves, or nil. It covers the criteria
// with a check that belong to completed tasks, and those that work has made true, because later work
// may have broken them. It costs no money. Nothing else runs at the same time.
func decideWaveCriteria(s *State) event.Body {
	if s.Wave == 0 || s.Running() > 0 || s.merges.running || s.closing.waveVerifiedAt == s.closing.workCount {
		return nil
	}
	ev := event.CriteriaStarted{Round: s.closing.verifications + 1, Wave: s.Wave}
	for _, c := range s.Assessment.Criteria {
		i, ok := s.Index(c.Task)
		if promised := ok && c.Task != "" && s.Tasks[i].Status == event.Completed; !promised && !(c.Met && c.WasUnmet) {
			continue
		}
		if cond := s.Condition(c.ID); cond != nil && cond.Check != nil {
			ev.Only = append(ev.Only, c.ID)
		}
	}
	if ev.Only == nil {
		return nil
	}
	return ev
}

// decideBefore returns the verification before the session's first attempt, or nil. It looks at the
// conditions that must not hold, and at the criteria with a check that were never looked at: only one
// that does not hold yet can show work.
func decideBefore(s *State) event.Body {
	if s.closing.lookedBefore || s.Stop != nil || s.Running() > 0 || s.IsDone() {
		return nil
	}
	if s.closing.failedVerifications >= maxUnanswered {
		return decideUnverifiable(s, "what must not be true, and the criteria before the work,")
	}
	ev := event.CriteriaStarted{Round: s.closing.verifications + 1, Before: true}
	for _, c := range s.Assessment.Criteria {
		if c.Check != "" { // it was measured
			continue
		}
		if cond := s.Condition(c.ID); cond != nil && cond.Check != nil {
			ev.Only = append(ev.Only, c.ID)
		}
	}
	if ev.Only == nil && !slices.ContainsFunc(s.Plan.MustNot, func(c plan.Condition) bool { return c.Check != nil }) {
		return nil
	}
	return ev
}

// decideVerification verifies all criteria, and repeats checks of tasks.
func decideVerification(s *State, again []event.Recheck) event.Body {
	if s.closing.failedVerifications >= maxUnanswered {
		if len(s.Assessment.Criteria) == 0 {
			return decideUnverifiable(s, "the tasks' checks")
		}
		return decideUnverifiable(s, "the criteria")
	}
	ev := event.CriteriaStarted{Round: s.closing.verifications + 1, Rechecks: again}
	if s.Config.Judge && hasProseCriteria(s) {
		limit, err := s.jobCap(criteriaKey(ev.Round), judgeCap)
		if err != nil {
			return decideLimitPause(s, "a judge of the criteria", err)
		}
		ev.Cap, ev.Judge = limit, true
	}
	return ev
}

// decideUnverifiable returns the stop after verifications that ended with an error.
func decideUnverifiable(s *State, what string) event.Body {
	return event.Draining{Stop: *event.NewStop(event.RunBlocked,
		what+" could not be verified: "+s.closing.verificationError,
		"put the cause right, then resume")}
}

// decideLimitPause returns the stop for a step that the run's limits do not allow.
func decideLimitPause(s *State, what string, err error) event.Body {
	st := s.limitStop(err)
	st.Reason = "nothing is left for " + what + ": " + st.Reason
	return event.Draining{Stop: st}
}

// hasProseCriteria reports whether only a judge can decide any of the criteria.
func hasProseCriteria(s *State) bool {
	return slices.ContainsFunc(s.Assessment.Criteria, func(e event.Criterion) bool {
		c := s.Condition(e.ID)
		return c != nil && c.Check == nil && c.Verification != event.Assumption
	})
}

// unmetCriteria returns the criteria that were verified and are not met, without those of tasks that may fail.
func unmetCriteria(s *State) []event.Criterion {
	return slices.DeleteFunc(slices.Clone(s.Assessment.Criteria), func(c event.Criterion) bool {
		return c.Met || c.Verification == event.Assumption || s.IsAllowedTask(c.Task)
	})
}
