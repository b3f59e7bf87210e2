package scheduler

import (
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
	e := s.efforts
	if s.Origin != nil {
		e.Planning.Cost = s.Origin.Spent
	}
	e.Work.Cost = max(0, s.Ledger.Spent()-e.Counsel.Cost-e.Review.Cost-e.Judge.Cost-e.Planning.Cost)
	return e
}

// trackEffort updates the efforts. It must be called before trackActivity, which forgets the starts.
func (f *figures) trackEffort(e event.Event) {
	add := func(to *Effort, kind, task string, cost budget.USD) {
		to.Cost += cost
		for _, a := range f.activities {
			if a.Kind == kind && a.Task == task {
				to.Time += max(0, e.Time.Sub(a.Since))
			}
		}
	}
	t := &f.efforts
	switch b := e.Body.(type) {
	case event.AttemptEnded:
		checks := time.Duration(0)
		for _, c := range b.Result.Checks {
			checks += c.Duration
		}
		checks = min(checks, b.Result.Duration)
		t.Checks.Time += checks
		t.Work.Time += b.Result.Duration - checks
	case event.CounselEnded:
		add(&t.Counsel, "counsel", b.Task, b.Verdict.Cost)
	case event.PrecheckEnded:
		t.Counsel.Cost += b.Challenge.Cost
	case event.ReviewEnded:
		add(&t.Review, "review", "", b.Review.Cost)
	case event.CriteriaEnded:
		add(&t.Checks, "criteria", "", 0)
		t.Judge.Cost += b.Cost
	case event.IntegrationEnded:
		add(&t.Checks, "integration", "", 0)
	}
}
