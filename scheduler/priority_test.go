package scheduler

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wavex/internal/event"
	"wavex/runner"
)

// startedState returns a state in which a run of p has begun.
func startedState(t testing.TB, text string, schedule event.Schedule, past ...event.Event) *State {
	t.Helper()
	s := NewState(mustPlan(t, text))
	s.Learn(past)
	c := event.DefaultConfig()
	c.Parallel = 4
	c.Run, c.Schedule, c.Limits.NoUSD, c.Limits.NoIterations = "r", schedule, true, true
	mustApply(t, s, event.RunStarted{Config: c})
	return s
}

// queued returns the queued tasks in order.
func queued(s *State, list int) []string {
	var out []string
	s.queue.scan(list, func(int) bool { return true }, func(i int) next {
		out = append(out, s.Plan.Tasks[i].ID)
		return nextTask
	})
	return out
}

func TestPriority(t *testing.T) {
	t.Parallel()
	const estimates = `{"tasks":[
		{"id":"a","command":"x","estimate":{"seconds":5}},
		{"id":"b","command":"x","estimate":{"seconds":20}},
		{"id":"c","command":"x"},
		{"id":"d","command":"x","estimate":{"seconds":1}},
		{"id":"e","command":"x","blockedBy":["d"],"estimate":{"seconds":90}}]}`
	const none = `{"tasks":[{"id":"a","command":"x"},{"id":"b","command":"x"},{"id":"c","command":"x"},{"id":"d","command":"x","blockedBy":["c"]}]}`
	past := []event.Event{
		{Body: event.AttemptEnded{Task: "b", Result: runner.Result{Outcome: runner.Done, Duration: 9 * time.Second}}},
		{Body: event.AttemptEnded{Task: "a", Result: runner.Result{Outcome: runner.Wrong, Duration: time.Hour}}},
		{Body: event.AttemptEnded{Task: "c", Result: runner.Result{Outcome: runner.Done, Duration: time.Second}}},
	}
	for _, tc := range []struct {
		name, plan string
		schedule   event.Schedule
		past       []event.Event
		list       int
		want       []string
	}{
		{"longest first, the unknown at the mean", estimates, "waves", nil, 1, []string{"c", "b", "a", "d"}},
		{"longest remaining path first", estimates, "eager", nil, 0, []string{"d", "c", "b", "a"}},
		{"plan order where nothing is known", none, "waves", nil, 1, []string{"a", "b", "c"}},
		{"most tasks behind where nothing is known", none, "eager", nil, 0, []string{"c", "a", "b"}},
		{"what earlier runs took", none, "waves", past, 1, []string{"b", "a", "c"}},
		{"a sequential wave keeps its order", `{"waves":[{"wave":1,"parallel":false}],"tasks":[
			{"id":"a","wave":1,"command":"x","estimate":{"seconds":1}},{"id":"b","wave":1,"command":"x","estimate":{"seconds":2}}]}`, "waves", nil, 1, []string{"a", "b"}},
	} {
		if got := queued(startedState(t, tc.plan, tc.schedule, tc.past...), tc.list); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// A retry goes ahead of tasks that have not begun, also of longer ones. In a resumed run it comes last.
func TestARetryGoesFirst(t *testing.T) {
	t.Parallel()
	for _, schedule := range []event.Schedule{event.Waves, event.Eager} {
		c := testConfig()
		c.Parallel, c.Schedule = 1, schedule
		long := strings.Replace(task("long"), `"id"`, `"estimate":{"seconds":900},"id"`, 1)
		b := newFixture(t, mustPlan(t, planText(long, task("a"), task("b"), task("c"))), c)
		b.runner.results["a"] = []runner.Result{wrong("1"), wrong("2"), {Outcome: runner.Done, Cost: 1, Turns: 1}}
		b.run(t)
		if order := strings.Join(b.runner.order(), " "); order != "long a a a b c" {
			t.Errorf("%s: ran %s", schedule, order)
		}
		at := slices.IndexFunc(b.journal.events, func(e event.Event) bool {
			end, ok := e.Body.(event.AttemptEnded)
			return ok && end.Task == "a"
		})
		again := nextSession(t, mustPlan(t, planText(long, task("a"), task("b"), task("c"))), c, b.journal.events[:at+1])
		again.run(t)
		if order := strings.Join(again.runner.order(), " "); order != "b c a" {
			t.Errorf("%s: the resume ran %s", schedule, order)
		}
	}
}

// TestQueueKeepsOrder: for any order of pushes and pops, the queue holds each task once, by rank,
// and by age among equals, whatever their groups. The other tasks of a group can be left out.
func TestQueueKeepsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(rt, "tasks")
		q, groups := newQueue(1), []string{}
		for range n {
			q.rank = append(q.rank, float64(rapid.IntRange(0, 4).Draw(rt, "rank")))
			groups = append(groups, rapid.SampledFrom([]string{"", "g", "h"}).Draw(rt, "group"))
		}
		var want []int // oldest first
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 60).Draw(rt, "moves") {
			if k := slices.Index(want, i); k >= 0 {
				want = slices.Delete(want, k, k+1)
			} else {
				want = append(want, i)
				q.push(1, groups[i], i)
			}
			byRank := slices.Clone(want)
			slices.SortStableFunc(byRank, func(a, b int) int { return cmp.Compare(q.rank[b], q.rank[a]) })
			var got, firsts []int
			live := func(i int) bool { return slices.Contains(want, i) }
			q.scan(1, live, func(i int) next { got = append(got, i); return nextTask })
			if !slices.Equal(got, byRank) {
				rt.Fatalf("queued %v, want %v (ranks %v)", got, byRank, q.rank)
			}
			q.scan(1, live, func(i int) next {
				if firsts = append(firsts, i); groups[i] == "g" {
					return nextGroup
				}
				return nextTask
			})
			seen := false
			byRank = slices.DeleteFunc(byRank, func(i int) bool {
				again := groups[i] == "g" && seen
				seen = seen || groups[i] == "g"
				return again
			})
			if !slices.Equal(firsts, byRank) {
				rt.Fatalf("without the others of g: %v, want %v", firsts, byRank)
			}
		}
	})
}

// Slots below those of adopted attempts are free.
func TestSlotsBelowAnother(t *testing.T) {
	t.Parallel()
	var s slots
	for _, want := range []int{0, 1, 3} {
		if want == 0 {
			s.acquire(2)
		}
		if got := s.nextFree(); got != want {
			t.Errorf("the next slot is %d, want %d", got, want)
		}
		s.acquire(want)
	}
}
