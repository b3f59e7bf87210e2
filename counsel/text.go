// This file cuts and cleans text for prompts, journals and displays. It does not interpret the
// text.

package counsel

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain returns s as valid UTF-8 without control characters except newline and tab. A terminal's
// colour codes neither help a model nor belong in a display.
func plain(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == 0x1b {
			i += escapeLen(s[i:])
			continue
		}
		if r == '\n' || r == '\t' || !unicode.IsControl(r) {
			b.WriteRune(r)
		} else if r == '\r' {
			b.WriteByte('\n')
		}
		i += size
	}
	return b.String()
}

// escapeLen returns the length of the terminal escape sequence at the start of s: a whole CSI
// sequence, or else the escape character alone.
func escapeLen(s string) int {
	if len(s) < 2 || s[1] != '[' {
		return 1
	}
	for i := 2; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1
		}
		if s[i] < 0x20 || s[i] > 0x7e {
			return i
		}
	}
	return len(s)
}

// headTail returns s whole, or its head and tail with a line between them that says how much is
// missing, at most limit bytes together (limits below 80 only cut). The tail gets the larger part
// because tools print their verdict last.
func headTail(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	if limit < 80 {
		return s[:runeStart(s, max(0, limit))]
	}
	room := limit - len(elision(len(s)))
	head := runeStart(s, room*2/5)
	tail := len(s) - (room - head)
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + elision(tail-head) + s[tail:]
}

func elision(n int) string { return fmt.Sprintf("\n[... %d bytes left out ...]\n", n) }

// runeStart returns the last index at or before i where a rune starts.
func runeStart(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return min(i, len(s))
}

// oneLine returns s as one clean line of at most limit bytes.
func oneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(plain(s)), " ")
	if len(s) <= limit {
		return s
	}
	const more = "..."
	if limit <= len(more) {
		return s[:runeStart(s, max(0, limit))]
	}
	return s[:runeStart(s, limit-len(more))] + more
}
