package plan

// This file names what can be wrong with a plan file, and says it the way compilers
// do. It does not look for mistakes.

import (
	"fmt"
	"strings"

	"wavex/internal/plan/source"
)

// Severities of a Diagnostic. A plan with an error is not run; a warning never stops one.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// Codes of diagnostics: a closed set, stable across releases, described in docs/plan.md.
const (
	CodeSyntax             = source.CodeSyntax     // not JSON, or not YAML
	CodeEncoding           = source.CodeEncoding   // not UTF-8, or a NUL character
	CodeTooDeep            = source.CodeTooDeep    // nested deeper than any plan needs
	CodeTooLarge           = source.CodeTooLarge   // the file, or what its YAML aliases expand to
	CodeEmptyPlan          = source.CodeEmptyPlan  // no tasks
	CodeTooMany            = "too-many"            // diagnostics that were left out
	CodeUnknownField       = "unknown-field"       //
	CodeDuplicateField     = "duplicate-field"     //
	CodeMissingField       = "missing-field"       //
	CodeConflict           = "conflict"            // fields that exclude each other
	CodeWrongType          = "wrong-type"          // a string where a list belongs, and so on
	CodeBadValue           = "bad-value"           // not one of the values allowed, or empty
	CodeBadNumber          = "bad-number"          // negative, too large, or not a whole number
	CodeBadDuration        = "bad-duration"        //
	CodeBadID              = "bad-id"              // unfit for a file name
	CodeBadPath            = "bad-path"            // absolute, or leaving the directory
	CodeBadPattern         = "bad-pattern"         // matches is no regular expression
	CodeMissingFile        = "missing-file"        // the "@file" of a prompt cannot be read
	CodeUnsupportedVersion = "unsupported-version" //
	CodeNoWork             = "no-work"             // neither subject nor prompt nor command
	CodeDuplicateID        = "duplicate-id"        //
	CodeUnknownTask        = "unknown-task"        // a blocker that does not exist
	CodeSelfEdge           = "self-edge"           // a task blocked by itself
	CodeCycle              = "cycle"               //
	CodeWaveOrder          = "wave-order"          // a declared wave not behind those of the blockers (LEDGER C4)
	CodeWrongCount         = "wrong-count"         // an imported file holds another number of tasks or waves than it says
	CodeNotCarried         = "not-carried"         // warning: an import has no place for it
	CodeManualCheck        = "manual-check"        // warning: a check in words, which a person or a reviewer judges
	CodeGuessed            = "guessed"             // warning: an import settled something the file leaves open
	CodeNoCheck            = "no-check"            // warning: nothing proves the task (LEDGER S0-22)
	CodeFileOverlap        = "file-overlap"        // warning: tasks of one wave declare the same file
	CodeMixedAliases       = "mixed-aliases"       // warning: blockedBy under two names in one task
	CodeDuplicateBlocker   = "duplicate-blocker"   // warning: the same blocker twice
)

// Diagnostic is one mistake, or one doubt, and a way out. Line and Column count from
// 1, Column in bytes; both are 0 where a mistake has no place in the file.
type Diagnostic struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Path     string `json:"path,omitempty"` // like tasks[3].blockedBy[0]
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
}

// String is the diagnostic on one line, as editors parse it:
// "plan.json:12:7: error: ... [unknown-task]".
func (d Diagnostic) String() string {
	var b strings.Builder
	if d.File != "" {
		b.WriteString(d.File)
		b.WriteByte(':')
	}
	if d.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", d.Line, d.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	fmt.Fprintf(&b, "%s: %s [%s]", d.Severity, d.Message, d.Code)
	return b.String()
}

// HasErrors tells whether any of the diagnostics is an error.
func HasErrors(ds []Diagnostic) bool {
	for _, d := range ds {
		if d.Severity == SeverityError {
			return true
		}
	}
	return false
}
