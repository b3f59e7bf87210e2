package plan

// This file is the decoder's frame: objects described by tables of fields, the path
// to where it is, and the list of mistakes. It knows no format, and no field by name.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wavex/dag"
)

// maxReports bounds how many errors, and how many warnings, are kept: a generated
// plan can hold the same mistake a million times.
const maxReports = 1000

type report struct {
	at       place
	severity string
	code     string
	message  string
	path     string
}

// step is one part of a path: a field, or an element of a list.
type step struct {
	name    string
	index   int
	element bool
}

type decoder struct {
	src  tokens
	opts Options
	plan *Plan

	path     []step
	reports  []report
	errors   int
	warnings int

	planShape     *shape[Plan]
	taskShape     *shape[Task]
	defaultsShape *shape[Settings]
	limitShape    *shape[Limits]
	checkShape    *shape[Check]
	fileShape     *shape[File]
	condShape     *shape[Condition]
	guessShape    *shape[Estimate]
	waveShape     *shape[Wave]
	checks        slab[Check]
	files         slab[File]
	prompts       map[string]prompt // by the name after "@"
	task          int               // index of the task being read
	blockedBy     int               // how many names for blockedBy it used
	alias         place             // of its second name for blockedBy, if it has one
	idAt          place             // of its id
	places        []place           // of the tasks
	named         named
	ids           index
	later         []reference // blockers that were not there yet when they were named
	edges         *dag.Builder
	suggestions   int // comparisons left for "did you mean" among task ids
}

// field is one field of an object: its name, and what reads its value. read must use
// the value up, and report what is wrong with it.
type field[T any] struct {
	name string
	read func(*decoder, *T, token)
}

// shape describes an object. Its tables are the only list of what a plan may hold; the
// schema is tested against them.
type shape[T any] struct {
	what   string // in messages: "a task"
	fields []field[T]
	index  map[string]int
}

func newShape[T any](what string, fields ...field[T]) *shape[T] {
	if len(fields) > 64 {
		panic("plan: the fields of " + what + " do not fit the mask of those seen")
	}
	s := &shape[T]{what: what, fields: fields, index: make(map[string]int, len(fields))}
	for i, f := range fields {
		s.index[f.name] = i
	}
	return s
}

func (s *shape[T]) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// seen is the set of fields an object had, one bit for each of its shape's.
type seen uint64

func (s *shape[T]) had(set seen, name string) bool { return set&(1<<s.index[name]) != 0 }

// decode reads the object that t opened into v. Reports whether t was an object at all.
func (s *shape[T]) decode(d *decoder, v *T, t token) (seen, bool) {
	if t.kind != kindObject {
		d.wrongType(t, kindObject.String())
		d.src.skip(t)
		return 0, false
	}
	var set seen
	for {
		name := d.src.next()
		if name.kind != kindString {
			return set, true
		}
		d.enter(step{name: name.text})
		value := d.src.next()
		i, ok := s.index[name.text]
		switch {
		case value.kind == kindBad:
		case !ok:
			guess := ""
			if d.errors < maxReports { // guessing is dear, and nobody would read it
				guess = hint(name.text, s.names())
			}
			d.errorf(name.at, CodeUnknownField, "unknown field %s in %s%s", quote(name.text), s.what, guess)
			d.src.skip(value)
		case set&(1<<i) != 0:
			d.errorf(name.at, CodeDuplicateField, "field %s is given twice; keep one", quote(name.text))
			d.src.skip(value)
		default:
			set |= 1 << i
			s.fields[i].read(d, v, value)
		}
		d.leave()
	}
}

// list reads a list, calling read for each element with its index. Reports whether t was a list.
func (d *decoder) list(t token, want string, read func(i int, t token)) bool {
	if t.kind != kindArray {
		d.wrongType(t, want)
		d.src.skip(t)
		return false
	}
	for i := 0; ; i++ {
		e := d.src.next()
		if e.kind == kindEnd || e.kind == kindBad {
			return true
		}
		d.enter(step{index: i, element: true})
		read(i, e)
		d.leave()
	}
}

func (d *decoder) enter(s step) { d.path = append(d.path, s) }
func (d *decoder) leave()       { d.path = d.path[:len(d.path)-1] }

func (d *decoder) errorf(at place, code, format string, args ...any) {
	d.report(at, SeverityError, code, d.path, format, args...)
}

func (d *decoder) warnf(at place, code, format string, args ...any) {
	d.report(at, SeverityWarning, code, d.path, format, args...)
}

func (d *decoder) report(at place, severity, code string, path []step, format string, args ...any) {
	n := &d.errors
	if severity == SeverityWarning {
		n = &d.warnings
	}
	if *n++; *n > maxReports {
		return
	}
	d.reports = append(d.reports, report{at, severity, code, fmt.Sprintf(format, args...), pathString(path)})
}

func (d *decoder) wrongType(t token, want string) {
	if t.kind == kindBad { // the source's own problem is reported instead
		return
	}
	var way string
	switch {
	case t.kind == kindNull:
		way = "; leave the field out instead"
	case want == "a string" && (t.kind == kindNumber || t.kind == kindBool):
		way = "; put it in quotes"
	}
	d.errorf(t.at, CodeWrongType, "expected %s, found %s%s", want, t.kind, way)
}

// diagnostics are the reports in the order of the file, with names, lines and columns.
func (d *decoder) diagnostics(file string) []Diagnostic {
	slices.SortStableFunc(d.reports, func(a, b report) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	var all []Diagnostic
	for _, r := range d.reports {
		p := Pos{}
		if r.at >= 0 {
			p = d.src.pos(r.at)
		}
		all = append(all, Diagnostic{r.severity, r.code, r.message, r.path, file, p.Line, p.Column})
	}
	more := func(severity string, n int) {
		if n > maxReports {
			all = append(all, Diagnostic{Severity: severity, Code: CodeTooMany, File: file,
				Message: fmt.Sprintf("%d more %ss are not shown; mend these first", n-maxReports, severity)})
		}
	}
	more(SeverityError, d.errors)
	more(SeverityWarning, d.warnings)
	return all
}

func pathString(path []step) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.element:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(s.index))
			b.WriteByte(']')
		case plainName(s.name):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		default:
			b.WriteByte('[')
			b.WriteString(quote(s.name))
			b.WriteByte(']')
		}
	}
	return b.String()
}

func plainName(s string) bool {
	for _, c := range []byte(s) {
		if c != '_' && c != '$' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= 100
}

// quote shows a text of the user's in a message: quoted, one line, at most 80 bytes.
func quote(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:77], "") + "..."
	}
	return strconv.Quote(s)
}

// slab hands out small slices of exact length from big chunks: most tasks have one
// check and one or two files, and an allocation for each would be most of the work.
type slab[T any] struct {
	free  []T
	list  []T // scratch for the list being read
	chunk int // size of the last chunk
}

// take copies the scratch list out and empties it.
func (s *slab[T]) take() []T {
	n := len(s.list)
	if n == 0 {
		return nil
	}
	if n > len(s.free) {
		s.chunk = min(1024, 8+2*s.chunk)
		s.free = make([]T, max(n, s.chunk))
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	copy(out, s.list)
	clear(s.list)
	s.list = s.list[:0]
	return out
}
