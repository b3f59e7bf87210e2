package forecast

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report"
)

// This file computes the expected cost and duration of a plan: from the costs of earlier tasks
// here, with their spread, or else from the plan's own estimates. It does no I/O.

// Expectation is a forecast; a zero Spread means that there is none.
type Expectation struct {
	Samples int // completed tasks it is based on; 0 means the plan's own estimates
	Cost    budget.USD
	Time    time.Duration
	// The bounds of an 80 % interval; zero if the history is too short for one.
	CostLow, CostHigh budget.USD
	TimeLow, TimeHigh time.Duration

	// Tasks is the number of tasks that are known, for which the figures are. More is the number of tasks that lists
	// which are not known yet may add; Most has the figures with all of them, and is nil if there are none.
	Tasks, More int
	Most        *Expectation
}

// minSamples is the number of tasks that a spread needs.
const minSamples = 4

// z80 bounds 80 % of a normal distribution, in standard deviations.
const z80 = 1.2816

// Expect returns the forecast of a run of p with parallel attempts side by side.
func Expect(events []event.Event, p *plan.Plan, parallel int) Expectation {
	costs, times := completedTasks(events)
	_, waves := p.Waves()
	parallel = max(1, parallel)
	e := Expectation{Samples: len(costs), Tasks: len(p.Tasks), More: p.MostTasks() - len(p.Tasks)}
	// The number of rounds is the length of the longest chain, or that of the tasks run side by
	// side if it is larger.
	rounds := max(waves, (e.Tasks+parallel-1)/parallel)
	for i := range p.Tasks {
		e.Cost += p.Tasks[i].Estimate.USD
	}
	_, longest := p.Graph.CriticalPath(func(i int) float64 { return p.Tasks[i].Estimate.Seconds })
	most, mostRounds, mostSeconds := e, rounds, longest
	for _, g := range p.Groups {
		if !g.Known { // at the worst nothing else runs beside the list
			side := parallel
			if g.Parallel > 0 {
				side = min(side, g.Parallel)
			}
			inTurn := (g.MaxItems + side - 1) / side
			mostRounds += inTurn * max(g.Steps, 1)
			mostSeconds += float64(inTurn) * g.Estimate.Seconds
			most.Cost += budget.USD(g.MaxItems) * g.Estimate.USD
		}
	}
	e.Time, most.Time = clampDuration(longest*float64(time.Second)), clampDuration(mostSeconds*float64(time.Second))
	if e.Samples > 0 {
		e.learn(costs, times, e.Tasks, rounds)
		most.learn(costs, times, e.Tasks+e.More, mostRounds)
	}
	if e.More > 0 {
		e.Most = &most
	}
	return e
}

// learn sets the figures of a number of tasks by those of completed ones.
func (e *Expectation) learn(costs, times []float64, tasks, rounds int) {
	cost, low, high := forecastSum(costs, tasks)
	e.Cost, e.CostLow, e.CostHigh = budget.USD(cost), budget.USD(low), budget.USD(high)
	took, low, high := forecastSum(times, rounds)
	e.Time, e.TimeLow, e.TimeHigh = clampDuration(took), clampDuration(low), clampDuration(high)
}

// completedTasks returns the costs of the journal's completed tasks in micro-dollars, with their panels,
// and their durations in nanoseconds. A task that was redone because its work failed after
// integration counts once, with its total. Rehearsals do not count.
func completedTasks(events []event.Event) (costs, times []float64) {
	type sums struct {
		cost, took float64
		at         time.Time
	}
	var done []sums
	for _, run := range report.RunsOf(events) {
		if run.First.Config.Agent == event.Rehearsal {
			continue // it asked no model: its costs and times are made up
		}
		for _, list := range run.Attempts {
			var s sums
			for _, a := range list {
				if a.End == nil {
					continue
				}
				s.cost += float64(a.End.Result.Cost)
				s.took += float64(a.End.Result.Duration)
				s.at = a.EndedAt
				if a.Reopened == nil && (a.End.Status == event.Completed || a.End.Status == event.Verified) {
					done = append(done, s)
					s = sums{}
				}
				for _, v := range a.Counsel {
					s.cost += float64(v.Verdict.Cost)
				}
			}
		}
	}
	slices.SortFunc(done, func(a, b sums) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.cost, b.cost), cmp.Compare(a.took, b.took))
	})
	for _, s := range done {
		costs, times = append(costs, s.cost), append(times, s.took)
	}
	return costs, times
}

// forecastSum returns the forecast of the sum of n more values like those in seen, with its 80 %
// interval: the spread of each value, and the uncertainty of the mean.
func forecastSum(seen []float64, n int) (mid, low, high float64) {
	mean := 0.0
	for _, v := range seen {
		mean += v / float64(len(seen))
	}
	mid = mean * float64(n)
	if len(seen) < minSamples {
		return mid, 0, 0
	}
	varied := 0.0
	for _, v := range seen {
		varied += (v - mean) * (v - mean) / float64(len(seen)-1)
	}
	half := z80 * math.Sqrt(varied*(float64(n)+float64(n*n)/float64(len(seen))))
	return mid, max(0, mid-half), mid + half
}

// clampDuration returns ns nanoseconds as a Duration, at most its maximum of 292 years.
func clampDuration(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// String returns the forecast in words, always with its basis. Before all lists are known it is a range.
func (e Expectation) String() string {
	if e.Most != nil {
		return e.rangeText()
	}
	switch {
	case e.Samples == 0 && e.Cost == 0 && e.Time == 0:
		return "expected: not known; the plan has no estimates, and no task was completed here before"
	case e.Samples == 0:
		return fmt.Sprintf("expected: %s and %s %s", e.Cost.Spent(), wholeSeconds(e.Time), byEstimates)
	case e.CostHigh == 0 && e.TimeHigh == 0:
		return fmt.Sprintf("expected: %s and %s, by %s completed here before; too few for a spread", e.Cost.Spent(),
			wholeSeconds(e.Time), report.Plural(e.Samples, "task", "tasks"))
	}
	return fmt.Sprintf("expected: %s (80 %% interval %s to %s) and %s (%s to %s), by %s completed here before",
		e.Cost.Spent(), e.CostLow.Spent(), e.CostHigh.Spent(), wholeSeconds(e.Time), wholeSeconds(e.TimeLow),
		wholeSeconds(e.TimeHigh), report.Plural(e.Samples, "task", "tasks"))
}

const byEstimates = "by the planner's own estimates, one attempt each; no task was completed here before to judge " +
	"them by"

// rangeText returns the forecast of a plan with lists that are not known yet.
func (e Expectation) rangeText() string {
	tasks := fmt.Sprintf("%s, and at most %d more of lists that are not known yet", report.Plural(e.Tasks, "task",
		"tasks"), e.More)
	span := func(cost, most budget.USD, took, longest time.Duration) string {
		return fmt.Sprintf("expected: %s to %s and %s to %s, for %s", cost.Spent(), most.Spent(), wholeSeconds(took),
			wholeSeconds(longest), tasks)
	}
	m := e.Most
	done := report.Plural(e.Samples, "task", "tasks") + " completed here before"
	switch {
	case e.Samples == 0 && m.Cost == 0 && m.Time == 0:
		return "expected: not known; the plan has no estimates, and no task was completed here before: " + tasks
	case e.Samples == 0:
		return span(e.Cost, m.Cost, e.Time, m.Time) + ", " + byEstimates
	case m.CostHigh == 0 && m.TimeHigh == 0:
		return span(e.Cost, m.Cost, e.Time, m.Time) + ", by " + done + "; too few for a spread"
	}
	return span(e.CostLow, m.CostHigh, e.TimeLow, m.TimeHigh) + " (80 % intervals), by " + done
}

func wholeSeconds(d time.Duration) string { return d.Round(time.Second).String() }
