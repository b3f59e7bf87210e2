package tasklist

// This file reads and writes one task's file. It knows JSON and the fields of a task,
// nothing of folders and locks. Fields it does not know are kept, in their order.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Status is where a task stands, in the words of the CLI. There is no other: one that
// failed is pending again.
type Status string

// The statuses. The CLI does not show a task with another one.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
)

// maxTask is the size of the largest task file read, in bytes.
const maxTask = 4 << 20

// maxDepth bounds how deep values are nested: jsontext goes to 10000.
const maxDepth = 100

// Task is one task of a list. Change it with the Set methods, or make one from scratch.
type Task struct {
	ID          string // the name of its file without .json
	Subject     string
	Description string
	ActiveForm  string
	Status      Status
	Owner       string
	Blocks      []string
	BlockedBy   []string
	Metadata    Object

	raw Object // the whole file, with what is not known here
	src []byte
}

// Object is a JSON object that keeps the order of its fields and their values as they
// are written. The zero value is an empty one.
type Object struct{ fields []member }

type member struct {
	name  string
	value jsontext.Value
	at    int // offset of the value in the file; meaningless once it is set
}

// Get is the value of a field, nil when there is none.
func (o *Object) Get(name string) jsontext.Value {
	for i := range o.fields {
		if o.fields[i].name == name {
			return o.fields[i].value
		}
	}
	return nil
}

// Set changes or adds a field; a nil value removes it.
func (o *Object) Set(name string, value jsontext.Value) {
	i := slices.IndexFunc(o.fields, func(m member) bool { return m.name == name })
	switch {
	case value == nil && i >= 0:
		o.fields = slices.Delete(slices.Clone(o.fields), i, i+1)
	case value == nil:
	case i >= 0:
		o.fields = slices.Clone(o.fields)
		o.fields[i].value = value
	default:
		o.fields = append(slices.Clip(o.fields), member{name: name, value: value})
	}
}

// Text is a field that is a string, else "".
func (o *Object) Text(name string) string {
	var s string
	if json.Unmarshal(o.Get(name), &s) != nil {
		return ""
	}
	return s
}

// Empty tells whether there is no field.
func (o *Object) Empty() bool { return len(o.fields) == 0 }

// value is the object as JSON, without spaces of its own.
func (o *Object) value() jsontext.Value {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o.fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quoted(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// quoted is a string as JSON, as the CLI writes it: <, > and & stay.
func quoted(s string) jsontext.Value {
	v, err := jsontext.AppendQuote(nil, s)
	if err != nil { // not UTF-8: the bad bytes become U+FFFD
		v, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd"))
	}
	return v
}

func quotedList(list []string) jsontext.Value {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quoted(s)...)
	}
	return append(b, ']')
}

// Mistake is what is wrong with a task's file, and where; the CLI does not show such
// a task.
type Mistake struct {
	At   int    // offset in bytes
	Code string // of package plan's diagnostics
	Text string
	// Half tells that the file may just be being written: it is no JSON.
	Half bool
}

func (m *Mistake) Error() string { return m.Text }

// parse reads the file of the task id. It accepts what the CLI accepts, and says what
// is wrong with the rest.
func parse(id string, src []byte) (*Task, error) {
	switch {
	case len(src) > maxTask:
		return nil, &Mistake{Code: "too-large", Text: fmt.Sprintf("the file is larger than %d MB, which no task is", maxTask>>20)}
	case bytes.HasPrefix(src, []byte("\ufeff")):
		return nil, &Mistake{Code: "encoding", Text: "the file begins with a byte order mark, which Claude Code does not read; save it as UTF-8 without one"}
	case len(bytes.TrimSpace(src)) == 0:
		return nil, &Mistake{Code: "syntax", Text: "the file is empty", Half: true}
	}
	if at := tooDeep(src); at >= 0 {
		return nil, &Mistake{At: at, Code: "too-deep", Text: fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	raw, err := parseObject(src, 0)
	if err != nil {
		return nil, err
	}
	t := &Task{ID: id, raw: raw, src: src}
	read := fields{of: raw}
	own := read.text("id", true)
	t.Subject, t.Description = read.text("subject", true), read.text("description", true)
	t.ActiveForm, t.Owner = read.text("activeForm", false), read.text("owner", false)
	t.Status = Status(read.text("status", true))
	t.Blocks, t.BlockedBy = read.list("blocks"), read.list("blockedBy")
	t.Metadata = read.object("metadata")
	switch t.Status {
	case Pending, InProgress, Completed:
	default:
		read.wrong("status", "bad-value", fmt.Sprintf("status %s is none that Claude Code knows; write pending, in_progress or completed", short(string(t.Status))))
	}
	if own != id {
		read.wrong("id", "bad-id", fmt.Sprintf("the id is %s and the file is %s.json: Claude Code goes by the file; make them agree", short(own), id))
	}
	if read.err != nil {
		return nil, read.err
	}
	return t, nil
}

// short is a text of others in a message: quoted, one line, at most 80 bytes.
func short(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:77], "") + "..."
	}
	return strconv.Quote(s)
}

// parseObject reads an object that begins in src; base is added to all offsets.
func parseObject(src []byte, base int) (Object, error) {
	// Names may not repeat: nobody could say which of the values counts.
	d := jsontext.NewDecoder(bytes.NewReader(src))
	var o Object
	wrong := func(err error) (Object, error) { return Object{}, syntax(err, len(src), base) }
	tok, err := d.ReadToken()
	if err != nil {
		return wrong(err)
	}
	if tok.Kind() != '{' {
		return Object{}, &Mistake{At: base, Code: "wrong-type", Text: "expected an object"}
	}
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return wrong(err)
		}
		if tok.Kind() == '}' {
			break
		}
		name := tok.String()
		value, err := d.ReadValue()
		if err != nil {
			return wrong(err)
		}
		o.fields = append(o.fields, member{name, value.Clone(), base + int(d.InputOffset()) - len(value)})
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		if err == nil {
			return Object{}, &Mistake{At: base + int(d.InputOffset()), Code: "syntax", Text: "there is more after the end of the task", Half: true}
		}
		return wrong(err)
	}
	return o, nil
}

func syntax(err error, size, base int) *Mistake {
	m := &Mistake{At: base, Code: "syntax", Text: "the file ends in the middle of the task", Half: true}
	var s *jsontext.SyntacticError
	if errors.As(err, &s) {
		m.At = base + min(int(s.ByteOffset), size)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			m.Text = "no JSON: " + s.Err.Error()
			if len(m.Text) > 200 { // it may quote a name
				m.Text = strings.ToValidUTF8(m.Text[:197], "") + "..."
			}
		}
	}
	return m
}

// tooDeep is where the nesting goes too far, or -1. It looks at brackets outside of
// strings only, so it is no parser and needs no stack.
func tooDeep(src []byte) int {
	depth, in, escaped := 0, false, false
	for i, c := range src {
		switch {
		case escaped:
			escaped = false
		case in:
			in, escaped = c != '"', c == '\\'
		case c == '"':
			in = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

// fields reads the fields of a task and remembers the first mistake.
type fields struct {
	of  Object
	err error
}

func (f *fields) at(name string) int {
	for _, m := range f.of.fields {
		if m.name == name {
			return m.at
		}
	}
	return 0
}

func (f *fields) wrong(name, code, text string) {
	if f.err == nil {
		f.err = &Mistake{At: f.at(name), Code: code, Text: text}
	}
}

func (f *fields) text(name string, needed bool) string {
	v := f.of.Get(name)
	var s string
	switch {
	case v == nil && needed:
		f.wrong(name, "missing-field", fmt.Sprintf("the task has no %s, so Claude Code does not show it; add it", name))
	case v == nil:
	case v.Kind() != '"':
		f.wrong(name, "wrong-type", name+" must be a string; Claude Code does not show the task as it is")
	default:
		_ = json.Unmarshal(v, &s) // valid: it was read as a value
	}
	return s
}

// list reads a list of ids. One that is missing is taken for an empty one.
func (f *fields) list(name string) []string {
	v := f.of.Get(name)
	if v == nil {
		return nil
	}
	var list []string
	if v.Kind() != '[' || json.Unmarshal(v, &list) != nil {
		f.wrong(name, "wrong-type", name+` must be a list of task ids in quotes, like ["1", "2"]`)
	}
	return list
}

func (f *fields) object(name string) Object {
	v := f.of.Get(name)
	if v == nil {
		return Object{}
	}
	if v.Kind() != '{' {
		f.wrong(name, "wrong-type", name+" must be an object; Claude Code does not show the task as it is")
		return Object{}
	}
	o, err := parseObject(v, f.at(name))
	if err != nil && f.err == nil {
		f.err = err
	}
	return o
}

// render is the task as the CLI writes it: its fields as they are now, with two
// spaces, and whatever else the file had.
func (t *Task) render() []byte {
	o := t.raw
	o.Set("id", quoted(t.ID))
	o.Set("subject", quoted(t.Subject))
	o.Set("description", quoted(t.Description))
	optional := func(name, s string) {
		switch {
		case s == o.Text(name): // as it was, an empty one included
		case s == "":
			o.Set(name, nil)
		default:
			o.Set(name, quoted(s))
		}
	}
	optional("activeForm", t.ActiveForm)
	o.Set("status", quoted(string(t.Status)))
	o.Set("blocks", quotedList(t.Blocks))
	o.Set("blockedBy", quotedList(t.BlockedBy))
	optional("owner", t.Owner)
	if !t.Metadata.Empty() || o.Get("metadata") != nil {
		o.Set("metadata", t.Metadata.value())
	}
	v := o.value()
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return o.value() // its parts were JSON: this cannot be
	}
	return v
}
