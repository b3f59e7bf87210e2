package statefiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// This file keeps the keys and values that other programs wrote into wavex's files. It knows JSON
// objects and the order of their keys; the caller knows the keys' meaning.

// member is a key of an object and the text of its value.
type member struct {
	key   string
	value json.RawMessage
}

var errNoObject = errors.New("not a JSON object")

// lenientJSON are options to read everything that encoding/json reads, since other programs may write
// repeated keys and invalid UTF-8, and to write indented text.
var lenientJSON = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	jsontext.PreserveRawStrings(true), jsontext.WithIndent("  ")}

// members reads the members of an object in order. Of a repeated key the last value counts.
func members(text []byte) ([]member, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text), lenientJSON...)
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
		if i := indexKey(out, m.key); i >= 0 {
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

func indexKey(list []member, key string) int {
	return slices.IndexFunc(list, func(m member) bool { return m.key == key })
}

// openKeys maps those top level keys of wavex for which it may have no value to a function that reports
// whether another program's value is valid for the key.
type openKeys map[string]func(value json.RawMessage) bool

// mergeObjects merges wavex's object into the old text: wavex's keys come first, in its order, then the
// keys that only the old text has. If a key is in free and wavex's value is null or empty, a valid
// old value stays. Objects at the keys deep are merged in the same way.
func mergeObjects(old, ours []byte, free openKeys, deep ...string) ([]byte, error) {
	text, _, err := mergeShared(old, ours, free, deep...)
	return text, err
}

// mergeShared is like keep, and also returns the part of the new text that other programs may share:
// merging wavex's keys into rest gives the same as merging them into all of text.
func mergeShared(old, ours []byte, free openKeys, deep ...string) (text, rest []byte, err error) {
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
		if at := indexKey(theirs, m.key); at >= 0 {
			was := theirs[at].value
			theirs = slices.Delete(theirs, at, at+1)
			if fit := free[m.key]; fit != nil && isEmptyValue(m.value) && fit(was) {
				m.value = was
			}
			if slices.Contains(deep, m.key) {
				if both, err := mergeObjects(was, m.value, nil); err == nil { // an error: the old value is not an object
					m.value = both
				}
			}
		}
		if free[m.key] != nil || slices.Contains(deep, m.key) {
			shared = append(shared, *m)
		}
	}
	if rest, err = encodeObject(append(shared, theirs...)); err != nil {
		return nil, nil, err
	}
	text, err = encodeIndented(append(mine, theirs...))
	return text, rest, err
}

func isEmptyValue(v json.RawMessage) bool {
	s := string(bytes.TrimSpace(v))
	return s == "null" || s == "[]"
}

// encodeObject encodes members in their order.
func encodeObject(list []member) ([]byte, error) {
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

// encodeIndented encodes an object for people, with a newline at the end.
func encodeIndented(list []member) ([]byte, error) {
	text, err := encodeObject(list)
	if err != nil {
		return nil, err
	}
	out, err := jsontext.AppendFormat(nil, text, lenientJSON...)
	if err != nil {
		return nil, err
	}
	return append(out, '\n'), nil
}
