// Package jsonobject reads and writes JSON objects whose fields keep their order and the text of
// their values. It does not know the fields.
package jsonobject

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

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
	open, err := d.ReadToken()
	if err != nil {
		return nil, 0, err
	}
	if open.Kind() != jsontext.KindBeginObject {
		return nil, 0, ErrNotObject
	}
	known := map[string]int{}
	for d.PeekKind() != jsontext.KindEndObject {
		token, err := d.ReadToken()
		if err != nil {
			return nil, 0, err
		}
		name := token.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, 0, err
		}
		f := Field{name, value.Clone(), int(d.InputOffset()) - len(value)}
		if i, twice := known[name]; twice {
			o[i] = f
			continue
		}
		known[name] = len(o)
		o = append(o, f)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, 0, err
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

// Quote returns a string as JSON without escaping <, > and &.
func Quote(s string) jsontext.Value {
	v, err := jsontext.AppendQuote(nil, s)
	if err != nil { // not UTF-8
		v, _ = json.Marshal(s) // the invalid bytes become \ufffd
	}
	return v
}
