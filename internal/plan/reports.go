package plan

// This file collects the mistakes of a plan, from importers and from the decoder. It does not look
// for mistakes.

import (
	"fmt"
	"slices"

	"wavex/internal/plan/source"
)

// Reports holds the mistakes of a file, with positions in the source's own measure. The zero value
// is an empty list.
type Reports struct {
	list     []report
	errors   int
	warnings int
}

// maxReports bounds the errors and the warnings that are kept: a generated plan may have the same
// mistake a million times.
const maxReports = 1000

type report struct {
	at       source.Place
	severity string
	code     string
	message  string
	path     string
}

// Warn adds a warning.
func (r *Reports) Warn(at source.Place, code, format string, args ...any) {
	r.add(at, SeverityWarning, code, "", format, args...)
}

// Error adds a mistake, which means that there will be no plan.
func (r *Reports) Error(at source.Place, code, format string, args ...any) {
	r.add(at, SeverityError, code, "", format, args...)
}

// Mistyped reports that t does not have the wanted type, such as "a string".
func (r *Reports) Mistyped(t source.Token, want string) { r.mistyped(t, want, "") }

func (r *Reports) add(at source.Place, severity, code, path, format string, args ...any) {
	n := &r.errors
	if severity == SeverityWarning {
		n = &r.warnings
	}
	if *n++; *n > maxReports {
		return
	}
	r.list = append(r.list, report{at, severity, code, fmt.Sprintf(format, args...), path})
}

func (r *Reports) mistyped(t source.Token, want, path string) {
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

// Of returns the diagnostics of a file in the order of the file. pos converts positions to lines
// and columns.
func (r *Reports) Of(file string, pos func(source.Place) Pos) []Diagnostic {
	slices.SortStableFunc(r.list, func(a, b report) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	var all []Diagnostic
	for _, e := range r.list {
		p := Pos{}
		if e.at >= 0 {
			p = pos(e.at)
		}
		all = append(all, Diagnostic{e.severity, e.code, e.message, e.path, file, p.Line, p.Column})
	}
	more := func(severity string, n int) {
		if n > maxReports {
			all = append(all, Diagnostic{Severity: severity, Code: CodeTooMany, File: file,
				Message: fmt.Sprintf("%d more %ss are not shown; mend these first", n-maxReports, severity)})
		}
	}
	more(SeverityError, r.errors)
	more(SeverityWarning, r.warnings)
	return all
}
