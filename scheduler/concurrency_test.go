package scheduler

import (
	"testing"

	"pgregory.net/rapid"

	"wavex/runner"
)

func TestLimiter(t *testing.T) {
	t.Parallel()
	f := newLimiter(32)
	if f.Limit != 8 {
		t.Fatalf("%d start in one instant", f.Limit)
	}
	for range 24 {
		f = f.afterOutcome(runner.Done)
	}
	if f.Limit != 32 {
		t.Fatalf("after 24 successes the slow start is at %d of 32", f.Limit)
	}
	f = f.afterOutcome(runner.Throttled)
	if f.Limit != 16 {
		t.Fatalf("a refusal left %d of 32", f.Limit)
	}
	for range 15 {
		f = f.afterOutcome(runner.Wrong)
	}
	if f.Limit != 16 {
		t.Fatalf("it grew to %d before a whole round of successes", f.Limit)
	}
	if f = f.afterOutcome(runner.Done); f.Limit != 17 {
		t.Fatalf("a round of successes left %d", f.Limit)
	}
	if f = f.afterOutcome(runner.Limited); f.Limit != 1 {
		t.Fatalf("after a usage limit %d probes go", f.Limit)
	}
	if f = f.afterOutcome(runner.Interrupted); f.Limit != 1 {
		t.Fatal("an interruption says nothing of the API")
	}
	if f = f.afterOutcome(runner.Done); f.Limit != 2 {
		t.Fatalf("a probe that passed leaves %d", f.Limit)
	}
}

func TestLimiterStaysInItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(-1, 64).Draw(t, "parallel")
		f := newLimiter(most)
		for _, o := range rapid.SliceOf(rapid.SampledFrom(runner.Outcomes[:])).Draw(t, "outcomes") {
			f = f.afterOutcome(o)
			if f.Limit < 1 || f.Limit > max(1, most) {
				t.Fatalf("%d side by side with -j %d", f.Limit, most)
			}
		}
	})
}
