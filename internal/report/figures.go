package report

import (
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/scheduler"
)

// Figures holds the figures of a run at its last event. All views take theirs from here.
type Figures struct {
	Stage       string          `json:"stage"` // see Stage
	Wave        int             `json:"wave"`  // see scheduler.State.CurrentWave
	Waves       int             `json:"waves"`
	Total       scheduler.Tally `json:"-"`
	Cost        budget.USD      `json:"-"` // of the whole run, as far as it is on record
	Limits      budget.Limits   `json:"-"`
	Notional    bool            `json:"notional,omitempty"` // a subscription: Cost is not billed
	Iterations  int             `json:"iterations"`
	Started     time.Time       `json:"began,omitzero"` // of the run
	WorkTime    time.Duration   `json:"-"`              // of all sessions
	LastEvent   time.Time       `json:"-"`
	PausedUntil time.Time       `json:"-"` // nothing starts before

	Efforts scheduler.Efforts `json:"-"` // money and time by purpose
}

// FiguresOf returns the figures of a state.
func FiguresOf(s *scheduler.State) Figures {
	return Figures{Stage: Stage(s), Wave: s.CurrentWave(), Waves: s.Waves, Total: s.Tally(0), Cost: s.Ledger.Spent(),
		Limits: s.Ledger.Limits(), Notional: s.Notional, Iterations: s.Ledger.Iterations(), Started: s.RunStart,
		WorkTime: s.WorkTime(time.Time{}), LastEvent: s.LastEvent(), PausedUntil: s.PauseUntil, Efforts: s.Efforts()}
}

// MoneyText returns "$2.50/$25".
func (f *Figures) MoneyText() string { return FormatNotional(f.Cost, f.Limits, f.Notional) }

// IterationsText returns "5/25".
func (f *Figures) IterationsText() string { return FormatIterations(f.Iterations, f.Limits) }

// WorkTimeAt returns the time of all sessions if the last one goes on until now.
func (f *Figures) WorkTimeAt(now time.Time) time.Duration {
	return f.WorkTime + max(now.Sub(f.LastEvent), 0)
}

// Stage returns the stage of the workflow: "executing", "review" once all tasks are completed, "complete" or
// "cancelled". The stages before the waves belong to no run.
func Stage(s *scheduler.State) string {
	switch {
	case Complete(s):
		return "complete"
	case s.Ended != nil && s.Ended.Status == event.RunCancelled:
		return "cancelled"
	case len(s.Tasks) > 0 && s.IsDone():
		return "review" // includes the criteria and the gate
	}
	return "executing"
}
