package loopdir

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// This file keeps what others wrote into our files. It knows JSON objects and the
// order of their keys; what the keys mean is told to it.

// member is a key of an object and its value's text.
type member struct {
	key   string
	value json.RawMessage
}

var errNoObject = errors.New("not a JSON object")

// lenient reads what encoding/json reads, since what others wrote may repeat keys and be no
// UTF-8, and writes it for people.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true), jsontext.WithIndent("  ")}

// members reads an object in order. A key given twice counts by its last value.
func members(text []byte) ([]member, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text), lenient...)
	open, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	if open.Kind() != jsontext.KindBeginObject {
		return nil, errNoObject
	}
	var out []member
	for d.PeekKind() != jsontext.KindEndObject {
		key, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name := key.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		m := member{name, json.RawMessage(value.Clone())}
		if i := find(out, m.key); i >= 0 {
			out[i].value = m.value
		} else {
			out = append(out, m)
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return out, nil
}

func find(list []member, key string) int {
	return slices.IndexFunc(list, func(m member) bool { return m.key == key })
}

// open tells for a key of ours, at the top of the object, that wavex may have no value
// for it, and which values of others may then stand there.
type open map[string]func(value json.RawMessage) bool

// keep lays our object over the old text: our keys first, in our order, then the keys
// that only the old one has. Where a key is open and our value is null or empty, a fit
// old value stays. Objects that are named in deep are merged in the same way.
func keep(old, ours []byte, free open, deep ...string) ([]byte, error) {
	text, _, err := lay(old, ours, free, deep...)
	return text, err
}

// lay is keep, and tells in rest what of the new text others may have a part in: laid over
// rest, our keys make the same as laid over all of text.
func lay(old, ours []byte, free open, deep ...string) (text, rest []byte, err error) {
	mine, err := members(ours)
	if err != nil {
		return nil, nil, err
	}
	var theirs []member
	if old != nil {
		if theirs, err = members(old); err != nil {
			return nil, nil, err
		}
	}
	var shared []member
	for i := range mine {
		m := &mine[i]
		if at := find(theirs, m.key); at >= 0 {
			was := theirs[at].value
			theirs = slices.Delete(theirs, at, at+1)
			if fit := free[m.key]; fit != nil && nothing(m.value) && fit(was) {
				m.value = was
			}
			if slices.Contains(deep, m.key) {
				if both, err := keep(was, m.value, nil); err == nil { // else it was no object
					m.value = both
				}
			}
		}
		if free[m.key] != nil || slices.Contains(deep, m.key) {
			shared = append(shared, *m)
		}
	}
	if rest, err = object(append(shared, theirs...)); err != nil {
		return nil, nil, err
	}
	text, err = indent(append(mine, theirs...))
	return text, rest, err
}

func nothing(v json.RawMessage) bool {
	s := string(bytes.TrimSpace(v))
	return s == "null" || s == "[]"
}

// object writes members in their order.
func object(list []member) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// indent writes an object for people, ending with a newline.
func indent(list []member) ([]byte, error) {
	text, err := object(list)
	if err != nil {
		return nil, err
	}
	out, err := jsontext.AppendFormat(nil, text, lenient...)
	if err != nil {
		return nil, err
	}
	return append(out, '\n'), nil
}
