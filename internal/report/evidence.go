package report

import (
	"fmt"
	"slices"
	"strings"

	"wavex/internal/event"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// bases orders the bases of evidence, those that call for attention first.
var bases = []event.Basis{event.Unproven, event.Accepted, event.Allowed, event.Rests, event.Nothing, event.Empty,
	event.Kept, event.Changed, event.Proven, event.Ran, event.Reviewed, event.Judged}

// maxEvidenceLines bounds the lines that a text has.
const maxEvidenceLines = 20

// EvidenceLines returns the lines of the evidence of a run, which the gate looked at.
func EvidenceLines(s *scheduler.State) []string {
	return (&Summary{Assessment: s.Assessment}).evidenceLines()
}

// evidenceLines returns the evidence as lines of text: how many criteria and tasks have which basis, and how each is
// known, a line for those that are known alike.
func (r *Summary) evidenceLines() []string {
	count, known, ids := map[event.Basis]int{}, []string(nil), map[string][]string{}
	rows := slices.Clone(r.Evidence)
	slices.SortStableFunc(rows, func(a, b event.Evidence) int {
		return slices.Index(bases, a.Basis) - slices.Index(bases, b.Basis)
	})
	for _, e := range rows {
		count[e.Basis]++
		how := textfmt.Line(Known(e))
		if ids[how] == nil {
			known = append(known, how)
		}
		ids[how] = append(ids[how], e.ID())
	}
	var parts, lines []string
	for _, b := range bases {
		if count[b] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[b], b))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	for _, how := range known[:min(len(known), maxEvidenceLines)] {
		lines = append(lines, clipIDs(ids[how])+": "+how)
	}
	if more := len(known) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return append([]string{"Evidence: " + strings.Join(parts, ", ")}, lines...)
}

// Known says how a criterion or a task is known to be done, or why it is not, in one clause without the id.
func Known(e event.Evidence) string {
	switch {
	case e.Basis == event.Reviewed && e.Why != "":
		return "a review passed it: " + e.Why
	case e.Why != "":
		return e.Why
	case e.By != "":
		return e.By + " shows it"
	}
	return map[event.Basis]string{
		event.Proven:   "the checks failed before the work and pass now",
		event.Ran:      "the command ended with exit code 0",
		event.Reviewed: "a review passed it",
		event.Judged:   "a judge quotes what shows it",
		event.Kept:     "it held before the work too",
	}[e.Basis]
}
