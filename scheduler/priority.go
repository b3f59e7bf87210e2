package scheduler

import (
	"cmp"
	"slices"
	"time"

	"wavex/internal/event"
	"wavex/runner"
)

// This file ranks the tasks that could start. It uses estimates and not limits, and changes only
// the ranks of the queue.

func (s *State) learn(b event.AttemptEnded) {
	if b.Result.Outcome == runner.Done && b.Result.Duration > 0 {
		s.durations[b.Task] = b.Result.Duration
	}
}

// Expected returns the expected duration of an attempt at each task, in seconds: the plan's
// estimate, else the duration of the last attempt, else the mean of the known ones. known is false
// if there are none; every task then counts as 1.
func (s *State) Expected() (seconds []float64, known bool) {
	seconds = make([]float64, len(s.Plan.Tasks))
	sum, n := 0.0, 0
	for i := range s.Plan.Tasks {
		t := &s.Plan.Tasks[i]
		w := t.Estimate.Seconds
		if w <= 0 && len(s.durations) > 0 {
			w = s.durations[t.ID].Seconds()
		}
		if w > 0 {
			seconds[i] = w
			sum, n = sum+w, n+1
		}
	}
	mean := 1.0
	if n > 0 {
		mean = sum / float64(n)
	}
	if n < len(seconds) {
		for i, w := range seconds {
			if w == 0 {
				seconds[i] = mean
			}
		}
	}
	return seconds, n > 0
}

// rankTasks ranks the tasks for a new session. Within a wave the longest task goes first, which
// leaves the least idle time before the barrier. With the eager schedule the longest remaining path
// goes first. Tasks of a sequential wave and tasks with equal ranks keep the plan's order.
func (s *State) rankTasks() (order []int32) {
	s.queue.rank = make([]float64, len(s.Tasks))
	order = make([]int32, len(s.Tasks))
	for i := range order {
		order[i] = int32(i)
	}
	seconds, known := s.Expected()
	if s.Config.Schedule == event.Eager {
		s.queue.rank = s.Plan.Graph.Remaining(func(i int) float64 { return seconds[i] })
	} else if known {
		for i := range s.Tasks {
			if !s.Plan.Sequential(s.Tasks[i].Wave) {
				s.queue.rank[i] = seconds[i]
			}
		}
	} else {
		return order
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(s.queue.rank[b], s.queue.rank[a]) })
	return order
}

// delayTask records a task that waits for a time, so that wake need not search for it.
func (s *State) delayTask(i int, until time.Time) {
	if !until.IsZero() {
		s.queue.delayed = append(s.queue.delayed, int32(i))
	}
}
