package scheduler

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
)

// layered returns a plan of random layers of 1 to most tasks, each task with one to three blockers in
// the previous layer. work is the rest of a task's JSON with its duration in seconds.
func layered(rnd *rand.Rand, tasks, most int, work func() (string, float64)) string {
	var list []string
	var before, layer []string
	room := 1 + rnd.IntN(most)
	for i := range tasks {
		if len(layer) == room {
			before, layer, room = layer, nil, 1+rnd.IntN(most)
		}
		id := fmt.Sprintf("t%d", i)
		var blockers []string
		for _, k := range rnd.Perm(len(before))[:min(len(before), 1+rnd.IntN(3))] {
			blockers = append(blockers, fmt.Sprintf("%q", before[k]))
		}
		kind, seconds := work()
		list = append(list, fmt.Sprintf(`{"id":%q,%s,"estimate":{"seconds":%.3f},"blockedBy":[%s]}`,
			id, kind, seconds, strings.Join(blockers, ",")))
		layer = append(layer, id)
	}
	return fmt.Sprintf(`{"tasks":[%s]}`, strings.Join(list, ","))
}

func estimate(p *plan.Plan) func(int) float64 {
	return func(i int) float64 { return p.Tasks[i].Estimate.Seconds }
}

// ratio returns the duration of a run, divided by the lower bound of its plan.
func (m *simulation) ratio(t *testing.T, c event.Config) float64 {
	t.Helper()
	took, err := m.run(c)
	testrepo.Must(t, err)
	return took / makespanLowerBound(m.s.Plan, c.Parallel, estimate(m.s.Plan))
}

// TestMakespanBounds holds the largest means allowed, over random plans of 50 commands.
func TestMakespanBounds(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	plans := make([]*plan.Plan, 40)
	for i := range plans {
		plans[i] = mustPlan(t, layered(rnd, 50, 20, func() (string, float64) {
			return `"command":"true"`, 60 * math.Exp(rnd.NormFloat64())
		}))
	}
	for _, b := range []struct {
		schedule event.Schedule
		parallel int
		most     float64
	}{{"eager", 4, 1.05}, {"eager", 8, 1.01}, {"waves", 4, 1.36}} {
		sum := 0.0
		for _, p := range plans {
			m := simulation{s: NewState(p), seconds: estimate(p)}
			ratio := m.ratio(t, event.Config{Run: "r", Schedule: b.schedule, Parallel: b.parallel,
				Limits: budget.Limits{NoUSD: true, NoIterations: true}})
			if ratio < 1-1e-9 {
				t.Fatalf("%s at -j %d takes %f of the bound", b.schedule, b.parallel, ratio)
			}
			sum += ratio
		}
		if got := sum / float64(len(plans)); got > b.most {
			t.Errorf("%s at -j %d: %.3f of the bound, at most %.2f is allowed", b.schedule, b.parallel, got, b.most)
		}
	}
}

// TestMakespanInWorktrees runs plans of agents with the overhead of worktrees that docs/performance.md has and
// the default budget. Neither may cost the eager schedule more than a twentieth.
func TestMakespanInWorktrees(t *testing.T) {
	t.Parallel()
	const plans, parallel, mean = 1000, 4, 5.0
	limits := budget.Limits{USD: 25 * budget.Dollar, Iterations: 60}
	rnd := rand.New(rand.NewPCG(3, 4))
	sum, worst := 0.0, 0.0
	for range plans {
		p := mustPlan(t, layered(rnd, 24, 8, func() (string, float64) {
			return `"subject":"x","verify":["true"]`, min(3*mean, max(mean/5, mean*rnd.ExpFloat64()))
		}))
		c := event.DefaultConfig()
		c.Run, c.Schedule, c.Parallel, c.Isolation = "r", event.Eager, parallel, event.Isolated
		c.Limits, c.Review = limits, event.ReviewOff
		m := simulation{s: NewState(p), checks: 0.033, integration: 0.05,
			seconds: func(i int) float64 { return p.Tasks[i].Estimate.Seconds + 0.054 }}
		ratio := m.ratio(t, c)
		sum, worst = sum+ratio, max(worst, ratio)
	}
	t.Logf("mean %.3f, worst %.3f of the bound", sum/plans, worst)
	if sum/plans > 1.05 {
		t.Errorf("%.3f of the bound, at most 1.05 is allowed", sum/plans)
	}
}
