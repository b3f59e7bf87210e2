package scheduler

import (
	"slices"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/runner"
)

// TestStagger: in each wave, one agent starts first, commands do not wait, and the rest follow when
// a response has begun or the first attempt has ended.
func TestStagger(t *testing.T) {
	t.Parallel()
	const text = `{"tasks":[{"id":"a","subject":"a","verify":["true"]},{"id":"b","subject":"b","verify":["true"]},{"id":"x","command":"true"},{"id":"c","subject":"c","verify":["true"]},
		{"id":"d","subject":"d","verify":["true"],"blockedBy":["a","b","c","x"]},{"id":"e","subject":"e","verify":["true"],"blockedBy":["a"]}]}`
	s := NewState(mustPlan(t, text))
	apply := func(b event.Body) {
		t.Helper()
		if err := s.apply(event.Event{Seq: s.Seq + 1, Time: epoch, Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	// start applies all decisions that may follow and returns the tasks that start.
	start := func() (started []string) {
		t.Helper()
		for b := decideNext(s, epoch); b != nil; b = decideNext(s, epoch) {
			apply(b)
			if a, ok := b.(event.AttemptStarted); ok {
				started = append(started, a.Task)
			}
		}
		return started
	}
	end := func(task string) {
		t.Helper()
		i, _ := s.Index(task)
		apply(onAttempt(s, i, runner.Result{Outcome: runner.Done, Duration: time.Second}, epoch, 0))
	}
	want := func(what string, tasks ...string) {
		t.Helper()
		if got := start(); !slices.Equal(got, tasks) {
			t.Fatalf("%s: %v start, want %v", what, got, tasks)
		}
	}
	c := event.DefaultConfig()
	c.Run, c.Parallel, c.Stagger, c.Limits.NoUSD, c.Limits.NoIterations = "r", 8, event.Staggered, true, true
	apply(event.RunStarted{Config: c})
	want("at the start", "a", "x")
	end("x")
	want("a command ended")
	if onFirstResponse(s, "b") != nil || onFirstResponse(s, "nobody") != nil {
		t.Fatal("a task that does not run has a response")
	}
	apply(onFirstResponse(s, "a"))
	want("the first response", "b", "c")
	if onFirstResponse(s, "b") != nil {
		t.Fatal("a wave is warmed twice")
	}
	end("b")
	end("c")
	end("a")
	want("the second wave", "d")
	end("d")
	want("the first attempt ended without a response", "e")

	c.Stagger = ""
	apply(event.RunStarted{Config: c})
	want("not staggered", "a", "b", "x", "c")
}
