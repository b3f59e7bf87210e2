package counsel

import (
	"strings"

	"wavex/internal/textfmt"
)

// oneLine returns s as one clean line of at most n bytes.
func oneLine(s string, n int) string { return textfmt.OneLine(textfmt.Plain(s), n) }

// boundedText cleans a text of a model, and cuts its middle if it is long.
func boundedText(s string) string {
	return textfmt.HeadTail(strings.TrimSpace(textfmt.Plain(s)), maxText)
}
