// Package jsonobject reads and writes JSON objects whose fields keep their order and the text of
// their values. It does not know the fields.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Object holds the fields of a JSON object, in their order. nil is an empty object.
type Object []Field

// Field is a field of an object.
type Field struct {
	Name  string
	Value jsontext.Value
	At    int // offset of the value in the parsed text; invalid after Set
}

var (
	// ErrNotObject means that a text is another JSON value.
	ErrNotObject = errors.New("not a JSON object")
	// ErrMore means that more text follows after an object.
	ErrMore = errors.New("more than one JSON value")
)

// Parse reads an object. end is the offset after it, or after the text that follows it. With options
// that allow repeated names, the last value counts. An error of the syntax is a
// *jsontext.SyntacticError or io.ErrUnexpectedEOF.
func Parse(src []byte, options ...jsontext.Options) (o Object, end int, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(src), options...)
	if kind := d.PeekKind(); kind != jsontext.KindBeginObject && kind != jsontext.KindInvalid {
		return nil, 0, ErrNotObject
	}
	if _, err := d.ReadValue(); err != nil {
		return nil, 0, err
	}
	whole := Value(src)
	known := map[string]int{}
	for name, value := range whole.Members() {
		f := Field{strings.ToValidUTF8(name, "\ufffd"), bytes.Clone(value), whole.At(value)}
		if i, twice := known[f.Name]; twice {
			o[i] = f
			continue
		}
		known[f.Name] = len(o)
		o = append(o, f)
	}
	switch _, err = d.ReadToken(); {
	case err == nil:
		return nil, int(d.InputOffset()), ErrMore
	case !errors.Is(err, io.EOF):
		return nil, 0, err
	}
	return o, int(d.InputOffset()), nil
}

// Index returns the place of a field, or -1.
func (o Object) Index(name string) int {
	return slices.IndexFunc(o, func(f Field) bool { return f.Name == name })
}

// Get returns the value of a field, or nil if there is none.
func (o Object) Get(name string) jsontext.Value {
	if i := o.Index(name); i >= 0 {
		return o[i].Value
	}
	return nil
}

// Text returns a field that is a string, else "".
func (o Object) Text(name string) string {
	var s string
	if json.Unmarshal(o.Get(name), &s) != nil {
		return ""
	}
	return s
}

// Set changes or adds a field; a nil value removes it. Copies of o do not change.
func (o *Object) Set(name string, value jsontext.Value) {
	i := o.Index(name)
	switch {
	case value == nil && i >= 0:
		*o = slices.Delete(slices.Clone(*o), i, i+1)
	case value == nil:
	case i >= 0:
		*o = slices.Clone(*o)
		(*o)[i].Value = value
	default:
		*o = append(slices.Clip(*o), Field{Name: name, Value: value})
	}
}

// Value returns the object as JSON, without added white space.
func (o Object) Value() jsontext.Value {
	b := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, Quote(f.Name)...), ':'), f.Value...)
	}
	return append(b, '}')
}
