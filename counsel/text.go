package counsel

import (
	"cmp"
	"strings"

	"wavex/internal/textfmt"
	"wavex/runner"
)

// oneLine returns s as one clean line of at most n bytes.
func oneLine(s string, n int) string { return textfmt.OneLine(textfmt.Plain(s), n) }

// boundedText cleans a text of a model, and cuts its middle if it is long.
func boundedText(s string) string {
	return textfmt.HeadTail(strings.TrimSpace(textfmt.Plain(s)), maxText)
}

// noAnswer returns why a call has no answer, with at most 300 bytes of its reason.
func noAnswer(a runner.Answer) string {
	return strings.TrimSuffix(cmp.Or(string(a.Outcome), "no outcome")+": "+oneLine(a.Reason, 300), ": ")
}
