package source

// This file lists the mistakes that a file can have whatever its meaning.

import (
	"strconv"

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

// Quote formats a text of the user for a message: quoted, one line, at most 80 bytes.
func Quote(s string) string {
	return strconv.Quote(textfmt.Shorten(s, 80))
}
