package plan

// This file lists the possible mistakes of a plan file, and formats them like compilers do. It does
// not look for mistakes.

import (
	"fmt"
	"slices"
	"strings"

	"wavex/internal/plan/source"
	"wavex/internal/textfmt"
)

// Severities of a Diagnostic. A plan with an error cannot run; a warning never stops a plan.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// Codes of diagnostics: a closed set, stable across releases, listed in docs/plan.md.
const (
	CodeSyntax             = source.CodeSyntax     // not JSON, or not YAML
	CodeEncoding           = source.CodeEncoding   // not UTF-8, or a NUL character
	CodeTooDeep            = source.CodeTooDeep    // nested deeper than any plan needs
	CodeTooLarge           = source.CodeTooLarge   // the file, or the expansion of its YAML aliases
	CodeEmptyPlan          = source.CodeEmptyPlan  // no tasks
	CodeTooMany            = "too-many"            // diagnostics were omitted
	CodeUnknownField       = "unknown-field"       //
	CodeDuplicateField     = "duplicate-field"     //
	CodeMissingField       = "missing-field"       //
	CodeConflict           = "conflict"            // fields that exclude each other
	CodeWrongType          = "wrong-type"          // for example, a string in place of a list
	CodeBadValue           = "bad-value"           // not one of the values allowed, or empty
	CodeBadNumber          = "bad-number"          // negative, too large, or not a whole number
	CodeBadDuration        = "bad-duration"        //
	CodeBadID              = "bad-id"              // unsuitable for a file name
	CodeBadPath            = "bad-path"            // absolute, or leaving the directory
	CodeBadPattern         = "bad-pattern"         // matches is not a regular expression
	CodeBadSchema          = "bad-schema"          // output is not a JSON Schema
	CodeMissingFile        = "missing-file"        // the "@file" of a prompt cannot be read
	CodeBadReference       = "bad-reference"       // in a text, unknown or of a type that does not fit
	CodeBadItem            = "bad-item"            // a list of foreach, or an item of it, that cannot become tasks
	CodeUnknownParam       = "unknown-param"       // a value for a parameter that does not exist
	CodeMissingParam       = "missing-param"       // a parameter without a value
	CodeUnsupportedVersion = "unsupported-version" //
	CodeNoWork             = "no-work"             // neither subject nor prompt nor command
	CodeDuplicateID        = "duplicate-id"        //
	CodeUnknownTask        = "unknown-task"        // a blocker that does not exist
	CodeSelfEdge           = "self-edge"           // a task blocked by itself
	CodeCycle              = "cycle"               //
	CodeWaveOrder          = "wave-order"          // a declared wave that is not after the waves of the blockers
	CodeWrongCount         = "wrong-count"         // an imported file has another number of tasks or waves than it says
	CodeNotCarried         = "not-carried"         // warning: an import cannot represent it; an error for a limit
	CodeManualCheck        = "manual-check"        // warning: a check in words, for a person or a reviewer
	CodeGuessed            = "guessed"             // warning: an import decided an ambiguity of the file
	CodeNoCheck            = "no-check"            // warning: the task has no check
	CodeNoMatch            = "no-match"            // warning: a glob finds nothing
	CodeFileOverlap        = "file-overlap"        // warning: tasks of one wave declare the same file
	CodeMixedAliases       = "mixed-aliases"       // warning: blockedBy under two names in one task
	CodeDuplicateBlocker   = "duplicate-blocker"   // warning: the same blocker twice
)

// Diagnostic is one mistake or warning, with advice. Line and Column count from 1, Column in bytes;
// both are 0 if it has no position in the file.
type Diagnostic struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Path     string `json:"path,omitempty"` // like tasks[3].blockedBy[0]
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
}

// String returns the diagnostic on one line in the form that editors parse: "plan.json:12:7: error:
// ... [unknown-task]".
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
	return textfmt.Line(b.String()) // messages may quote the plan of a stranger
}

// maxOfKind bounds the diagnostics of one kind that Lines returns.
const maxOfKind = 3

// Lines returns diagnostics as lines for a person: errors first, then warnings, those of one kind together. Of a kind
// with more than maxOfKind diagnostics it returns the first ones, and the number of the others.
func Lines(ds []Diagnostic) (lines []string) {
	kinds := map[string][]Diagnostic{}
	var order []string
	for _, severity := range []string{SeverityError, SeverityWarning} {
		for _, d := range ds {
			kind := severity + " " + d.Code
			if d.Severity != severity {
				continue
			}
			if kinds[kind] == nil {
				order = append(order, kind)
			}
			kinds[kind] = append(kinds[kind], d)
		}
	}
	for _, kind := range order {
		all := kinds[kind]
		for _, d := range all[:min(len(all), maxOfKind)] {
			lines = append(lines, d.String())
		}
		if n := len(all) - maxOfKind; n > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more [%s], %d in all; wavex check --all shows each", n, all[0].Code,
				len(all)))
		}
	}
	return lines
}

// HasErrors reports whether any of the diagnostics is an error.
func HasErrors(ds []Diagnostic) bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == SeverityError })
}
