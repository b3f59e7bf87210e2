package textfmt

import (
	"fmt"
	"strings"
)

// Multiline cleans a text of several lines for a place that shows lines and spaces unchanged, such as a
// diff. It removes ANSI sequences and characters that act instead of showing, and turns line ends
// into newlines. If it cuts the text, to about max bytes (0: never), it says how much is missing.
func Multiline(text string, max int) string {
	if (max == 0 || len(text) <= max) && isPlain(text) {
		return text
	}
	missing := 0
	if max > 0 && len(text) > max {
		head := Head(text, max)
		text, missing = head, len(text)-len(head)
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && isInvisible(r) {
			return -1
		}
		return r
	}, ansiSequence().ReplaceAllString(text, ""))
	text = completionMarker().ReplaceAllString(text, "&lt;$1")
	if missing > 0 {
		text += fmt.Sprintf("\n… %d more bytes are left out", missing)
	}
	return text
}

// isPlain reports whether a text is visible ASCII without the start of a tag, so that nothing in it needs cleaning.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~' || c == '<') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}
