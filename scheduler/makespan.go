package scheduler

import (
	"fmt"
	"slices"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// Makespan returns the time from the first start to the last end of a run of the plan, in the unit
// of seconds, which returns the duration of a task. It uses the decisions of a real run in which
// every attempt succeeds and nothing else takes time. Only the schedule and the parallel limit of
// the configuration count.
func Makespan(p *plan.Plan, schedule event.Schedule, parallel int, seconds func(task int) float64) (float64, error) {
	m := simulation{s: NewState(p), seconds: seconds}
	return m.run(event.Config{Run: "simulation", Schedule: schedule, Parallel: parallel,
		Limits: budget.Limits{NoUSD: true, NoIterations: true}})
}

// simulation has its own clock; the clock of the events stands still.
type simulation struct {
	s           *State
	seconds     func(task int) float64 // of an agent's turn
	checks      float64                // seconds from the end of a turn to the end of its attempt
	integration float64                // seconds of an integration
	now         float64
	ends        []ending // sorted by time
}

// run returns the time of the last end of a run with a configuration.
func (m *simulation) run(c event.Config) (float64, error) {
	if err := m.apply(event.RunStarted{Config: c}); err != nil {
		return 0, err
	}
	// No slow start, which is the same for all schedules.
	m.s.Limiter = Limiter{Limit: max(1, c.Parallel), Max: max(1, c.Parallel)}
	for {
		if err := m.start(); err != nil {
			return 0, err
		}
		if len(m.ends) == 0 {
			break
		}
		if err := m.end(); err != nil {
			return 0, err
		}
	}
	if m.s.Counts.Completed < len(m.s.Tasks) {
		return 0, fmt.Errorf("the simulation ended with %d of %d tasks completed", m.s.Counts.Completed, len(m.s.Tasks))
	}
	return m.now, nil
}

var epoch = time.Unix(0, 0).UTC()

func (m *simulation) apply(b event.Body) error {
	return m.s.apply(event.Event{Seq: m.s.Seq + 1, Time: epoch, Body: b})
}

// start applies all decisions that may follow now.
func (m *simulation) start() error {
	for m.s.Counts.Completed < len(m.s.Tasks) {
		body := decideNext(m.s, epoch)
		if body == nil {
			return nil
		}
		wave := m.s.Wave
		if err := m.apply(body); err != nil {
			return err
		}
		switch w := (event.Event{Body: body}).Starts(); {
		case w.Kind == event.Criteria: // it takes no time
			if err := m.apply(event.CriteriaEnded{Round: w.N}); err != nil {
				return err
			}
		case w.Kind == event.Attempt:
			m.schedule(m.seconds(m.task(w.Task)), w, false)
		case w.Kind == event.Integration:
			m.schedule(m.integration, w, false)
		case m.s.Wave == wave: // no wave has started
			return fmt.Errorf("the simulation cannot go on after %s: %+v", body.Type(), body)
		}
	}
	return nil
}

func (m *simulation) task(id string) int {
	i, _ := m.s.Index(id)
	return i
}

// schedule adds an ending after so many seconds.
func (m *simulation) schedule(seconds float64, of event.Work, turned bool) {
	e := ending{m.now + seconds, of, turned}
	k, _ := slices.BinarySearchFunc(m.ends, e, ending.compare)
	m.ends = slices.Insert(m.ends, k, e)
}

// end advances the clock to the next end.
func (m *simulation) end() error {
	e := m.ends[0]
	m.now, m.ends = e.at, m.ends[1:]
	i := m.task(e.of.Task)
	switch {
	case e.of.Kind == event.Integration:
		return m.apply(event.IntegrationEnded{Wave: e.of.N, Completed: e.of.Tasks})
	case m.checks > 0 && !e.turned:
		m.schedule(m.checks, e.of, true)
		return m.apply(event.TurnEnded{Task: e.of.Task, Key: m.s.Tasks[i].Key, Attempt: e.of.N})
	}
	return m.apply(onAttempt(m.s, i, runner.Result{Outcome: runner.Done}, epoch, 0))
}

// ending is the time at which work will end, or the turn of an attempt.
type ending struct {
	at     float64
	of     event.Work
	turned bool // the turn has ended
}

// compare never returns 0: of two at the same time, the one that was scheduled first ends first.
func (a ending) compare(b ending) int {
	if a.at <= b.at {
		return -1
	}
	return 1
}

// MakespanLowerBound returns a lower bound of every schedule: the critical path, or the total work
// divided by the parallel limit.
func MakespanLowerBound(p *plan.Plan, parallel int, seconds func(task int) float64) float64 {
	work := 0.0
	for i := range p.Tasks {
		work += seconds(i)
	}
	_, path := p.Graph.CriticalPath(seconds)
	return max(path, work/float64(max(1, parallel)))
}
