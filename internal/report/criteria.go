package report

import (
	"slices"

	"wavex/internal/event"
	"wavex/scheduler"
)

// Criterion is one condition of the run's completion, whether it is met, and the kind of its
// evidence.
type Criterion struct {
	Text         string
	Met          bool
	Verification string // as in event.Criterion
}

// Criteria returns the plan's criteria and those of its tasks, in order. If there are none, it
// returns the single criterion that every task is completed. The status block, the state files and
// the reports all use it, so that they cannot disagree.
func Criteria(s *scheduler.State) []Criterion {
	if len(s.Criteria) == 0 {
		c := Criterion{Text: "all tasks completed", Met: s.Counts.Completed == len(s.Tasks),
			Verification: event.Assumption}
		if c.Met {
			c.Verification = weakestEvidence(s)
		}
		return []Criterion{c}
	}
	let := Complete(s) && s.Gate == nil // a journal from before there was a gate
	out := make([]Criterion, len(s.Criteria))
	for i, c := range s.Criteria {
		text := c.Text
		if c.Task != "" {
			text = DisplayID(c.Task) + ": " + text
		}
		out[i] = Criterion{Text: text, Met: c.Met || let, Verification: c.Verification}
	}
	return out
}

// Complete reports whether the run has ended with everything done and verified: the exit signal.
func Complete(s *scheduler.State) bool {
	if s.Gate == nil {
		return s.Ended != nil && s.Ended.Status == event.RunComplete
	}
	return s.ExitSignal
}

// weakestEvidence returns the weakest kind of the evidence of the gate; before it, nothing is shown.
func weakestEvidence(s *scheduler.State) string {
	if s.Evidence == nil {
		return event.Assumption
	}
	worst := 0
	for _, r := range s.Evidence {
		worst = max(worst, slices.Index(evidenceOrder, r.Kind))
	}
	return evidenceOrder[worst]
}
