package report

import (
	"fmt"
	"strings"

	"wavex/internal/ui/safe"
	"wavex/scheduler"
)

// Completion is the block that says that a loop is complete (LEDGER S0-72, S2-36): every
// task, every criterion with the evidence it rests on, and the verdict. It is "" for
// any other run: one without the exit signal, or whose end says anything else. Nothing
// but this function writes that mark. The verdict's box keeps to width columns; 0: it is as
// wide as it likes.
func Completion(s *scheduler.State, width int, ascii bool) string {
	if !s.ExitSignal || s.Ended == nil || s.Ended.Status != "complete" || s.Counts.Completed != len(s.Tasks) {
		return ""
	}
	mark := "✓"
	if ascii {
		mark = "OK"
	}
	var b strings.Builder
	b.WriteString("<loop-complete>\nAll tasks verified:\n")
	for i := range s.Plan.Tasks {
		t := &s.Plan.Tasks[i]
		fmt.Fprintf(&b, "- %s: %s %s\n", safe.Line(DisplayID(t.ID)), mark, safe.Fit(t.Title(), 120, ascii))
	}
	b.WriteString("\nAll success criteria satisfied:\n")
	for _, c := range Criteria(s) {
		note := mark
		if !c.Met { // it was let through without evidence
			note = "accepted"
		}
		fmt.Fprintf(&b, "- %s: %s (%s)\n", safe.Fit(c.Text, 160, ascii), note, c.Verification)
	}
	b.WriteString("\n" + VerdictOf(s).Box(width, ascii) + "</loop-complete>\n")
	return b.String()
}
