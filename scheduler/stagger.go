package scheduler

// This file staggers the first starts of a wave, where the configuration asks for it: one
// agent goes first, and the others follow when its first response has begun, because by
// then the provider has cached what their prompts share. It knows nothing of prompts.

// Staggered is Config.Stagger for that.
const Staggered = "auto"

// WaveWarmed says that the first response of the open wave has begun, so that the rest of
// the wave may start.
type WaveWarmed struct {
	Wave int    `json:"wave"` // from 1
	Task string `json:"task"` // whose response it is
}

// Type is its name in the journal.
func (WaveWarmed) Type() string { return "wave_warmed" }

// warmed is the decision that a sign of a response asks for; nil when nobody waits for it.
func warmed(s *State, task string) Body {
	i, ok := s.Index(task)
	if !ok || !s.cold || s.Tasks[i].Status != InProgress {
		return nil
	}
	return WaveWarmed{Wave: s.Wave, Task: task}
}

// held tells whether a task has to wait for the first response of its wave.
func (s *State) held(i int) bool {
	if !s.cold || s.Plan.Tasks[i].Command != "" {
		return false
	}
	for _, b := range s.open {
		if a, ok := b.(AttemptStarted); ok {
			if j, ok := s.Index(a.Task); ok && s.Plan.Tasks[j].Command == "" {
				return true
			}
		}
	}
	return false
}
