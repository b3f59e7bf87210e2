// Package textfmt cleans foreign text for a terminal and for the output of wavex. Text from agents,
// checks and plans is untrusted: it may hold escape sequences, marks that other programs look for
// in the output, and any number of lines. The package knows characters, columns and patterns, and nothing of
// runs.
package textfmt

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// ansiSequence matches whole ANSI sequences with their parameters: CSI, then strings (OSC, DCS, SOS,
// PM, APC) up to BEL or ST, then any other escape. Only the opening of an unfinished string
// matches. A CSI sequence may be cut off by the end of the text.
var ansiSequence = Pattern("(?:\x1b\\[|\u009b)[0-?]*[ -/]*(?:[@-~]|\\z)" +
	"|(?:\x1b[\\]PX^_]|[\u0090\u0098\u009d\u009e\u009f])[^\x07\x1b\u009c]*(?:\x07|\x1b\\\\|\u009c)" +
	"|\x1b[ -/]*[0-~]")

// completionMarker matches the tag with which a loop announces its own completion.
var completionMarker = Pattern(`(?i)<(/?\s*loop-complete)`)

// Line makes text one line of printable characters. It removes ANSI sequences and control
// characters, turns every run of white space into one space, and escapes a completion marker,
// because only wavex may announce that a loop is complete.
func Line(text string) string {
	if isClean(text) {
		return text
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = ansiSequence().ReplaceAllString(text, "")
	var b strings.Builder
	space := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case isInvisible(r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return completionMarker().ReplaceAllString(b.String(), "&lt;$1")
}

// StripANSI removes the ANSI sequences from text, and nothing else.
func StripANSI(text string) string {
	if !strings.ContainsAny(text, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") {
		return text
	}
	return ansiSequence().ReplaceAllString(text, "")
}

// isClean reports, quickly, that Line would not change text: printable ASCII, single spaces between
// words, and no angle bracket.
func isClean(text string) bool {
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

// isInvisible reports whether a character acts instead of showing: controls, text direction (which can
// make a line look like another one), tags, zero width. The joiner stays, because emoji use it.
func isInvisible(r rune) bool {
	switch {
	case r == '\u200d':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		return true
	}
	return r == '\u2028' || r == '\u2029'
}

// JSON escapes, in encoded JSON, the characters that act instead of showing and that an encoder
// does not escape. The decoded value does not change.
func JSON(encoded []byte) []byte {
	odd := slices.IndexFunc(encoded, func(c byte) bool { return c < ' ' || c > '~' })
	if odd < 0 || !bytes.ContainsFunc(encoded[odd:], isInvisible) {
		return encoded
	}
	out := make([]byte, 0, len(encoded)+32)
	for _, r := range string(encoded) {
		switch {
		case !isInvisible(r) || r == '\n':
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

// Fit is like Line, but cuts the text to a number of terminal columns and marks the cut with an
// ellipsis.
func Fit(text string, columns int, ascii bool) string {
	return Truncate(Line(text), columns, ascii)
}

// Truncate shortens a text that is already clean.
func Truncate(text string, columns int, ascii bool) string {
	if columns <= 0 {
		return ""
	}
	if len(text) <= columns || uniseg.StringWidth(text) <= columns { // no character is wider than its number of bytes
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

// Block cleans a text of several lines: each like Line, but with its indentation, without empty
// lines at the start and the end. The result has no final newline.
func Block(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " \t")
		indent := strings.ReplaceAll(line[:len(line)-len(body)], "\t", "    ")
		lines = append(lines, strings.TrimRight(indent+Line(body), " "))
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// FirstLine returns the first line of a text that is not empty.
func FirstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = Line(line); line != "" {
			return line
		}
	}
	return ""
}

// Width returns the number of columns that a clean text takes.
func Width(text string) int { return uniseg.StringWidth(text) }

// Pad fills a clean text with spaces on the right up to a number of columns.
func Pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(columns-Width(text), 0))
}

// PadLeft is like Pad, with the spaces on the left, for numbers.
func PadLeft(text string, columns int) string {
	return strings.Repeat(" ", max(columns-Width(text), 0)) + text
}
