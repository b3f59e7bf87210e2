package source

// This file lists the mistakes that a file can have whatever its meaning.

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"wavex/internal/textfmt"
)

// Pos is a position in the plan file; Line and Column count from 1, Column in bytes.
type Pos struct{ Line, Column int }

// Codes of mistakes of the file itself; package plan has the others.
const (
	CodeSyntax    = "syntax"     // not JSON, or not YAML
	CodeEncoding  = "encoding"   // not UTF-8, or a NUL character
	CodeTooDeep   = "too-deep"   // nested deeper than any plan needs
	CodeTooLarge  = "too-large"  // the file, or the expansion of its YAML aliases
	CodeEmptyPlan = "empty-plan" // no tasks
)

// EncodingProblem returns the offset of the first character that no plan may have, and a message
// about it; "" if there is none.
func EncodingProblem(src string) (off int, message string) {
	if i := strings.IndexByte(src, 0); i >= 0 {
		return i, "a NUL character; save the file as UTF-8 text"
	}
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRuneInString(src[i:])
		if r == utf8.RuneError && n == 1 {
			return i, "not valid UTF-8; save the file as UTF-8"
		}
		i += n
	}
	return 0, ""
}

// Quote formats a text of the user for a message: quoted, one line, at most 80 bytes.
func Quote(s string) string {
	return strconv.Quote(textfmt.Shorten(s, 80))
}
