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

// meanRatio returns the mean of makespan divided by bound.
func meanRatio(t testing.TB, plans []*plan.Plan, schedule event.Schedule, parallel int) float64 {
	t.Helper()
	sum := 0.0
	for _, p := range plans {
		got, err := Makespan(p, schedule, parallel, estimate(p))
		if err != nil {
			t.Fatal(err)
		}
		least := MakespanLowerBound(p, parallel, estimate(p))
		if got < least*(1-1e-9) {
			t.Fatalf("%s at -j %d takes %f, less than the bound %f", schedule, parallel, got, least)
		}
		sum += got / least
	}
	return sum / float64(len(plans))
}

// makespanBounds holds the largest means allowed, over random plans of 50 tasks.
var makespanBounds = []struct {
	schedule event.Schedule
	parallel int
	most     float64
}{{"eager", 4, 1.05}, {"eager", 8, 1.01}, {"waves", 4, 1.36}}

func randomPlans(t testing.TB, n int) []*plan.Plan {
	rnd := rand.New(rand.NewPCG(1, 2))
	plans := make([]*plan.Plan, n)
	for i := range plans {
		plans[i] = mustPlan(t, layered(rnd, 50, 20, func() (string, float64) {
			return `"command":"true"`, 60 * math.Exp(rnd.NormFloat64())
		}))
	}
	return plans
}

func TestMakespanBounds(t *testing.T) {
	t.Parallel()
	plans := randomPlans(t, 40)
	for _, b := range makespanBounds {
		if got := meanRatio(t, plans, b.schedule, b.parallel); got > b.most {
			t.Errorf("%s at -j %d: %.3f of the bound, at most %.2f is allowed", b.schedule, b.parallel, got, b.most)
		}
	}
}

// The verification of criteria takes no time.
func TestMakespanOfCriteria(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, `{"criteria":[{"text":"it is fast","verify":"bench"}],"tasks":[`+task("a")+","+task("b", "a")+`]}`)
	got, err := Makespan(p, event.Waves, 2, func(i int) float64 { return float64(5 + i) })
	if err != nil || got != 11 {
		t.Errorf("%v, %v", got, err)
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
		got, err := m.run(c)
		if err != nil {
			t.Fatal(err)
		}
		ratio := got / MakespanLowerBound(p, parallel, estimate(p))
		sum, worst = sum+ratio, max(worst, ratio)
	}
	t.Logf("mean %.3f, worst %.3f of the bound", sum/plans, worst)
	if sum/plans > 1.05 {
		t.Errorf("%.3f of the bound, at most 1.05 is allowed", sum/plans)
	}
}
