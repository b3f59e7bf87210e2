package scheduler

import (
	"fmt"
	"slices"
	"time"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// simulation applies the decisions of a run in which every attempt succeeds and nothing else takes
// time. It has its own clock; the clock of the events stands still.
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
		switch b := body.(type) {
		case nil:
			return nil
		case event.WaveStarted:
		case event.AttemptStarted:
			m.schedule(m.seconds(m.task(b.Task)), b)
		case event.IntegrationStarted:
			m.schedule(m.integration, b)
		default:
			return fmt.Errorf("the simulation cannot go on after %s: %+v", body.Type(), body)
		}
		if err := m.apply(body); err != nil {
			return err
		}
	}
	return nil
}

func (m *simulation) task(id string) int {
	i, _ := m.s.Index(id)
	return i
}

// schedule adds an ending after so many seconds.
func (m *simulation) schedule(seconds float64, of event.Body) {
	e := ending{m.now + seconds, of}
	k, _ := slices.BinarySearchFunc(m.ends, e, ending.compare)
	m.ends = slices.Insert(m.ends, k, e)
}

// end advances the clock to the next end.
func (m *simulation) end() error {
	e := m.ends[0]
	m.now, m.ends = e.at, m.ends[1:]
	switch b := e.of.(type) {
	case event.IntegrationStarted:
		return m.apply(event.IntegrationEnded{Wave: b.Wave, Completed: b.Tasks})
	case event.AttemptStarted:
		if m.checks > 0 {
			turn := event.TurnEnded{Task: b.Task, Key: b.Key, Attempt: b.Attempt}
			m.schedule(m.checks, turn)
			return m.apply(turn)
		}
		return m.endAttempt(b.Task)
	case event.TurnEnded:
		return m.endAttempt(b.Task)
	}
	return fmt.Errorf("nothing ends %s", e.of.Type())
}

func (m *simulation) endAttempt(task string) error {
	return m.apply(onAttempt(m.s, m.task(task), runner.Result{Outcome: runner.Done}, epoch, 0))
}

// ending is the time at which the work of an event will end.
type ending struct {
	at float64
	of event.Body
}

// compare never returns 0: of two at the same time, the one that was scheduled first ends first.
func (a ending) compare(b ending) int {
	if a.at <= b.at {
		return -1
	}
	return 1
}

// makespanLowerBound returns a lower bound of every schedule: the critical path, or the total work
// divided by the parallel limit.
func makespanLowerBound(p *plan.Plan, parallel int, seconds func(task int) float64) float64 {
	work := 0.0
	for i := range p.Tasks {
		work += seconds(i)
	}
	_, path := p.Graph.CriticalPath(seconds)
	return max(path, work/float64(max(1, parallel)))
}
