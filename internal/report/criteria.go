package report

import (
	"fmt"
	"slices"

	"wavex/internal/event"
	"wavex/scheduler"
)

// Criterion is one condition of the run's completion, whether it is met, and the kind of its
// evidence.
type Criterion struct {
	Text         string
	Met          bool
	Verification string // as in event.Criterion, or event.Accepted
}

// Criteria returns the plan's criteria and those of its tasks, in order. If there are none, it returns the single
// criterion that every task is completed. Equal texts get numbers, because the text is the key. The status block, the
// state files and the reports all use it, so that they cannot disagree. A criterion that a person accepted without evidence counts as
// met once the run is complete, because the exit signal means that all of them are met.
func Criteria(s *scheduler.State) []Criterion {
	if len(s.Assessment.Criteria) == 0 {
		c := Criterion{Text: "all tasks completed", Met: s.IsDone(),
			Verification: event.Assumption}
		if c.Met {
			c.Verification = accepted(s, weakestEvidence(s))
		}
		return []Criterion{c}
	}
	let := Complete(s) && s.Assessment.Gate == nil // a journal from before there was a gate
	out, used := make([]Criterion, len(s.Assessment.Criteria)), map[string]bool{}
	for i, c := range s.Assessment.Criteria {
		text := c.Text
		if c.Task != "" {
			text = DisplayID(c.Task) + ": " + text
		}
		out[i] = Criterion{Text: Unique(used, text), Met: c.Met || let, Verification: accepted(s, c.Verification)}
		if Complete(s) && s.IsAllowedTask(c.Task) {
			out[i].Verification = string(event.Accepted)
		}
		out[i].Met = out[i].Met || out[i].Verification == string(event.Accepted)
	}
	return out
}

// Unique appends a number to a text if it was used before.
func Unique(used map[string]bool, text string) string {
	name := text
	for n := 2; used[name]; n++ {
		name = fmt.Sprintf("%s (%d)", text, n)
	}
	used[name] = true
	return name
}

// accepted returns a kind of evidence, or Accepted for an assumption that the gate let pass.
func accepted(s *scheduler.State, kind string) string {
	if kind == event.Assumption && Complete(s) && s.Config.AcceptAssumptions {
		return string(event.Accepted)
	}
	return kind
}

// Complete reports whether the run has ended with everything done and verified: the exit signal.
func Complete(s *scheduler.State) bool {
	if s.Assessment.Gate == nil {
		return s.Ended != nil && s.Ended.Status == event.RunComplete
	}
	return s.Assessment.ExitSignal
}

// weakestEvidence returns the weakest kind of the evidence of the gate; before it, nothing is shown.
func weakestEvidence(s *scheduler.State) string {
	if s.Assessment.Evidence == nil {
		return event.Assumption
	}
	worst := 0
	for _, r := range s.Assessment.Evidence {
		if r.Basis == event.Allowed {
			continue
		}
		worst = max(worst, slices.Index(evidenceOrder, r.Kind))
	}
	return evidenceOrder[worst]
}
