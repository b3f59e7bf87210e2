package source

// This file names what can be wrong with a file before anybody knows what it means.

import (
	"strconv"
	"strings"
)

// Pos is a place in the plan file; Line and Column count from 1, Column in bytes.
type Pos struct{ Line, Column int }

// Codes of what is wrong with a file as such; package plan has the others.
const (
	CodeSyntax    = "syntax"     // not JSON, or not YAML
	CodeEncoding  = "encoding"   // not UTF-8, or a NUL character
	CodeTooDeep   = "too-deep"   // nested deeper than any plan needs
	CodeTooLarge  = "too-large"  // the file, or what its YAML aliases expand to
	CodeEmptyPlan = "empty-plan" // no tasks
)

// Quote shows a text of the user's in a message: quoted, one line, at most 80 bytes.
func Quote(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:77], "") + "..."
	}
	return strconv.Quote(s)
}
