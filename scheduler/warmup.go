package scheduler

// This file staggers the first starts of a wave, if configured. One agent starts first, and the
// others follow when its first response has begun, because the provider has then cached the part
// that their prompts share.

// Staggered is the value of Config.Stagger that enables this.
const Staggered = "auto"

// WaveWarmed says that the first response of the open wave has begun, so that the rest of the wave
// may start.
type WaveWarmed struct {
	Wave int    `json:"wave"` // from 1
	Task string `json:"task"` // the task of the response
}

// Type returns the event's name in the journal.
func (WaveWarmed) Type() string { return "wave_warmed" }

// onFirstResponse returns the event for the first response of a wave, or nil if no task waits for it.
func onFirstResponse(s *State, task string) Body {
	i, ok := s.Index(task)
	if !ok || !s.warming || s.Tasks[i].Status != InProgress {
		return nil
	}
	return WaveWarmed{Wave: s.Wave, Task: task}
}

// waitsForWarmup reports whether a task must wait for the first response of its wave.
func (s *State) waitsForWarmup(i int) bool {
	if !s.warming || s.Plan.Tasks[i].Command != "" {
		return false
	}
	for _, b := range s.openWork {
		if a, ok := b.(AttemptStarted); ok {
			if j, ok := s.Index(a.Task); ok && s.Plan.Tasks[j].Command == "" {
				return true
			}
		}
	}
	return false
}
