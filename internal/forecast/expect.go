package forecast

import (
	"fmt"
	"math"
	"slices"
	"time"

	"wavex/budget"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/scheduler"
)

// This file says what a plan is expected to cost and take: by what tasks have cost here
// before, with the spread that they had, else by the plan's own estimates. It is pure.

// Expectation is a forecast; a zero Spread says that there is none.
type Expectation struct {
	Tasks   int
	History int // completed tasks it rests on; 0: the plan's own estimates
	Cost    budget.USD
	Time    time.Duration
	// The bounds of an 80 % interval; zero when the history is too short for one.
	CostLow, CostHigh budget.USD
	TimeLow, TimeHigh time.Duration
}

// enough is how many tasks a spread needs.
const enough = 4

// z80 bounds 80 % of a normal distribution, in standard deviations.
const z80 = 1.2816

// Expect forecasts a run of p with that many attempts side by side.
func Expect(events []scheduler.Event, p *plan.Plan, parallel int) Expectation {
	costs, times := history(events)
	_, waves := p.Waves()
	n := len(p.Tasks)
	// As many rounds as the longest chain, or as the tasks make side by side.
	rounds := max(waves, (n+max(1, parallel)-1)/max(1, parallel))
	e := Expectation{Tasks: n, History: len(costs)}
	if len(costs) == 0 {
		for i := range p.Tasks {
			e.Cost += p.Tasks[i].Estimate.USD
		}
		_, longest := p.Graph.CriticalPath(func(i int) float64 { return p.Tasks[i].Estimate.Seconds })
		e.Time = bounded(longest * float64(time.Second))
		return e
	}
	cost, low, high := sum(costs, n)
	e.Cost, e.CostLow, e.CostHigh = budget.USD(cost), budget.USD(low), budget.USD(high)
	took, low, high := sum(times, rounds)
	e.Time, e.TimeLow, e.TimeHigh = bounded(took), bounded(low), bounded(high)
	return e
}

// history is what each completed task of the journal cost in micro-dollars, with its
// panels, and took in nanoseconds. Work that did not stand with the rest, and was made again,
// is one task's all the same.
func history(events []scheduler.Event) (costs, times []float64) {
	type sums struct{ cost, took float64 }
	run, open, verified := "", map[string]*sums{}, map[string]*sums{}
	var done []*sums
	of := func(task string) *sums {
		key := run + "/" + task
		if open[key] == nil {
			open[key] = &sums{}
		}
		return open[key]
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case scheduler.RunStarted:
			run = b.Config.Run
		case scheduler.CounselEnded:
			of(b.Task).cost += float64(b.Verdict.Cost)
		case scheduler.AttemptEnded:
			s, key := of(b.Task), run+"/"+b.Task
			s.cost += float64(b.Result.Cost)
			s.took += float64(b.Result.Duration)
			switch b.Status {
			case scheduler.Verified:
				verified[key] = s
				fallthrough
			case scheduler.Completed:
				done = append(done, s)
				delete(open, key)
			}
		case scheduler.IntegrationEnded:
			for _, r := range b.Reopened {
				key := run + "/" + r.Task
				if s := verified[key]; s != nil {
					done = slices.DeleteFunc(done, func(o *sums) bool { return o == s })
					open[key] = s
				}
			}
			clear(verified) // what was not reopened stands
		}
	}
	for _, s := range done {
		costs, times = append(costs, s.cost), append(times, s.took)
	}
	return costs, times
}

// sum forecasts the sum of n more like those, with its 80 % interval: the spread of one
// more, and the uncertainty of the mean.
func sum(seen []float64, n int) (mid, low, high float64) {
	mean := 0.0
	for _, v := range seen {
		mean += v / float64(len(seen))
	}
	mid = mean * float64(n)
	if len(seen) < enough {
		return mid, 0, 0
	}
	varied := 0.0
	for _, v := range seen {
		varied += (v - mean) * (v - mean) / float64(len(seen)-1)
	}
	half := z80 * math.Sqrt(varied*(float64(n)+float64(n*n)/float64(len(seen))))
	return mid, max(0, mid-half), mid + half
}

// bounded is so many nanoseconds, as far as a Duration can hold them: 292 years.
func bounded(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// String is the forecast in words. What it rests on is always said.
func (e Expectation) String() string {
	took := func(d time.Duration) string { return d.Round(time.Second).String() }
	switch {
	case e.History == 0 && e.Cost == 0 && e.Time == 0:
		return "expected: not known; the plan has no estimates, and no task was completed here before"
	case e.History == 0:
		return fmt.Sprintf("expected: %s and %s by the planner's own estimates, one attempt each; no task was completed here before to judge them by", e.Cost.Spent(), took(e.Time))
	case e.CostHigh == 0 && e.TimeHigh == 0:
		return fmt.Sprintf("expected: %s and %s, by %s completed here before; too few for a spread", e.Cost.Spent(), took(e.Time), report.Plural(e.History, "task", "tasks"))
	}
	return fmt.Sprintf("expected: %s (80 %% interval %s to %s) and %s (%s to %s), by %s completed here before",
		e.Cost.Spent(), e.CostLow.Spent(), e.CostHigh.Spent(), took(e.Time), took(e.TimeLow), took(e.TimeHigh), report.Plural(e.History, "task", "tasks"))
}
