//go:build unix

package plan

// This file compares the work of reading the tasks of a big plan in two orders.

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

// The order of the tasks in a file changes neither the graph nor, by much, the work of reading it.
func TestTasksInAnyOrder(t *testing.T) { // not parallel: it compares times
	plans := [][]byte{bigPlan(100_000)}
	plans = append(plans, shuffled(plans[0]))
	best := [2]time.Duration{time.Hour, time.Hour} // of the processor: other processes run beside the test
	var read [2]*Plan
	for round := range 9 {
		for k, data := range plans {
			began := processorTime(t)
			p, ds := Parse("big.json", data, Options{})
			best[k] = min(best[k], processorTime(t)-began)
			if p == nil || len(ds) != 0 {
				t.Fatal(ds)
			}
			read[k] = p
		}
		if round > 0 && 2*best[1] <= 3*best[0] {
			break
		}
	}
	if 2*best[1] > 3*best[0] {
		t.Errorf("%v in order, %v shuffled", best[0], best[1])
	}
	for i := range read[0].Tasks {
		k, _ := read[1].Lookup(read[0].Tasks[i].ID)
		want, got := IDs(read[0], read[0].Graph.Blockers(i)), IDs(read[1], read[1].Graph.Blockers(k))
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("task %s is blocked by %v, want %v", read[0].Tasks[i].ID, got, want)
		}
	}
}

// processorTime returns the time of the processor that this process took.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
