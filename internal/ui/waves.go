package ui

import "wavex/scheduler"

// waves counts what is settled in each wave, one step per event: the state could
// only be asked by looking at every task.
type waves struct{ done, all []int }

func (w *waves) reset(s *scheduler.State) {
	w.done, w.all = make([]int, s.Waves+1), make([]int, s.Waves+1)
	for i := range s.Tasks {
		t := &s.Tasks[i]
		w.all[t.Wave]++
		if t.Status.Settled() {
			w.done[t.Wave]++
		}
	}
}

func (w *waves) settled(s *scheduler.State, b scheduler.AttemptEnded) {
	list := b.Blocked
	if b.Status.Settled() {
		list = append([]string{b.Task}, list...)
	}
	for _, id := range list {
		if i, ok := s.Index(id); ok && s.Tasks[i].Wave < len(w.done) {
			w.done[s.Tasks[i].Wave]++
		}
	}
}

// figures are the open wave, how many there are, and its tasks settled and in total.
// Without barriers waves overlap, and the whole plan is shown instead: of is 0.
func (w *waves) figures(s *scheduler.State) (wave, of, done, all int) {
	if s.Config.Schedule == "eager" {
		return 0, 0, s.Counts.Completed + s.Counts.Failed + s.Counts.Blocked, len(s.Tasks)
	}
	wave = max(s.Wave, 1)
	if wave < len(w.all) {
		done, all = w.done[wave], w.all[wave]
	}
	return wave, s.Waves, done, all
}
