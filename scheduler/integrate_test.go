package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"wavex/internal/event"
)

// fakeIntegrator is an Integrator that blames the given tasks, once each.
type fakeIntegrator struct {
	blame     map[string]int // number of times, by task
	calls     [][]string
	delivered []bool
	err       error
	lost      error // error of the first delivery
}

func (f *fakeIntegrator) Integrate(_ context.Context, _ int, tasks []string) (Integrated, error) {
	f.calls = append(f.calls, tasks)
	if f.err != nil {
		err := f.err
		f.err = nil
		return Integrated{}, err
	}
	out := Integrated{Commit: "c"}
	for _, t := range tasks {
		if f.blame[t] > 0 {
			f.blame[t]--
			out.Culprits = append(out.Culprits, Culprit{Task: t, Kind: "red", Reason: "go test ./... fails with " + t})
		} else {
			out.Completed = append(out.Completed, t)
		}
	}
	return out, nil
}

func (f *fakeIntegrator) Deliver(_ context.Context, complete bool) (event.DeliveryEnded, error) {
	f.delivered = append(f.delivered, complete)
	if f.lost != nil {
		err := f.lost
		f.lost = nil
		return event.DeliveryEnded{}, err
	}
	return event.DeliveryEnded{How: "ff"}, nil
}

// movedIntegrator is an Integrator whose work an obstacle meets.
type movedIntegrator struct {
	*fakeIntegrator
	moved atomic.Bool
}

func (m *movedIntegrator) Integrate(ctx context.Context, wave int, tasks []string) (Integrated, error) {
	m.moved.Store(true)
	return m.fakeIntegrator.Integrate(ctx, wave, tasks)
}

// An integration that an obstacle meets blames no task, and nothing is delivered there.
func TestObstacleOfAnIntegration(t *testing.T) {
	t.Parallel()
	m := &movedIntegrator{fakeIntegrator: &fakeIntegrator{blame: map[string]int{"a": 1}}}
	b := isolated(t, m.fakeIntegrator, nil, task("a"))
	b.Integrator, b.Obstacle = m, func() *event.Stop {
		if !m.moved.Load() {
			return nil
		}
		return event.NewStop(event.RunBlocked, "the project was moved", "move it back")
	}
	end := b.run(t)
	in := of[event.IntegrationEnded](b.journal)
	if end.ExitCode != 5 || len(in) != 1 || len(in[0].Completed)+len(in[0].Reopened) > 0 || in[0].Stop == nil {
		t.Errorf("ended as %+v, integrated %+v", end, in)
	}
	if len(m.delivered) > 0 {
		t.Error("it was delivered")
	}
}

func isolated(t *testing.T, f *fakeIntegrator, change func(*event.Config), tasks ...string) *fixture {
	c := testConfig()
	c.Isolation = event.Isolated
	if change != nil {
		change(&c)
	}
	b := newFixture(t, mustPlan(t, planText(tasks...)), c)
	b.Integrator = f
	return b
}

// isolatedNext returns the session after that of b.
func isolatedNext(t *testing.T, f *fakeIntegrator, b *fixture) *fixture {
	again := nextSession(t, b.State.filePlan, b.State.Config, b.journal.events)
	again.Integrator = f
	return again
}

func TestWavesAreIntegratedBeforeTheNextOpens(t *testing.T) {
	t.Parallel()
	for _, schedule := range []event.Schedule{event.Waves, event.Eager} {
		f := &fakeIntegrator{}
		b := isolated(t, f, func(c *event.Config) { c.Schedule = schedule }, task("a"), task("b"), task("c", "a", "b"))
		end := b.run(t)
		order := slices.Concat(f.calls...)
		if slices.Sort(order[:2]); end.Status != "complete" || !slices.Equal(order, []string{"a", "b", "c"}) {
			t.Fatalf("%s: ended as %+v, integrated %v", schedule, end, f.calls)
		}
		if !slices.Equal(f.delivered, []bool{true}) {
			t.Fatalf("delivered %v", f.delivered)
		}
		last := b.journal.events[len(b.journal.events)-1]
		if _, ok := last.Body.(event.RunEnded); !ok {
			t.Fatalf("the last record is %s", last.Body.Type())
		}
	}
}

func TestACulpritIsWrongAndItAlone(t *testing.T) {
	t.Parallel()
	f := &fakeIntegrator{blame: map[string]int{"b": 1}}
	b := isolated(t, f, nil, task("a"), task("b"), task("c", "b"))
	end := b.run(t)
	if end.Status != "complete" || len(b.panel.cases) != 1 || b.panel.cases[0].Task != "b" {
		t.Fatalf("ended as %+v, panels %+v", end, b.panel.cases)
	}
	order := b.runner.order()
	if slices.Sort(order[:3]); !slices.Equal(order, []string{"a", "b", "b", "c"}) {
		t.Fatalf("ran %v", order)
	}
	if i, _ := b.State.Index("a"); b.State.Tasks[i].Stuck != 0 {
		t.Fatal("a was blamed too")
	}
}

func TestAFailedCulpritBlocksItsDependentsOnly(t *testing.T) {
	t.Parallel()
	f := &fakeIntegrator{blame: map[string]int{"b": 99}}
	b := isolated(t, f, nil, task("a"), task("b"), task("c", "b"), task("d", "a"))
	end := b.run(t)
	if end.ExitCode != 1 || end.Tasks != (event.Counts{Completed: 2, Failed: 1, Blocked: 1}) ||
		!slices.Equal(f.delivered, []bool{false}) {
		t.Fatalf("ended as %+v, delivered %v", end, f.delivered)
	}
}

func TestAFailedIntegrationIsRepeatedByTheResume(t *testing.T) {
	t.Parallel()
	f := &fakeIntegrator{err: errors.New("disk full")}
	b := isolated(t, f, nil, task("a"), task("b", "a"))
	end := b.run(t)
	if end.ExitCode != 5 || end.Tasks.Completed != 0 {
		t.Fatalf("ended as %+v", end)
	}
	again := isolatedNext(t, f, b)
	if end := again.run(t); end.Status != "complete" || !slices.Equal(again.runner.order(), []string{"b"}) {
		t.Fatalf("the resume ended as %+v and ran %v", end, again.runner.order())
	}
}

// A run whose delivery failed is not complete; a resume delivers it.
func TestUndeliveredRunIsNotComplete(t *testing.T) {
	t.Parallel()
	f := &fakeIntegrator{lost: errors.New("no remote")}
	b := isolated(t, f, nil, task("a"))
	end := b.run(t)
	if end.Status != "blocked" || end.ExitCode != 5 || end.Reason != "everything is done, but not delivered: no remote" ||
		end.Resume == "" {
		t.Fatalf("ended as %+v", end)
	}
	again := isolatedNext(t, f, b)
	if end = again.run(t); end.Status != "complete" || end.ExitCode != 0 {
		t.Fatalf("the resume ended as %+v", end)
	}
	if !slices.Equal(f.delivered, []bool{true, true}) {
		t.Fatalf("delivered %v", f.delivered)
	}
}

// --fail-fast also stops for a task that fails because its work does not pass with the rest.
func TestFailFastAfterAnIntegration(t *testing.T) {
	t.Parallel()
	for _, fast := range []bool{true, false} {
		f := &fakeIntegrator{blame: map[string]int{"b": 1}}
		b := isolated(t, f, func(c *event.Config) { c.FailFast, c.MaxRetries = fast, 0 },
			task("a"), task("b"), task("c", "a"))
		end := b.run(t)
		if started := slices.Contains(b.runner.order(), "c"); started == fast || end.ExitCode != 1 {
			t.Errorf("fail fast %v: ended as %+v after %v", fast, end, b.runner.order())
		}
	}
}

// The breaker counts equal integration failures in a row like other failures, although the work
// passes in its own tree in between.
func TestTheBreakerCountsIntegrations(t *testing.T) {
	t.Parallel()
	f := &fakeIntegrator{blame: map[string]int{"b": 9}}
	b := isolated(t, f, func(c *event.Config) { c.SameError, c.MaxRetries = 3, 9 }, task("a"), task("b"))
	end := b.run(t)
	if end.ExitCode != 4 || b.State.Stop == nil || b.State.Stop.Breaker != "same-error" || b.State.Tasks[1].Attempts != 3 {
		t.Fatalf("ended as %+v, stopped by %+v", end, b.State.Stop)
	}
}
