package plan

// This file is the frame of the decoder: objects described by tables of fields, the current path,
// and the list of mistakes. It knows no format, and no field by name.

import (
	"strconv"
	"strings"

	"wavex/dag"
	"wavex/internal/plan/source"
)

// step is one part of a path: a field, or an element of a list.
type step struct {
	name    string
	index   int
	element bool
}

type decoder struct {
	src  source.Tokens
	opts Options
	plan *Plan

	path []step
	Reports

	planShape     *shape[Plan]
	taskShape     *shape[Task]
	defaultsShape *shape[Settings]
	limitShape    *shape[Limits]
	checkShape    *shape[Check]
	fileShape     *shape[File]
	condShape     *shape[Condition]
	guessShape    *shape[Estimate]
	waveShape     *shape[Wave]
	linkShape     *shape[Link]
	checks        slab[Check]
	files         slab[File]
	prompts       map[string]prompt // by the name after "@"
	task          int               // index of the task being read
	blockedBy     int               // number of names that the task used for blockedBy
	alias         source.Place      // of its second name for blockedBy, if any
	idAt          source.Place      // of its id
	places        []source.Place    // of the tasks
	named         named
	ids           index
	later         []reference // blockers that were named before their task was read
	edges         *dag.Builder
	suggestions   int // remaining comparisons for "did you mean" among task ids
}

// field is one field of an object: its name and its reader. read must consume the value and report
// its mistakes.
type field[T any] struct {
	name string
	read func(*decoder, *T, source.Token)
}

// shape describes an object. The shapes are the only list of a plan's possible fields; a test
// compares the schema with them.
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

// seen is the set of fields that an object had, one bit for each field of its shape.
type seen uint64

func (s *shape[T]) had(set seen, name string) bool { return set&(1<<s.index[name]) != 0 }

// decode reads the object that t opened into v. It reports whether t was an object at all.
func (s *shape[T]) decode(d *decoder, v *T, t source.Token) (seen, bool) {
	if t.Kind != source.KindObject {
		d.wrongType(t, source.KindObject.String())
		d.src.Skip(t)
		return 0, false
	}
	var set seen
	for {
		name := d.src.Next()
		if name.Kind != source.KindString {
			return set, true
		}
		d.enter(step{name: name.Text})
		value := d.src.Next()
		i, ok := s.index[name.Text]
		switch {
		case value.Kind == source.KindBad:
		case !ok:
			guess := ""
			if d.errors < maxReports { // guessing is expensive, and further reports are dropped
				guess = hint(name.Text, s.names())
			}
			d.errorf(name.At, CodeUnknownField, "unknown field %s in %s%s", source.Quote(name.Text), s.what, guess)
			d.src.Skip(value)
		case set&(1<<i) != 0:
			d.errorf(name.At, CodeDuplicateField, "field %s is given twice; keep one", source.Quote(name.Text))
			d.src.Skip(value)
		default:
			set |= 1 << i
			s.fields[i].read(d, v, value)
		}
		d.leave()
	}
}

// list reads a list. It calls read for each element with its index, and reports whether t was a
// list.
func (d *decoder) list(t source.Token, want string, read func(i int, t source.Token)) bool {
	if t.Kind != source.KindArray {
		d.wrongType(t, want)
		d.src.Skip(t)
		return false
	}
	for i := 0; ; i++ {
		e := d.src.Next()
		if e.Kind == source.KindEnd || e.Kind == source.KindBad {
			return true
		}
		d.enter(step{index: i, element: true})
		read(i, e)
		d.leave()
	}
}

func (d *decoder) enter(s step) { d.path = append(d.path, s) }
func (d *decoder) leave()       { d.path = d.path[:len(d.path)-1] }

func (d *decoder) errorf(at source.Place, code, format string, args ...any) {
	d.report(at, SeverityError, code, d.path, format, args...)
}

func (d *decoder) warnf(at source.Place, code, format string, args ...any) {
	d.report(at, SeverityWarning, code, d.path, format, args...)
}

func (d *decoder) report(at source.Place, severity, code string, path []step, format string, args ...any) {
	d.add(at, severity, code, pathString(path), format, args...)
}

func (d *decoder) wrongType(t source.Token, want string) { d.mistyped(t, want, pathString(d.path)) }

func pathString(path []step) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.element:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(s.index))
			b.WriteByte(']')
		case PlainName(s.name):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.name)
		default:
			b.WriteByte('[')
			b.WriteString(source.Quote(s.name))
			b.WriteByte(']')
		}
	}
	return b.String()
}

// PlainName reports whether a field's name needs no quotes in a path.
func PlainName(s string) bool {
	for _, c := range []byte(s) {
		if c != '_' && c != '$' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= 100
}

// slab hands out small slices of exact length from big chunks: most tasks have one check and one or
// two files, and one allocation for each would take most of the time.
type slab[T any] struct {
	free  []T
	list  []T // scratch for the current list
	chunk int // size of the last chunk
}

// take returns a copy of the scratch list and empties it.
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
