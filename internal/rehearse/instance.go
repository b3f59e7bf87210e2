package rehearse

// This file answers --json-schema with the smallest value that a schema allows, so that panels of
// experts work in rehearsal. It supports the usual schemas for models; fits refuses values that it
// gets wrong.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxDepth and maxValues bound the values of recursive schemas.
const (
	maxDepth  = 32
	maxValues = 10_000
)

// validate validates a value against a schema. Its error is one line.
func validate(schema string, value []byte) error {
	s, err := compileSchema([]byte(schema))
	if err != nil {
		return fmt.Errorf("reading the schema: %w", err)
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if err := s.Validate(v); err != nil {
		return fmt.Errorf("%s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return nil
}

func compileSchema(schema []byte) (*jsonschema.Resolved, error) {
	var doc any
	if err := json.Unmarshal(schema, &doc); err != nil {
		return nil, err
	}
	if err := checkFinite(doc); err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

// makeInstance returns a value for the schema.
func makeInstance(schema []byte) json.RawMessage {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return json.RawMessage("null")
	}
	out, err := json.Marshal((&instanceMaker{root: root, budget: maxValues}).value(root, 0))
	if err != nil {
		return json.RawMessage("null")
	}
	return out
}

type instanceMaker struct {
	root   any
	budget int // number of values that may still be made
}

func (m *instanceMaker) value(s any, depth int) any {
	sch, ok := s.(map[string]any)
	m.budget--
	if !ok || depth > maxDepth || m.budget < 0 {
		return nil
	}
	if v, ok := sch["const"]; ok {
		return v
	}
	if v, ok := sch["default"]; ok {
		return v
	}
	if vs, ok := sch["enum"].([]any); ok && len(vs) > 0 {
		return vs[0]
	}
	if ref, ok := sch["$ref"].(string); ok {
		return m.value(m.resolve(ref), depth+1)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if alts, ok := sch[key].([]any); ok && len(alts) > 0 {
			sch = mergeSchemas(sch, key, alts[:1])
		}
	}
	if all, ok := sch["allOf"].([]any); ok {
		sch = mergeSchemas(sch, "allOf", all)
		if v, ok := sch["$ref"]; ok {
			return m.value(map[string]any{"$ref": v}, depth+1)
		}
	}
	if vs, ok := sch["enum"].([]any); ok && len(vs) > 0 {
		return vs[0]
	}
	switch schemaType(sch) {
	case "object":
		return m.object(sch, depth)
	case "array":
		out := []any{}
		for range min(int(floatOf(sch["minItems"])), 64) {
			out = append(out, m.value(sch["items"], depth+1))
		}
		return out
	case "string":
		return sampleText(sch)
	case "integer", "number":
		return m.number(sch)
	case "boolean":
		return false
	}
	return nil
}

// object returns an object with only the required members.
func (m *instanceMaker) object(sch map[string]any, depth int) any {
	props, _ := sch["properties"].(map[string]any)
	out := map[string]any{}
	required, _ := sch["required"].([]any)
	for _, name := range required {
		if s, ok := name.(string); ok {
			out[s] = m.value(props[s], depth+1)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if len(out) >= int(floatOf(sch["minProperties"])) {
			break
		}
		if _, has := out[name]; !has {
			out[name] = m.value(props[name], depth+1)
		}
	}
	return out
}

func (m *instanceMaker) number(sch map[string]any) any {
	v := floatOf(sch["minimum"])
	if low, ok := sch["exclusiveMinimum"].(float64); ok && low >= v {
		v = low + 1
		if high, ok := sch["maximum"].(float64); ok && v > high {
			v = (low + high) / 2
		}
	}
	if high, ok := sch["maximum"].(float64); ok && v > high {
		v = high
	}
	return v
}

// resolve follows a reference inside the schema: "#", "#/$defs/x".
func (m *instanceMaker) resolve(ref string) any {
	at := m.root
	for _, tok := range strings.Split(strings.TrimPrefix(ref, "#"), "/")[1:] {
		tok = strings.NewReplacer("~1", "/", "~0", "~").Replace(tok)
		obj, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = obj[tok]
	}
	return at
}

// mergeSchemas merges alternatives into a schema. It unites properties and required.
func mergeSchemas(sch map[string]any, without string, with []any) map[string]any {
	out := maps.Clone(sch)
	delete(out, without)
	for _, w := range with {
		o, _ := w.(map[string]any)
		for k, v := range o {
			switch old := out[k].(type) {
			case map[string]any:
				if vm, ok := v.(map[string]any); ok && k == "properties" {
					old = maps.Clone(old)
					maps.Copy(old, vm)
					out[k] = old
					continue
				}
			case []any:
				if vs, ok := v.([]any); ok && k == "required" {
					out[k] = append(slices.Clone(old), vs...)
					continue
				}
			}
			out[k] = v
		}
	}
	return out
}

// schemaType returns the schema's type, or the type that its other keys suggest.
func schemaType(sch map[string]any) string {
	switch t := sch["type"].(type) {
	case string:
		return t
	case []any:
		for _, k := range t {
			if s, ok := k.(string); ok && s != "null" {
				return s
			}
		}
		return "null"
	}
	switch {
	case sch["properties"] != nil || sch["required"] != nil:
		return "object"
	case sch["items"] != nil:
		return "array"
	case sch["minLength"] != nil || sch["pattern"] != nil:
		return "string"
	}
	return ""
}

// sampleText returns a word with a valid length and, for the common formats, a valid format.
func sampleText(sch map[string]any) string {
	switch sch["format"] {
	case "date-time":
		return "2026-01-01T00:00:00Z"
	case "date":
		return "2026-01-01"
	case "uri":
		return "https://example.org/"
	case "email":
		return "rehearsal@example.org"
	}
	s := "rehearsal"
	if n := int(floatOf(sch["minLength"])); n > len(s) {
		s = strings.Repeat(s, min(n, 1<<16)/len(s)+1)[:min(n, 1<<16)]
	}
	if high, ok := sch["maxLength"].(float64); ok && high >= 0 && int(high) < len(s) {
		s = s[:int(high)]
	}
	return s
}

func floatOf(v any) float64 { f, _ := v.(float64); return f }
