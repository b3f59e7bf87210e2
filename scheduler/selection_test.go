package scheduler

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// onlyOf returns a session of a plan that is limited to tasks; before holds the events of earlier sessions.
func onlyOf(t testing.TB, p *plan.Plan, c event.Config, before []event.Event, only ...string) *fixture {
	t.Helper()
	c.Only = only
	if before == nil {
		return newFixture(t, p, c)
	}
	return nextSession(t, p, c, before)
}

func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }

// statuses returns the status of each task of a plan.
func statuses(s *State) map[string]event.Status {
	out := map[string]event.Status{}
	for i := range s.Tasks {
		out[s.Plan.Tasks[i].ID] = s.Tasks[i].Status
	}
	return out
}

// TestOnlyRetried limits a second session to one of the tasks that failed in the first.
func TestOnlyRetried(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(task("a"), task("b"), task("c", "a"), task("d", "b")))
	c := testConfig()
	c.MaxRetries = 0
	first := newFixture(t, p, c)
	first.runner.results["a"] = []runner.Result{wrong("no")}
	first.runner.results["b"] = []runner.Result{wrong("neither")}
	if end := first.run(t); end.Tasks != (event.Counts{Failed: 2, Blocked: 2}) {
		t.Fatalf("ended as %+v", end)
	}
	b := onlyOf(t, p, c, first.journal.events, "a")
	end := b.run(t)
	want := map[string]event.Status{"a": event.Completed, "b": event.Failed, "c": event.Pending, "d": event.Blocked}
	if got := statuses(b.State); !reflect.DeepEqual(got, want) || !slices.Equal(b.runner.order(), []string{"a"}) {
		t.Fatalf("%v after %v", got, b.runner.order())
	}
	if end.Status != event.RunPaused || end.ExitCode != event.ExitComplete {
		t.Fatalf("ended as %+v", end)
	}

	again := onlyOf(t, p, c, first.journal.events, "a")
	again.runner.results["a"] = []runner.Result{wrong("still not")}
	if end := again.run(t); end.Status != event.RunFailed || end.ExitCode != event.ExitFailed {
		t.Fatalf("ended as %+v although the task failed again", end)
	}

	rest := onlyOf(t, p, c, b.journal.events)
	end = rest.run(t)
	if ran := rest.runner.order(); end.Tasks != (event.Counts{Completed: 2, Failed: 1, Blocked: 1}) ||
		!slices.Equal(ran, []string{"c"}) {
		t.Fatalf("the rest ended as %+v after %v", end, ran)
	}
}

// TestOnlyProperty: sessions that are limited to any tasks start exactly those and what they wait for, each once, and
// pause with the rest, which a session without a limit starts.
func TestOnlyProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "tasks")
		var tasks []string
		blockers := make([][]int, n)
		for i := range n {
			var ids []string
			for j := range i {
				if rapid.IntRange(0, 3).Draw(rt, "edge") == 0 {
					blockers[i], ids = append(blockers[i], j), append(ids, fmt.Sprintf("t%d", j))
				}
			}
			tasks = append(tasks, task(fmt.Sprintf("t%d", i), ids...))
		}
		p, c := mustPlan(t, planText(tasks...)), testConfig()
		if rapid.Bool().Draw(rt, "eager") {
			c.Schedule = event.Eager
		}
		done := make([]bool, n)
		var events []event.Event
		session := func(only []int) {
			want := map[string]bool{}
			var reach func(int)
			reach = func(i int) {
				if !done[i] {
					done[i], want[fmt.Sprintf("t%d", i)] = true, true
				}
				for _, j := range blockers[i] {
					reach(j)
				}
			}
			var ids []string
			for _, i := range only {
				reach(i)
				ids = append(ids, fmt.Sprintf("t%d", i))
			}
			b := onlyOf(t, p, c, events, ids...)
			end := b.run(t)
			for _, id := range b.runner.order() {
				if !want[id] {
					rt.Fatalf("%s started, asked for %v", id, ids)
				}
				delete(want, id)
			}
			if len(want) > 0 {
				rt.Fatalf("%v did not start, asked for %v", want, ids)
			}
			completed := len(slices.DeleteFunc(slices.Clone(done), func(is bool) bool { return !is }))
			if completed < n && (end.Status != event.RunPaused || end.Resume == "" || b.State.Assessment.ExitSignal) ||
				end.ExitCode != event.ExitComplete || end.Tasks != (event.Counts{Completed: completed, Pending: n - completed}) {
				rt.Fatalf("asked for %v, ended as %+v", ids, end)
			}
			events = b.journal.events
			replayed := replayed(rt, p, events)
			if !reflect.DeepEqual(replayed.selection.held, b.State.selection.held) {
				rt.Fatalf("a replay holds %v, the session held %v", replayed.selection.held, b.State.selection.held)
			}
		}
		for range rapid.IntRange(1, 3).Draw(rt, "sessions") {
			session(rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, n, rapid.ID).Draw(rt, "only"))
		}
		b := onlyOf(t, p, c, events)
		if end := b.run(t); end.Status != event.RunComplete {
			rt.Fatalf("the last session ended as %+v", end)
		}
	})
}
