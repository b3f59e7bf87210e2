package report

import (
	"cmp"
	"slices"
	"strings"

	"wavex/internal/check"
	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// This file tells why a task failed, with the end of the output.

// maxOutputLines bounds the lines of an output.
const maxOutputLines = 3

// Failure returns the reason why a task failed, in one line, and the output of the check that failed last, or another
// text of the last attempt. Both may be foreign.
func (t *Task) Failure() (reason, output string) {
	n := len(t.History)
	if n == 0 {
		return t.Reason, ""
	}
	last := &t.History[n-1].End.Result
	return cmp.Or(last.Reason, t.Reason), FailedOutput(last.Checks, last.Detail) // a breaker's reason repeats the stop
}

// FailedOutput returns the output of the check that failed last; detail if none did.
func FailedOutput(checks []check.Evidence, detail string) string {
	for _, c := range slices.Backward(checks) {
		if !c.Passed {
			return c.Output
		}
	}
	return detail
}

// OutputLines returns the last lines of a foreign output that are not empty, and the command that shows all of it.
func OutputLines(task, output string) []string {
	var text []string
	for line := range strings.Lines(textfmt.Block(output)) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			text = append(text, "  | "+line)
		}
	}
	text = text[max(0, len(text)-maxOutputLines):]
	return append(text, "  full output: wavex logs "+plan.ShellQuote(textfmt.Line(task)))
}
