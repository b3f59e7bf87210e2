package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// moneyCase is a run of tasks without blockers whose costs are known to the test.
type moneyCase struct {
	plan     *plan.Plan
	limits   budget.Limits
	parallel int
	costs    []budget.USD // until the task is done
	past     []event.Event
	pick     func(running int) int // the running attempt that ends next
}

// finish runs the tasks until they are done or the run stops, and returns its state.
func (c moneyCase) finish(t *rapid.T) *State {
	s := NewState(c.plan)
	s.Learn(c.past)
	config := event.DefaultConfig()
	config.Run, config.Parallel, config.Limits, config.Schedule = "r", c.parallel, c.limits, event.Eager
	mustApply(t, s, event.RunStarted{Config: config})
	s.Limiter = Limiter{Limit: c.parallel, Max: c.parallel}
	left := slices.Clone(c.costs)
	var open []event.AttemptStarted
	for s.Counts.Completed < len(s.Tasks) {
		body := decideNext(s, epoch)
		switch b := body.(type) {
		case nil:
			if len(open) == 0 {
				return s
			}
			k := c.pick(len(open))
			a := open[k]
			open = slices.Delete(open, k, k+1)
			i, _ := s.Index(a.Task)
			r := runner.Result{Outcome: runner.Done, Session: "s", Cost: left[i], Duration: time.Second}
			if left[i] > a.Cap {
				r.Outcome, r.Cost = runner.OverCap, a.Cap
			}
			left[i] -= r.Cost
			body = onAttempt(s, i, r, epoch, 0)
		case event.RunEnded:
			return s
		case event.AttemptStarted:
			open = append(open, b)
		}
		mustApply(t, s, body)
	}
	return s
}

// genMoneyCase draws twelve tasks that cost about mean each, and what wavex knows about their costs.
func genMoneyCase(t *rapid.T, mean budget.USD, spread int, known string) moneyCase {
	c := moneyCase{parallel: rapid.IntRange(1, 12).Draw(t, "parallel"),
		pick: func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "ends") }}
	var tasks []string
	for i := range 12 {
		id, learnt := fmt.Sprintf("t%d", i), ""
		task := fmt.Sprintf(`{"id":%q,"subject":"x","verify":["true"]}`, id)
		switch known {
		case "estimates":
			task = fmt.Sprintf(`{"id":%q,"subject":"x","verify":["true"],"estimate":{"usd":%v}}`, id, mean.Float())
		case "these tasks":
			learnt = id
		case "other tasks":
			learnt = "other-" + id
		}
		tasks = append(tasks, task)
		c.costs = append(c.costs, mean+mean*budget.USD(rapid.IntRange(-spread, spread).Draw(t, "cost"))/100)
		if learnt != "" {
			c.past = append(c.past, event.Event{Body: event.AttemptEnded{Task: learnt,
				Result: runner.Result{Outcome: runner.Done, Cost: mean}}})
		}
	}
	c.plan = mustPlan(t, planText(tasks...))
	return c
}

// With money for k of twelve tasks, k finish if all cost the same. If their costs vary, at least half of k finish, or
// one if nothing was known about them.
func TestMoneyForSomeTasksFinishesThem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		mean := budget.USD(rapid.IntRange(20_000, 800_000).Draw(t, "mean"))
		k := rapid.IntRange(1, 12).Draw(t, "money for")
		spread := rapid.SampledFrom([]int{0, 25}).Draw(t, "spread")
		known := rapid.SampledFrom([]string{"nothing", "estimates", "these tasks", "other tasks"}).Draw(t, "known")
		c := genMoneyCase(t, mean, spread, known)
		c.limits = budget.Limits{USD: mean * budget.USD(k), NoIterations: true}
		want := k
		switch {
		case spread > 0 && known == "nothing":
			want = min(k/2, 1)
		case spread > 0:
			want = k / 2
		}
		s := c.finish(t)
		if s.Counts.Completed < want || s.Ledger.Spent() > mean*budget.USD(k) {
			t.Fatalf("%d tasks finished for %s of %s, want %d", s.Counts.Completed, s.Ledger.Spent(),
				mean*budget.USD(k), want)
		}
	})
}

// The advice at a limit raises it by the forecast for the rest of the plan.
func TestLimitStopAdvisesTheForecast(t *testing.T) {
	t.Parallel()
	const estimated = `{"id":%q,"subject":"x","verify":["true"],"estimate":{"usd":0.25}}`
	for name, c := range map[string]struct {
		limits budget.Limits
		model  string // %q: the id
		costs  []budget.USD
		want   string
	}{
		"costs of this run": {budget.Limits{USD: budget.Dollar, NoIterations: true}, "", []budget.USD{600_000, 600_000},
			"--budget +3"}, // 0.20 over, and four for 0.60 each
		"estimates":         {budget.Limits{USD: 0, NoIterations: true}, estimated, nil, "--budget +2"},
		"nothing is known":  {budget.Limits{USD: 0, NoIterations: true}, "", nil, "--budget +5"},
		"cents":             {budget.Limits{USD: 10_000, NoIterations: true}, "", []budget.USD{10_000}, "--budget +0.10"},
		"iterations":        {budget.Limits{NoUSD: true, Iterations: 2}, "", []budget.USD{1, 1}, "--max-iterations +5"},
		"no iteration made": {budget.Limits{NoUSD: true}, "", nil, "--max-iterations +8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tasks []string
			for i := range 6 {
				id := fmt.Sprintf("t%d", i)
				if tasks = append(tasks, task(id)); c.model != "" {
					tasks[i] = fmt.Sprintf(c.model, id)
				}
			}
			config := testConfig()
			config.Parallel, config.Limits = 1, c.limits
			b := newFixture(t, mustPlan(t, planText(tasks...)), config)
			for i, cost := range c.costs {
				b.runner.results[fmt.Sprintf("t%d", i)] = []runner.Result{paid(cost, false)}
			}
			if end := b.run(t); end.Status != "paused" || b.State.Stop.Advice != c.want {
				t.Errorf("%s: advice %q, want %q", end.Reason, b.State.Stop.Advice, c.want)
			}
		})
	}
}

// TestMoneyOfEndedTurns ends two turns before the first of their attempts. The task that starts in the first free slot
// must leave money for the one in the second.
func TestMoneyOfEndedTurns(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, `{"tasks":[{"id":"a","subject":"x"},{"id":"b","subject":"x"},
		{"id":"c","subject":"x"},{"id":"d","subject":"x"}]}`)
	for _, schedule := range []event.Schedule{event.Waves, event.Eager} {
		m := simulation{s: NewState(p), seconds: func(int) float64 { return 1 }, checks: 1}
		c := event.DefaultConfig()
		c.Run, c.Parallel, c.Schedule, c.Limits = "r", 2, schedule, budget.Limits{USD: 20 * budget.Dollar, Iterations: 9}
		c.Review = event.ReviewOff
		apply := func(b event.Body) {
			testrepo.Must(t, m.apply(b))
		}
		apply(event.RunStarted{Config: c})
		m.s.Limiter = Limiter{Limit: 2, Max: 2}
		testrepo.Must(t, m.start())
		for range 3 { // both turns, and the attempt at a
			testrepo.Must(t, m.end())
		}
		b, ok := decideNext(m.s, epoch).(event.AttemptStarted)
		if !ok || b.Task != "c" || b.Cap != 10*budget.Dollar {
			t.Errorf("%s: c starts with %v, want $10: %+v", schedule, b.Cap, b)
		}
	}
}
