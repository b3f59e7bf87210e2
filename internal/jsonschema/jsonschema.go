// Package jsonschema validates JSON values with the JSON Schemas that plans and questions have. It knows
// neither plans nor agents.
package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a JSON Schema of draft 2020-12 or 7. It is safe for concurrent use.
type Schema struct{ resolved *jsonschema.Resolved }

// Parse reads a schema. Its error is one line. The schema may refer to its own definitions ("#/$defs/name"), but
// not to itself, because the validation of such a schema need not end, and to no other document.
func Parse(text []byte) (*Schema, error) {
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	w := walker{root: root, refs: map[string]refState{"#": inProgress}}
	if err := w.schema(root); err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, oneLine(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, oneLine(err)
	}
	return &Schema{resolved}, nil
}

// Validate validates a JSON value. Its error is one line that names the part of the schema.
func (s *Schema) Validate(value []byte) error {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if err := s.resolved.Validate(v); err != nil {
		return oneLine(err)
	}
	return nil
}

func oneLine(err error) error { return errors.New(strings.Join(strings.Fields(err.Error()), " ")) }

// refState says how far a reference was followed.
type refState uint8

const (
	inProgress refState = iota + 1
	followed
)

// walker finds two mistakes that the library accepts: types that do not exist, and references that lead back to
// themselves.
type walker struct {
	root any
	refs map[string]refState
}

// types are the types of JSON Schema.
var types = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

func (w *walker) schema(node any) error {
	s, ok := node.(map[string]any)
	if !ok {
		return w.list(node)
	}
	for name, v := range s {
		var err error
		text, isText := v.(string)
		switch name {
		case "const", "enum", "default", "examples":
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			named, _ := v.(map[string]any) // the library refuses other values
			for _, one := range named {
				err = errors.Join(err, w.schema(one))
			}
		case "type":
			list, _ := v.([]any)
			for _, one := range append(list, v) {
				if t, isText := one.(string); isText && !slices.Contains(types, t) {
					err = fmt.Errorf("there is no type %q; the types are %s", t, strings.Join(types, ", "))
				}
			}
		case "$ref":
			if isText {
				err = w.follow(text)
			}
		case "$dynamicRef", "$recursiveRef":
			err = fmt.Errorf("%s is not supported; use $ref", name)
		default:
			err = w.schema(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) list(node any) error {
	list, _ := node.([]any)
	for _, one := range list {
		if err := w.schema(one); err != nil {
			return err
		}
	}
	return nil
}

// follow walks the schema behind a reference once.
func (w *walker) follow(ref string) error {
	switch {
	case !strings.HasPrefix(ref, "#/") && ref != "#":
		return fmt.Errorf("$ref %q is not supported; refer to a definition in the schema, like #/$defs/name", ref)
	case w.refs[ref] == inProgress:
		return fmt.Errorf("the schema refers to itself by $ref %q", ref)
	case w.refs[ref] == followed:
		return nil
	}
	w.refs[ref] = inProgress
	node := w.root
	for _, name := range strings.Split(ref, "/")[1:] {
		s, ok := node.(map[string]any)
		if node = s[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]; !ok || node == nil {
			return fmt.Errorf("there is no schema at $ref %q", ref)
		}
	}
	err := w.schema(node)
	w.refs[ref] = followed
	return err
}
