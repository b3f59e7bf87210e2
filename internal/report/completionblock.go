package report

import (
	"fmt"
	"strings"

	"wavex/internal/event"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// Completion returns the block that announces a complete loop: every task or list of tasks, every
// criterion with its evidence, and the verdict. It returns "" for any other run: one without the exit signal, or with
// another end. No other function writes that mark. width bounds the columns of the verdict's box; 0
// means no bound.
func Completion(s *scheduler.State, width int, ascii bool) string {
	if !IsComplete(s) {
		return ""
	}
	mark, failed := "✓", "✗ failed, as the plan allows:"
	if ascii {
		mark, failed = "OK", "failed, as the plan allows:"
	}
	var b strings.Builder
	b.WriteString("<loop-complete>\nAll tasks verified:\n")
	group := ""
	for i := range s.Plan.Tasks {
		t, sign := &s.Plan.Tasks[i], mark
		if t.Group != "" && t.Group != group { // one line for a list, and those of the items that failed
			group = t.Group
			g := GroupOf(s, s.Plan.Group(group))
			fmt.Fprintf(&b, "- %s: %s %d of %s (%s)\n", textfmt.Line(group), mark, g.Completed, Plural(g.Items, "item", "items"),
				textfmt.Fit(g.List, 120, ascii))
		}
		switch {
		case s.IsAllowed(i):
			sign = failed
		case t.Group != "":
			continue
		}
		fmt.Fprintf(&b, "- %s: %s %s\n", textfmt.Line(DisplayID(t.ID)), sign, textfmt.Fit(t.Title(), 120, ascii))
	}
	b.WriteString("\nAll success criteria satisfied:\n")
	for _, c := range Criteria(s) {
		note := mark + " (" + c.Verification + ")"
		if c.Verification == string(event.Accepted) {
			note = "accepted (assumption)"
		}
		fmt.Fprintf(&b, "- %s: %s\n", textfmt.Fit(c.Text, 160, ascii), note)
	}
	b.WriteString("\n" + VerdictOf(s).Box(width, ascii) + "</loop-complete>\n")
	return b.String()
}

// IsComplete reports whether a run has ended complete, with the exit signal: then it has a verdict.
func IsComplete(s *scheduler.State) bool {
	return s.Assessment.ExitSignal && s.Ended != nil && s.Ended.Status == event.RunComplete && s.IsDone()
}
