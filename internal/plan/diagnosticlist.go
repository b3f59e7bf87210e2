package plan

// This file collects the mistakes of a plan, from importers and from the decoder. It does not look
// for mistakes.

import (
	"cmp"
	"fmt"
	"slices"

	"wavex/internal/plan/source"
)

// DiagnosticList holds the mistakes of a file, with positions in the source's own measure. The zero value
// is an empty list.
type DiagnosticList struct {
	list     []rawDiagnostic
	errors   int
	warnings int
}

// maxDiagnostics bounds the errors and the warnings that are kept: a generated plan may have the same
// mistake a million times. A plan with more errors is read no further.
const maxDiagnostics = 1000

type rawDiagnostic struct {
	at       source.Location
	severity string
	code     string
	message  string
	path     string
}

// full reports whether the list has so many errors that reading on is of no use.
func (r *DiagnosticList) full() bool { return r.errors > maxDiagnostics }

// Warn adds a warning.
func (r *DiagnosticList) Warn(at source.Location, code, format string, args ...any) {
	r.add(at, SeverityWarning, code, "", format, args...)
}

// Error adds a mistake, which means that there will be no plan.
func (r *DiagnosticList) Error(at source.Location, code, format string, args ...any) {
	r.add(at, SeverityError, code, "", format, args...)
}

// WrongType reports that t does not have the wanted type, such as "a string".
func (r *DiagnosticList) WrongType(t source.Token, want string) { r.wrongTypeAt(t, want, "") }

func (r *DiagnosticList) add(at source.Location, severity, code, path, format string, args ...any) {
	n := &r.errors
	if severity == SeverityWarning {
		n = &r.warnings
	}
	if *n++; *n > maxDiagnostics {
		return
	}
	r.list = append(r.list, rawDiagnostic{at, severity, code, fmt.Sprintf(format, args...), path})
}

func (r *DiagnosticList) wrongTypeAt(t source.Token, want, path string) {
	if t.Kind == source.KindBad { // the source's own problem is reported instead
		return
	}
	var way string
	switch {
	case path == "":
		way = `; a plan is an object with a list "tasks", in JSON or YAML`
	case t.Kind == source.KindNull:
		way = "; leave the field out instead"
	case want == "a string" && (t.Kind == source.KindNumber || t.Kind == source.KindBool):
		way = "; put it in quotes"
	}
	r.add(t.At, SeverityError, CodeWrongType, path, "expected %s, found %s%s", want, t.Kind, way)
}

// Resolve returns the diagnostics of a file in the order of the file. pos converts positions to lines
// and columns.
func (r *DiagnosticList) Resolve(file string, pos func(source.Location) Pos) []Diagnostic {
	slices.SortStableFunc(r.list, func(a, b rawDiagnostic) int { return cmp.Compare(a.at, b.at) })
	var all []Diagnostic
	for _, e := range r.list {
		p := Pos{}
		if e.at >= 0 {
			p = pos(e.at)
		}
		all = append(all, Diagnostic{e.severity, e.code, e.message, e.path, file, p.Line, p.Column})
	}
	omitted := func(severity, message string) {
		all = append(all, Diagnostic{Severity: severity, Code: CodeTooMany, File: file, Message: message})
	}
	if r.full() {
		omitted(SeverityError, fmt.Sprintf("these are the first %d errors; mend them first", maxDiagnostics))
	}
	if n := r.warnings - maxDiagnostics; n > 0 {
		omitted(SeverityWarning, fmt.Sprintf("%d more warnings are not shown", n))
	}
	return all
}
