package scheduler

import (
	"slices"
	"time"

	"wavex/budget"
	"wavex/internal/event"
)

// This file adds up the time and the money of a run by purpose. The ledger has the money as a whole.

// Effort is the time and the money of one purpose. Work side by side counts several times.
type Effort struct {
	Cost budget.USD // micro-dollars
	Time time.Duration
}

// Efforts are those of all sessions of a run. Work is that of agents and command tasks without their checks.
type Efforts struct {
	Work, Checks, Counsel, Review, Judge, Planning Effort
}

// Efforts returns the time and the money by purpose. The costs add up to those of the ledger.
func (s *State) Efforts() Efforts {
	e := s.Figures.efforts
	if s.Origin != nil {
		e.Planning.Cost = s.Origin.Spent
	}
	e.Work.Cost = max(0, s.Ledger.Spent()-e.Counsel.Cost-e.Review.Cost-e.Judge.Cost-e.Planning.Cost)
	return e
}

// addEffort adds work that has ended, except for attempts and deliveries.
func (f *figures) addEffort(w event.Work, at time.Time) {
	to := &f.efforts.Checks
	switch w.Kind {
	case event.Attempt, event.Delivery:
		return
	case event.Counsel, event.Precheck:
		to = &f.efforts.Counsel
	case event.Review:
		to = &f.efforts.Review
	case event.Criteria:
		f.efforts.Judge.Cost += w.Cost
		w.Cost = 0
	}
	to.Cost += w.Cost
	for _, a := range f.activities {
		if a.Kind == w.Kind && a.Task == w.Task {
			to.Time += max(0, at.Sub(a.Since))
		}
	}
}

// addAttempt adds an attempt that has ended.
func (f *figures) addAttempt(b event.AttemptEnded, at time.Time) {
	if b.Result.Outcome.Class() != "" {
		f.errors = append(slices.Clip(f.errors[max(0, len(f.errors)-maxErrors+1):]), FailedAttempt{at, b})
	}
	checks := time.Duration(0)
	for _, c := range b.Result.Checks {
		checks += c.Duration
	}
	checks = min(checks, b.Result.Duration)
	f.efforts.Checks.Time += checks
	f.efforts.Work.Time += b.Result.Duration - checks
}
