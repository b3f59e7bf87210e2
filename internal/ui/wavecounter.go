package ui

import (
	"wavex/internal/event"
	"wavex/scheduler"
)

// waveCounter counts the settled tasks of each wave, one step per event: the state would have to be
// scanned task by task.
type waveCounter struct{ done, all []int }

func (w *waveCounter) reset(s *scheduler.State) {
	w.done, w.all = make([]int, s.Waves+1), make([]int, s.Waves+1)
	for i := range s.Tasks {
		t := &s.Tasks[i]
		w.all[t.Wave]++
		if t.Status.Finished() {
			w.done[t.Wave]++
		}
	}
}

func (w *waveCounter) attemptEnded(s *scheduler.State, b event.AttemptEnded) {
	list := b.Blocked
	if b.Status.Finished() {
		list = append([]string{b.Task}, list...)
	}
	for _, id := range list {
		if i, ok := s.Index(id); ok && s.Tasks[i].Wave < len(w.done) {
			w.done[s.Tasks[i].Wave]++
		}
	}
}

// current returns the open wave, the number of waves, and the wave's tasks settled and in total.
// Without barriers waves overlap; figures then returns the whole plan, and of is 0.
func (w *waveCounter) current(s *scheduler.State) (wave, of, done, all int) {
	if s.Config.Schedule == event.Eager {
		return 0, 0, s.Counts.Completed + s.Counts.Failed + s.Counts.Blocked, len(s.Tasks)
	}
	wave = max(s.Wave, 1)
	if wave < len(w.all) {
		done, all = w.done[wave], w.all[wave]
	}
	return wave, s.Waves, done, all
}
