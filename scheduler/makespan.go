package scheduler

import (
	"cmp"
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
	s := NewState(p)
	c := event.Config{Run: "simulation", Schedule: schedule, Parallel: parallel,
		Limits: budget.Limits{NoUSD: true, NoIterations: true}}
	m := simulation{s: s, seconds: seconds}
	if err := m.apply(event.RunStarted{Config: c}); err != nil {
		return 0, err
	}
	s.Limiter = Limiter{Limit: max(1, parallel),
		Max: max(1, parallel)} // no slow start, which is the same for all schedules
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
	if s.Counts.Completed < len(s.Tasks) {
		return 0, fmt.Errorf("the simulation ended with %d of %d tasks completed", s.Counts.Completed, len(s.Tasks))
	}
	return m.now, nil
}

// simulation has its own clock; the clock of the events stands still.
type simulation struct {
	s       *State
	seconds func(int) float64
	now     float64
	ends    []ending // sorted by time
}

var epoch = time.Unix(0, 0).UTC()

func (m *simulation) apply(b event.Body) error {
	return m.s.apply(event.Event{Seq: m.s.Seq + 1, Time: epoch, Body: b})
}

// start applies all decisions that may follow now.
func (m *simulation) start() error {
	for m.s.Counts.Pending > 0 {
		body := decideNext(m.s, epoch)
		switch b := body.(type) {
		case nil:
			return nil
		case event.WaveStarted:
		case event.AttemptStarted:
			i, _ := m.s.Index(b.Task)
			e := ending{m.now + m.seconds(i), i}
			k, _ := slices.BinarySearchFunc(m.ends, e, ending.compare)
			m.ends = slices.Insert(m.ends, k, e)
		default:
			return fmt.Errorf("the simulation cannot go on after %s", body.Type())
		}
		if err := m.apply(body); err != nil {
			return err
		}
	}
	return nil
}

// end advances the clock to the next end.
func (m *simulation) end() error {
	e := m.ends[0]
	m.now, m.ends = e.at, m.ends[1:]
	return m.apply(onAttempt(m.s, e.task, runner.Result{Outcome: runner.Done}, epoch, 0))
}

// ending is the time at which a running attempt will end.
type ending struct {
	at   float64
	task int
}

func (a ending) compare(b ending) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.task, b.task))
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
