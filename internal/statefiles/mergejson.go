package statefiles

import (
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"wavex/internal/jsonobject"
)

// This file keeps the keys and values that other programs wrote into wavex's files. It knows JSON
// objects and the order of their keys; the caller knows the keys' meaning.

// lenientJSON are options to read everything that encoding/json reads, since other programs may write
// repeated keys and invalid UTF-8, and to write indented text.
var lenientJSON = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	jsontext.PreserveRawStrings(true), jsontext.WithIndent("  ")}

// members reads the members of an object in order. Of a repeated key the last value counts.
func members(text []byte) (jsonobject.Object, error) {
	o, _, err := jsonobject.Parse(text, lenientJSON...)
	return o, err
}

// openKeys maps those top level keys of wavex for which it may have no value to a function that reports
// whether another program's value is valid for the key.
type openKeys map[string]func(value json.RawMessage) bool

// mergeShared merges wavex's object into the old text: wavex's keys come first, in its order, then the
// keys that only the old text has. If a key is in free and wavex's value is null or empty, a valid
// old value stays. Objects at the keys deep are merged in the same way. The text is indented and ends with a newline.
func mergeShared(old, ours []byte, free openKeys, deep ...string) ([]byte, error) {
	mine, err := members(ours)
	if err != nil {
		return nil, err
	}
	var theirs jsonobject.Object
	if old != nil {
		if theirs, err = members(old); err != nil {
			return nil, err
		}
	}
	for i := range mine {
		m := &mine[i]
		if at := theirs.Index(m.Name); at >= 0 {
			was := theirs[at].Value
			theirs = slices.Delete(theirs, at, at+1)
			if fit := free[m.Name]; fit != nil && (string(m.Value) == "null" || string(m.Value) == "[]") &&
				fit(json.RawMessage(was)) {
				m.Value = was
			}
			if slices.Contains(deep, m.Name) {
				if both, err := mergeShared(was, m.Value, nil); err == nil { // an error: the old value is not an object
					m.Value = both
				}
			}
		}
	}
	text, err := jsontext.AppendFormat(nil, append(mine, theirs...).Value(), lenientJSON...)
	return append(text, '\n'), err
}
