package jsonobject

import (
	"bytes"
	"encoding/json"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is the text of a JSON value of another program; nil is a missing one. Its methods decode only the asked part,
// and read a value of another type as a missing one. The first of several members with one name counts. A value may be
// cut off or have a syntax error: then they find the members before it, and the rest is the value of the last one.
type Value []byte

// Get returns the value at a path of names and indices, such as "message.content.0.text", or nil.
func (v Value) Get(path string) Value {
	first, rest, more := strings.Cut(path, ".")
	for name, value := range v.Members() {
		if name == first {
			if more {
				return value.Get(rest)
			}
			return value
		}
	}
	return nil
}

// Len returns the number of members of an object or an array, else 0.
func (v Value) Len() (n int) {
	for range v.Members() {
		n++
	}
	return n
}

// decoders holds decoders for reuse.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// Members returns the names and the values of an object, or the indices and the values of an array. The values share
// the bytes of v.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if kind := v.Kind(); kind != jsontext.KindBeginObject && kind != jsontext.KindBeginArray {
			return
		}
		d := decoders.Get().(*jsontext.Decoder)
		defer decoders.Put(d)
		d.Reset(bytes.NewBuffer(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		_, err := d.ReadToken()
		for i := 0; err == nil; i++ {
			name := ""
			if v.isObject() {
				var key Value
				if key, err = v.next(d); err != nil || key.Kind() != jsontext.KindString {
					return
				}
				name = key.Text()
			} else {
				name = strconv.Itoa(i)
			}
			var value Value
			if value, err = v.next(d); len(value) == 0 || !yield(name, value) {
				return
			}
		}
	}
}

// next reads a value, or with an error the rest of v. It returns "" at the end of v.
func (v Value) next(d *jsontext.Decoder) (Value, error) {
	from := d.InputOffset()
	read, err := d.ReadValue()
	to := d.InputOffset()
	if err == nil {
		return v[to-int64(len(read)) : to], nil
	}
	rest := bytes.TrimLeft(v[from:], " \t\r\n:,")
	if len(rest) > 0 && (rest[0] == '}' || rest[0] == ']') {
		return nil, err
	}
	return rest, err
}

// Kind returns the kind of the value; 0: it is missing, or no value.
func (v Value) Kind() jsontext.Kind { return jsontext.Value(v).Kind() }

func (v Value) isObject() bool { return v.Kind() == jsontext.KindBeginObject }

// Text returns a string, else "". It keeps bytes that are not UTF-8.
func (v Value) Text() string {
	s := bytes.TrimSpace(v)
	switch {
	case v.Kind() != jsontext.KindString:
		return ""
	case bytes.IndexByte(s, '\\') < 0:
		return string(bytes.TrimSuffix(s[1:], []byte{'"'}))
	}
	text, _ := jsontext.AppendUnquote(nil, s) // of an invalid one the valid part
	return string(text)
}

// String returns the text of a string, "" for null, and the JSON of another value.
func (v Value) String() string {
	switch v.Kind() {
	case jsontext.KindString:
		return v.Text()
	case jsontext.KindNull:
		return ""
	}
	return string(v)
}

// Float returns a number, or 0 for another value. One that is too large is infinite.
func (v Value) Float() float64 {
	if v.Kind() != jsontext.KindNumber {
		return 0
	}
	n, _ := strconv.ParseFloat(string(v), 64)
	return n
}

// Int returns a number without its fraction, or 0 for another value and for one beyond the exact numbers of float64.
func (v Value) Int() int64 {
	if n := v.Float(); math.Abs(n) < 1<<53 {
		return int64(n)
	}
	return 0
}

// Bool reports whether the value is true.
func (v Value) Bool() bool { return v.Kind() == jsontext.KindTrue && jsontext.Value(v).IsValid() }

// IsValid reports whether the whole value is valid JSON, which may repeat names and have invalid UTF-8.
func (v Value) IsValid() bool {
	return jsontext.Value(v).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// At returns the offset of a part of v that its methods returned.
func (v Value) At(part Value) int { return cap(v) - cap(part) }

// With returns v with another value at a path of names and indices. All other bytes stay. nil removes the value, its
// comma and its blanks. A missing one is added at the end of its object, or by the index -1 of its array, as are those
// around it.
func (v Value) With(path string, value Value) Value {
	first, rest, more := strings.Cut(path, ".")
	end := bytes.IndexAny(v, "{[") + 1 // of the member before
	head := end
	for name, old := range v.Members() {
		at := v.At(old)
		after := v[at+len(old):]
		switch {
		case name != first:
			end = at + len(old)
			continue
		case more:
			value = old.With(rest, value)
		case value == nil && end > head:
			return slices.Concat(v[:end], after)
		case value == nil:
			return slices.Concat(v[:head], bytes.TrimLeft(after, " \t\r\n,"))
		}
		return slices.Concat(v[:at], value, after)
	}
	switch {
	case value == nil:
		return v
	case strings.HasPrefix(rest, "-1"):
		value = Value("[]").With(rest, value)
	case more:
		value = Value("{}").With(rest, value)
	}
	if v.isObject() {
		value = slices.Concat(Value(Quote(first)), Value{':'}, value)
	}
	if end > head {
		value = slices.Concat(Value{','}, value)
	}
	return slices.Concat(v[:end], value, v[end:])
}

// Quote returns a string as JSON without escaping <, > and &.
func Quote(s string) jsontext.Value {
	v, err := jsontext.AppendQuote(nil, s)
	if err != nil { // not UTF-8
		v, _ = json.Marshal(s) // the invalid bytes become \ufffd
	}
	return v
}
