// Package safe makes foreign text fit for a terminal and for our own output. What
// agents, checks and plans say is untrusted: it may hold escape sequences, the marks
// that other programs look for in our output, and any number of lines. It knows
// characters and columns, nothing of runs.
package safe

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"wavex/internal/lazy"
)

// sequence matches whole ANSI sequences, so that their parameters go with them: CSI,
// then strings (OSC, DCS, SOS, PM, APC) up to BEL or ST, then any other escape. An
// unfinished string loses its opening only.
var sequence = lazy.Regexp("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]" +
	"|(?:\x1b[\\]PX^_]|[\u0090\u0098\u009d\u009e\u009f])[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)" +
	"|\x1b[ -/]*[0-~]")

// marker matches the tag with which a loop announces its own completion.
var marker = lazy.Regexp(`(?i)<(/?\s*loop-complete)`)

// Line makes text one line of printable characters: ANSI sequences and control
// characters are gone, every run of white space is one space, and a completion
// marker is escaped, since only wavex says that a loop is complete.
func Line(text string) string {
	if tame(text) {
		return text
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = sequence().ReplaceAllString(text, "")
	var b strings.Builder
	space := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case hidden(r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return marker().ReplaceAllString(b.String(), "&lt;$1")
}

// tame tells quickly that Line would change nothing: printable ASCII, single spaces
// between words, and no angle bracket.
func tame(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c > '~' || c < ' ' || c == '<':
			return false
		case c == ' ' && (i == 0 || i == len(text)-1 || text[i-1] == ' '):
			return false
		}
	}
	return true
}

// hidden tells whether a character acts instead of showing: controls, text
// direction (which can make a line read as another), tags, zero width. The joiner
// stays, emoji are made with it.
func hidden(r rune) bool {
	switch {
	case r == '\u200d':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		return true
	}
	return r == '\u2028' || r == '\u2029'
}

// JSON escapes, in encoded JSON, the characters that act instead of showing and that
// an encoder lets through. What it decodes to stays the same.
func JSON(encoded []byte) []byte {
	odd := slices.IndexFunc(encoded, func(c byte) bool { return c < ' ' || c > '~' })
	if odd < 0 || !bytes.ContainsFunc(encoded[odd:], hidden) {
		return encoded
	}
	out := make([]byte, 0, len(encoded)+32)
	for _, r := range string(encoded) {
		switch {
		case !hidden(r) || r == '\n':
			out = utf8.AppendRune(out, r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, "\\u%04x\\u%04x", hi, lo)
		default:
			out = fmt.Appendf(out, "\\u%04x", r)
		}
	}
	return out
}

// Fit is Line, cut to a number of columns as a terminal counts them, with an
// ellipsis where something is missing.
func Fit(text string, columns int, ascii bool) string {
	return Cut(Line(text), columns, ascii)
}

// Cut shortens a text that is clean already.
func Cut(text string, columns int, ascii bool) string {
	if columns <= 0 {
		return ""
	}
	if len(text) <= columns || uniseg.StringWidth(text) <= columns { // no character is wider than its bytes
		return text
	}
	dots := "…"
	if ascii {
		dots = "..."
	}
	if columns < len(dots) && ascii {
		return dots[:columns]
	}
	room := columns - uniseg.StringWidth(dots)
	end, rest, state := 0, text, -1
	for rest != "" {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if w > room {
			break
		}
		room -= w
		end += len(cluster)
	}
	return strings.TrimRight(text[:end], " ") + dots
}

// Block is a text of several lines, each as Line has it but with its indentation;
// empty lines at the ends are gone. It ends without a newline.
func Block(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " \t")
		indent := strings.ReplaceAll(line[:len(line)-len(body)], "\t", "    ")
		lines = append(lines, strings.TrimRight(indent+Line(body), " "))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// First is the first line of a text that says something.
func First(text string) string {
	for line := range strings.Lines(text) {
		if line = Line(line); line != "" {
			return line
		}
	}
	return ""
}

// Width is the number of columns a clean text takes.
func Width(text string) int { return uniseg.StringWidth(text) }

// Pad fills a clean text with spaces up to a number of columns.
func Pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(columns-Width(text), 0))
}

// PadLeft is Pad with the spaces in front, for numbers.
func PadLeft(text string, columns int) string {
	return strings.Repeat(" ", max(columns-Width(text), 0)) + text
}
