package tasklist

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"wavex/internal/textfmt"
)

// This file has the JSON object of a task: unknown fields keep their text, and mistakes have
// positions. It does not know the fields of a task.

// Object is a JSON object that keeps the order of its fields and the text of their values. The zero
// value is an empty object.
type Object struct{ fields []member }

type member struct {
	name  string
	value jsontext.Value
	at    int // offset of the value in the file; invalid after Set
}

// Get returns the value of a field, or nil if there is none.
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

// Text returns a field that is a string, else "".
func (o *Object) Text(name string) string {
	var s string
	if json.Unmarshal(o.Get(name), &s) != nil {
		return ""
	}
	return s
}

// Empty reports whether there is no field.
func (o *Object) Empty() bool { return len(o.fields) == 0 }

// value returns the object as JSON, without added white space.
func (o *Object) value() jsontext.Value {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o.fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quoteJSON(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// quoteJSON returns a string as JSON in the CLI's form, which does not escape <, > and &.
func quoteJSON(s string) jsontext.Value {
	v, err := jsontext.AppendQuote(nil, s)
	if err != nil { // not UTF-8: the invalid bytes become U+FFFD
		v, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd"))
	}
	return v
}

func quoteJSONList(list []string) jsontext.Value {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quoteJSON(s)...)
	}
	return append(b, ']')
}

// parseObject reads the object at the start of src. It adds base to all offsets.
func parseObject(src []byte, base int) (Object, error) {
	// Refuse repeated names: it is unclear which value counts.
	d := jsontext.NewDecoder(bytes.NewReader(src))
	var o Object
	wrong := func(err error) (Object, error) { return Object{}, syntaxProblem(err, len(src), base) }
	tok, err := d.ReadToken()
	if err != nil {
		return wrong(err)
	}
	if tok.Kind() != '{' {
		return Object{}, &FileProblem{At: base, Code: "wrong-type", Text: "expected an object"}
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
			return Object{}, &FileProblem{At: base + int(d.InputOffset()), Code: "syntax",
				Text: "there is more after the end of the task", MaybePartial: true}
		}
		return wrong(err)
	}
	return o, nil
}

func syntaxProblem(err error, size, base int) *FileProblem {
	m := &FileProblem{At: base, Code: "syntax", Text: "the file ends in the middle of the task", MaybePartial: true}
	var s *jsontext.SyntacticError
	if errors.As(err, &s) {
		m.At = base + min(int(s.ByteOffset), size)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			m.Text = textfmt.Shorten("no JSON: "+s.Err.Error(), 200) // it may quote a name
		}
	}
	return m
}

// tooDeep returns the offset at which the nesting is too deep, or -1. It looks only at brackets
// outside of strings, so it needs neither a parser nor a stack.
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
