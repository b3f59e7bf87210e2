package statefiles

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/scheduler"
)

// This file holds a copy of the state for the projections, because the scheduler's goroutine owns
// the state itself. It knows events and states, and no files.

// model is a copy of the part of a state that the projections need. Slices in it and the plan are replaced and
// never written to, so a shallow copy with cloned tasks is a snapshot.
type model struct {
	at    time.Time // of the last event
	seq   int64
	tasks []scheduler.Task // of which the projections read the numbers and words only
	steps []string         // names of the tasks

	config event.Config
	origin *event.Origin // the request that was scored; nil: none
	plan   *plan.Plan
	path   string // of the plan file, as the journal has it

	report.Figures
	counts     event.Counts
	breaker    breaker
	criteria   []report.Criterion
	reviews    namedValues
	errors     []scheduler.FailedAttempt
	exitSignal bool // the exit signal
	stop       *event.Stop
	ended      *event.RunEnded
}

// newModel returns the book of a state.
func newModel(s *scheduler.State) *model {
	b := &model{}
	b.updateRun(s)
	b.updateTasks(s)
	return b
}

// update applies an event. It updates the tasks that the event may have changed. The state may already include later
// events of the same batch, which is harmless: they are passed to update as well.
func (b *model) update(e event.Event, s *scheduler.State) {
	b.updateRun(s)
	ids, all := e.Changes()
	if all || len(b.tasks) != len(s.Tasks) {
		b.updateTasks(s)
		return
	}
	if b.ended != nil || len(s.Assessment.Criteria) == 0 { // otherwise they only change with events that update everything
		b.criteria = report.Criteria(s)
	}
	for _, id := range ids {
		if i, ok := s.Index(id); ok {
			b.tasks[i] = s.Tasks[i]
		}
	}
}

func (b *model) updateRun(s *scheduler.State) {
	b.at, b.seq = s.Time.UTC(), s.Seq
	b.errors = s.Errors()
	b.config, b.origin = s.Config, s.Origin
	b.plan, b.path = s.Plan, s.Figures.Begun.Plan
	b.Figures = report.FiguresOf(s)
	b.counts, b.breaker = s.Counts, breaker{s.Streaks.UnmetStreak, strings.Join(s.Streaks.Unmet, "; ")}
	b.exitSignal = report.Complete(s)
	b.stop, b.ended = s.Stop, s.Ended
}

func (b *model) updateTasks(s *scheduler.State) {
	b.criteria, b.reviews = report.Criteria(s), reviewsOf(s)
	b.tasks, b.steps = slices.Clone(s.Tasks), stepNames(s.Plan)
}

// snapshot returns a copy that later updates do not change.
func (b *model) snapshot() *model {
	c := *b
	c.tasks = slices.Clone(b.tasks)
	return &c
}

// linearStatus returns the run's status in the words of the linear state file.
func (b *model) linearStatus() string {
	switch {
	case b.exitSignal:
		return "completed"
	case b.Stage == "cancelled":
		return "cancelled"
	case b.ended != nil:
		return "paused"
	}
	return "in_progress"
}

// goal returns the request, or the closest text to it.
func (b *model) goal() string { return cmp.Or(b.plan.Request, b.plan.Name, b.path) }
