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
	path    bool // name is a whole path
}

type decoder struct {
	src    source.Tokens
	opts   Options
	plan   *Plan
	length int // bytes of the text

	path []step
	DiagnosticList

	planType        *objectType[Plan]
	taskType        *objectType[Task]
	defaultsType    *objectType[Settings]
	policyType      *objectType[Settings]
	limitType       *objectType[Limits]
	checkType       *objectType[Check]
	setupType       *objectType[Setup]
	fileType        *objectType[File]
	conditionType   *objectType[Condition]
	estimateType    *objectType[Estimate]
	waveType        *objectType[Wave]
	linkType        *objectType[Link]
	paramType       *objectType[Param]
	foreachType     *objectType[foreach]
	foreach         map[int]*foreach  // by task of the file
	steps           map[int][]Task    // by task of the file: the templates of its steps, with their names as ids
	stepType        *objectType[Task] // made on first use
	paramLocations  []source.Location // of the names of the parameters
	referenceTexts  []referenceText
	checks          slab[Check]
	files           slab[File]
	prompts         map[string]promptFile // by the name after "@"
	promptBytes     int                   // of the files in prompts
	schemas         map[string]error      // mistakes of the schemas of outputs, by their text
	outputLocation  source.Location       // of the current task's output
	task            int                   // index of the task being read
	blockedBy       int                   // number of names that the task used for blockedBy
	aliasLocation   source.Location       // of its second name for blockedBy, if any
	idLocation      source.Location       // of its id
	taskLocations   []source.Location     // of the tasks
	currentBlockers blockerSet
	denied          map[*string]patterns // lists of policy.deny, by the address of their first pattern
	ids             index
	later           laterTasks
	misnamed        taskSet // tasks with blockers that have no number: unknown, too many, or the task itself
	edges           *dag.Builder
	suggestions     int // remaining comparisons for "did you mean" among task ids
}

// field is one field of an object: its name and its reader. read must consume the value and report
// its mistakes.
type field[T any] struct {
	name string
	read func(*decoder, *T, source.Token)
}

// objectType describes an object. The shapes are the only list of a plan's possible fields; a test
// compares the schema with them.
type objectType[T any] struct {
	label  string // in messages: "a task"
	fields []field[T]
	index  map[string]int
}

func newObjectType[T any](what string, fields ...field[T]) *objectType[T] {
	if len(fields) > 64 {
		panic("plan: the fields of " + what + " do not fit the mask of those seen")
	}
	s := &objectType[T]{label: what, fields: fields, index: make(map[string]int, len(fields))}
	for i, f := range fields {
		s.index[f.name] = i
	}
	return s
}

func (s *objectType[T]) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// fieldSet is the set of fields that an object had, one bit for each field of its shape.
type fieldSet uint64

func (s *objectType[T]) has(set fieldSet, name string) bool { return set&(1<<s.index[name]) != 0 }

// decode reads the object that t opened into v. It reports whether t was an object at all.
func (s *objectType[T]) decode(d *decoder, v *T, t source.Token) (fieldSet, bool) {
	if t.Kind != source.KindObject {
		d.wrongType(t, source.KindObject.String())
		return 0, false
	}
	var set fieldSet
	for {
		name := d.src.Next()
		if name.Kind != source.KindString || d.full() {
			return set, true
		}
		d.enter(step{name: name.Text})
		value := d.src.Next()
		i, ok := s.index[name.Text]
		switch {
		case value.Kind == source.KindBad:
		case !ok && s.label == "a foreach" && name.Text == "budgetUSD":
			d.errorf(name.At, CodeUnknownField, "budgetUSD of a list was removed: "+
				"give it to the task, for each of its tasks, or limit the run with --budget")
			d.src.Skip(value)
		case !ok && s.label == "a check" && name.Text == "recheck":
			d.errorf(name.At, CodeUnknownField, `recheck was removed: write "once": true in place of "recheck": false`)
			d.src.Skip(value)
		case !ok:
			d.errorf(name.At, CodeUnknownField, "unknown field %s in %s%s", source.Quote(name.Text), s.label,
				suggestField(name.Text, s.names()))
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

// maxList bounds metadata, and a list of a plan other than those of tasks and of blockers.
const maxList = 50_000

// list reads a list of at most maxList elements. It calls read for each element with its index, and
// reports whether t was a list.
func (d *decoder) list(t source.Token, want string, read func(i int, t source.Token)) bool {
	return d.longList(t, want, func(i int, e source.Token) {
		switch {
		case i < maxList:
			read(i, e)
		case i == maxList:
			d.errorf(e.At, CodeTooLarge, "%s has at most %d entries", want, maxList)
			fallthrough
		default:
			d.src.Skip(e)
		}
	})
}

// longList is like list, without a bound.
func (d *decoder) longList(t source.Token, want string, read func(i int, t source.Token)) bool {
	if t.Kind != source.KindArray {
		d.wrongType(t, want)
		return false
	}
	for i := 0; ; i++ {
		e := d.src.Next()
		if e.Kind == source.KindEnd || e.Kind == source.KindBad || d.full() {
			return true
		}
		d.enter(step{index: i, element: true})
		read(i, e)
		d.leave()
	}
}

func (d *decoder) enter(s step) { d.path = append(d.path, s) }
func (d *decoder) leave()       { d.path = d.path[:len(d.path)-1] }

func (d *decoder) errorf(at source.Location, code, format string, args ...any) {
	d.addDiagnostic(at, SeverityError, code, d.path, format, args...)
}

func (d *decoder) warnf(at source.Location, code, format string, args ...any) {
	d.addDiagnostic(at, SeverityWarning, code, d.path, format, args...)
}

func (d *decoder) addDiagnostic(at source.Location, severity, code string, path []step, format string, args ...any) {
	d.add(at, severity, code, pathString(path), format, args...)
}

// wrongType reports that a value has the wrong type, and skips the value.
func (d *decoder) wrongType(t source.Token, want string) {
	d.wrongTypeAt(t, want, pathString(d.path))
	d.src.Skip(t)
}

func pathString(path []step) string {
	var b strings.Builder
	for _, s := range path {
		switch {
		case s.path:
			b.WriteString(s.name)
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
	free    []T
	scratch []T // scratch for the current list
	chunk   int // size of the last chunk
}

// flush returns a copy of the scratch list and empties it.
func (s *slab[T]) flush() []T {
	n := len(s.scratch)
	if n == 0 {
		return nil
	}
	if n > len(s.free) {
		s.chunk = min(1024, 8+2*s.chunk)
		s.free = make([]T, max(n, s.chunk))
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	copy(out, s.scratch)
	clear(s.scratch)
	s.scratch = s.scratch[:0]
	return out
}
