package tasklist

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"wavex/internal/jsonobject"
	"wavex/internal/plan/source"
)

// This file reads and writes one task's file. It knows JSON and the fields of a task, and nothing
// of folders and locks. It keeps unknown fields in their order.

// Status is the status of a task in the words of the CLI. A failed task is pending again, because
// the CLI has no status for it.
type Status string

// The statuses. The CLI hides a task with any other status.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
)

// maxTask is the size of the largest task file that is read, in bytes.
const maxTask = 4 << 20

// Task is one task of a list. Create one directly, or change one with its Set methods.
type Task struct {
	ID          string // the name of its file without .json
	Subject     string
	Description string
	ActiveForm  string
	Status      Status
	Owner       string
	Blocks      []string
	BlockedBy   []string
	Metadata    jsonobject.Object

	raw jsonobject.Object // the whole file, with unknown fields
	src []byte
}

// FileError is a mistake in a task's file and its position. The CLI does not show such a task.
type FileError struct {
	ID   string // of the task, by the name of the file
	File string // absolute
	Src  []byte
	At   int    // offset in bytes
	Code string // of package plan's diagnostics
	Text string
	// MaybePartial means that the file may be half written: it is not JSON.
	MaybePartial bool
}

func (m *FileError) Error() string { return strings.TrimPrefix(m.File+": "+m.Text, ": ") }

// parse reads the file of the task id. It accepts the same files as the CLI, and returns an error
// about any other.
func parse(id string, src []byte) (*Task, error) {
	switch {
	case len(src) > maxTask:
		return nil, &FileError{Code: "too-large", Text: fmt.Sprintf("the file is larger than %d MB, which no task is",
			maxTask>>20)}
	case bytes.HasPrefix(src, []byte("\ufeff")):
		return nil, &FileError{Code: "encoding",
			Text: "the file begins with a byte order mark, which Claude Code does not read; save it as UTF-8 without one"}
	case len(bytes.TrimSpace(src)) == 0:
		return nil, &FileError{Code: "syntax", Text: "the file is empty", MaybePartial: true}
	}
	raw, err := parseObject(src, 0)
	if err != nil {
		return nil, err
	}
	t := &Task{ID: id, raw: raw, src: src}
	read := fieldReader{source: raw}
	own := read.text("id", true)
	t.Subject, t.Description = read.text("subject", true), read.text("description", true)
	t.ActiveForm, t.Owner = read.text("activeForm", false), read.text("owner", false)
	t.Status = Status(read.text("status", true))
	t.Blocks, t.BlockedBy = read.list("blocks"), read.list("blockedBy")
	t.Metadata = read.object("metadata")
	switch t.Status {
	case Pending, InProgress, Completed:
	default:
		read.fail("status", "bad-value", fmt.Sprintf(
			"Claude Code does not know the status %s; write pending, in_progress or completed", source.Quote(string(t.Status))))
	}
	if own != id {
		read.fail("id", "bad-id", fmt.Sprintf(
			"the id is %s and the file is %s.json: Claude Code goes by the file; make them agree", source.Quote(own), id))
	}
	if read.err != nil {
		return nil, read.err
	}
	return t, nil
}

// fieldReader reads the fields of a task and keeps the first mistake.
type fieldReader struct {
	source jsonobject.Object
	err    error
}

func (f *fieldReader) offset(name string) int {
	if i := f.source.Index(name); i >= 0 {
		return f.source[i].At
	}
	return 0
}

func (f *fieldReader) fail(name, code, text string) {
	if f.err == nil {
		f.err = &FileError{At: f.offset(name), Code: code, Text: text}
	}
}

func (f *fieldReader) text(name string, needed bool) string {
	v := f.source.Get(name)
	var s string
	switch {
	case v == nil && needed:
		f.fail(name, "missing-field", fmt.Sprintf("the task has no %s, so Claude Code does not show it; add it", name))
	case v == nil:
	case v.Kind() != '"':
		f.fail(name, "wrong-type", name+" must be a string; Claude Code does not show the task as it is")
	default:
		_ = json.Unmarshal(v, &s) // valid: it was read as a value
	}
	return s
}

// list reads a list of ids. A missing list counts as empty.
func (f *fieldReader) list(name string) []string {
	v := f.source.Get(name)
	if v == nil {
		return nil
	}
	var list []string
	if v.Kind() != '[' || json.Unmarshal(v, &list) != nil {
		f.fail(name, "wrong-type", name+` must be a list of task ids in quotes, like ["1", "2"]`)
	}
	return list
}

func (f *fieldReader) object(name string) jsonobject.Object {
	v := f.source.Get(name)
	if v == nil {
		return nil
	}
	if v.Kind() != '{' {
		f.fail(name, "wrong-type", name+" must be an object; Claude Code does not show the task as it is")
		return nil
	}
	o, err := parseObject(v, f.offset(name))
	if err != nil && f.err == nil {
		f.err = err
	}
	return o
}

// render returns the task as the CLI writes it: its current fields, indented by two spaces, and all
// other fields of the file.
func (t *Task) render() []byte {
	o := t.raw
	o.Set("id", jsonobject.Quote(t.ID))
	o.Set("subject", jsonobject.Quote(t.Subject))
	o.Set("description", jsonobject.Quote(t.Description))
	optional := func(name, s string) {
		switch {
		case s == o.Text(name): // unchanged, even if empty
		case s == "":
			o.Set(name, nil)
		default:
			o.Set(name, jsonobject.Quote(s))
		}
	}
	optional("activeForm", t.ActiveForm)
	o.Set("status", jsonobject.Quote(string(t.Status)))
	o.Set("blocks", quoteJSONList(t.Blocks))
	o.Set("blockedBy", quoteJSONList(t.BlockedBy))
	optional("owner", t.Owner)
	if len(t.Metadata) > 0 || o.Get("metadata") != nil {
		o.Set("metadata", t.Metadata.Value())
	}
	v := o.Value()
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return o.Value() // cannot happen: its parts were JSON
	}
	return v
}
