package report

import (
	"fmt"
	"strings"

	"wavex/internal/event"
	"wavex/internal/textfmt"
)

// bases orders the bases of evidence, those that call for attention first.
var bases = []event.Basis{event.Unproven, event.Accepted, event.Allowed, event.Rests, event.Empty, event.Kept,
	event.Changed, event.Proven, event.Ran, event.Reviewed, event.Judged}

// maxEvidenceRows bounds the rows that a text lists.
const maxEvidenceRows = 20

// evidenceLines returns the evidence as lines of text: how many criteria and tasks have which basis, and those that
// nothing shows or only their author saw.
func (r *Summary) evidenceLines() (lines []string) {
	count := map[event.Basis]int{}
	for _, e := range r.Evidence {
		count[e.Basis]++
	}
	var parts []string
	for _, b := range bases {
		if count[b] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[b], b))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	lines = append(lines, "Evidence: "+strings.Join(parts, ", "))
	for _, e := range r.Evidence {
		if e.Why == "" {
			continue
		}
		if len(lines) > maxEvidenceRows {
			return append(lines, "and more without evidence")
		}
		lines = append(lines, fmt.Sprintf("%s is %s: %s", textfmt.Line(e.ID()), e.Basis, textfmt.Line(e.Why)))
	}
	return lines
}

// unprovenTasks returns the missing evidence of unproven tasks, by task.
func (r *Summary) unprovenTasks() map[string]string {
	out := map[string]string{}
	for _, e := range r.Evidence {
		if e.Basis == event.Unproven && e.Criterion == "" {
			out[e.Task] = e.Why
		}
	}
	return out
}
