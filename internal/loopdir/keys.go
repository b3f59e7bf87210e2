package loopdir

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// This file keeps what others wrote into our files. It knows JSON objects and the
// order of their keys; what the keys mean is told to it.

// member is a key of an object and its value's text.
type member struct {
	key   string
	value json.RawMessage
}

var errNoObject = errors.New("not a JSON object")

// members reads an object in order. A key given twice counts by its last value.
func members(text []byte) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	open, err := d.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errNoObject
	}
	var out []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: key.(string)} // in an object, the decoder gives nothing else here
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		if i := find(out, m.key); i >= 0 {
			out[i].value = m.value
		} else {
			out = append(out, m)
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if d.More() {
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
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
