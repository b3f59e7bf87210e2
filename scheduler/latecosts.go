package scheduler

import (
	"fmt"
	"maps"
	"slices"

	"wavex/budget"
	"wavex/internal/event"
)

// This file corrects the costs of attempts that counted at their caps, since their workers were lost. A worker that
// comes back, or whose work is salvaged, pushes the result of its attempt.

// cappedAttempt is an attempt that has ended with an unknown cost, and the known part of its correction.
type cappedAttempt struct {
	job        job
	correction event.CostCorrected
}

// noteCap notes the end of an attempt at its cap. open is its open work.
func (s *State) noteCap(b event.AttemptEnded, open event.Body) {
	if b.Result.Priced == "cap" && s.Config.Workers.Engine != "" && !isPaid(open) {
		j := jobOf(open)
		s.atCap[j.key] = cappedAttempt{j, event.CostCorrected{Task: b.Task, Key: b.Key, Attempt: b.Attempt,
			Was: b.Result.Cost}}
	}
}

// unknownCost returns the part of the cost of task i that counts at the caps of attempts.
func (s *State) unknownCost(i int) (sum budget.USD) {
	for _, a := range s.atCap {
		if a.correction.Task == s.Plan.Tasks[i].ID && a.correction.Key == s.Tasks[i].Key {
			sum += a.correction.Was
		}
	}
	return sum
}

func (s *State) applyCostCorrected(b event.CostCorrected) error {
	key := attemptKey(b.Task, b.Attempt)
	a, ok := s.atCap[key]
	if !ok || a.correction.Was != b.Was {
		return fmt.Errorf("the cost of attempt %d of %s was corrected, but it does not count at %s", b.Attempt, b.Task, b.Was)
	}
	delete(s.atCap, key)
	s.purse(a.job).correct(b.Was, b.Cost, b.Usage.Total())
	s.correctCost(b.Task, b.Cost-b.Was)
	if i, ok := s.Index(b.Task); ok && s.Tasks[i].Key == b.Key {
		t := &s.Tasks[i]
		t.Cost += b.Cost - b.Was
		t.Usage = t.Usage.Plus(b.Usage)
		if t.Last != nil && t.Attempts == b.Attempt {
			last := b.Correct(*t.Last)
			t.Last = &last
		}
	}
	return nil
}

// decideCorrections returns the corrections of the costs that workers have told since.
func (r *running) decideCorrections() (out []event.Body) {
	if r.LateCosts == nil || len(r.s.atCap) == 0 || r.kill.Err() != nil {
		return nil
	}
	var open []event.CostCorrected
	for _, key := range slices.Sorted(maps.Keys(r.s.atCap)) {
		open = append(open, r.s.atCap[key].correction)
	}
	for _, b := range r.LateCosts(r.kill, open) {
		out = append(out, b)
	}
	return out
}
