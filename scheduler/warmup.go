package scheduler

import "wavex/internal/event"

// This file staggers the first starts of a wave, if configured. One agent starts first, and the
// others follow when its first response has begun, because the provider has then cached the part
// that their prompts share.

// onFirstResponse returns the event for the first response of a wave, or nil if no task waits for it.
func onFirstResponse(s *State, task string) event.Body {
	i, ok := s.Index(task)
	if !ok || !s.warming || s.Tasks[i].Status != event.InProgress {
		return nil
	}
	return event.WaveWarmed{Wave: s.Wave, Task: task}
}

// waitsForWarmup reports whether a task must wait for the first response of its wave.
func (s *State) waitsForWarmup(i int) bool {
	if !s.warming || s.Plan.Tasks[i].Command != "" || s.Tasks[i].Turn != nil {
		return false
	}
	for _, b := range s.openWork {
		if a, ok := b.(event.AttemptStarted); ok && a.Why != event.WhyChecks {
			if j, ok := s.Index(a.Task); ok && s.Plan.Tasks[j].Command == "" {
				return true
			}
		}
	}
	return false
}
