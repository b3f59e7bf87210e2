package scheduler

import (
	"time"

	"wavex/internal/event"
)

// TimeLeft estimates the time until the session has settled its tasks, if every next attempt succeeds: for each wave,
// or for the whole plan with the eager schedule, the longest chain of tasks or their sum divided by the parallel
// limit, whichever is more. Reviews and integrations are not in it. known is false if the duration of no task is known.
func (s *State) TimeLeft(now time.Time) (left time.Duration, known bool) {
	seconds, known := s.Expected()
	if !known {
		return 0, false
	}
	work, longest := make([]float64, s.Waves+1), make([]float64, s.Waves+1)
	for i := range s.Tasks {
		t := &s.Tasks[i]
		switch {
		case t.Status.Finished() || t.Status == event.Verified || !s.Selected(i):
			seconds[i] = 0
		case t.Status == event.InProgress:
			seconds[i] = max(0, seconds[i]-now.Sub(t.Started).Seconds())
		}
		wave := t.Wave
		if s.Config.Schedule == event.Eager {
			wave = 0
		}
		work[wave] += seconds[i]
		longest[wave] = max(longest[wave], seconds[i])
	}
	if s.Config.Schedule == event.Eager {
		for _, chain := range s.Plan.Graph.Remaining(func(i int) float64 { return seconds[i] }) {
			longest[0] = max(longest[0], chain)
		}
	}
	sum := 0.0
	for w := range work {
		sum += max(longest[w], work[w]/float64(max(1, s.Config.Parallel)))
	}
	return time.Duration(sum * float64(time.Second)), true
}
