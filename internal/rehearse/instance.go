package rehearse

// This file answers --json-schema with the smallest value that a schema allows, so that panels of
// experts work in rehearsal. It supports the schemas of wavex's own questions; validate refuses the
// values that it gets wrong.

import (
	"encoding/json"
	"fmt"
	"strings"

	"wavex/internal/jsonschema"
)

// maxValues bounds the values of an answer.
const maxValues = 10_000

// validate validates a value against a schema. Its error is one line.
func validate(text string, value []byte) error {
	s, err := jsonschema.Parse([]byte(text))
	if err != nil {
		return fmt.Errorf("reading the schema: %w", err)
	}
	return s.Validate(value)
}

// makeInstance returns a value for the schema.
func makeInstance(schema []byte) json.RawMessage {
	var root any
	_ = json.Unmarshal(schema, &root) // a schema that is not JSON has the value null
	defs, _ := root.(map[string]any)
	m := instanceMaker{budget: maxValues}
	m.definitions, _ = defs["$defs"].(map[string]any)
	out, err := json.Marshal(m.value(root))
	if err != nil {
		return json.RawMessage("null")
	}
	return out
}

type instanceMaker struct {
	definitions map[string]any
	budget      int // number of values that may still be made
}

func (m *instanceMaker) value(schema any) any {
	s, _ := schema.(map[string]any)
	if m.budget--; m.budget < 0 {
		return nil
	}
	if ref, ok := s["$ref"].(string); ok {
		return m.value(m.definitions[strings.TrimPrefix(ref, "#/$defs/")])
	}
	if v, ok := s["const"]; ok {
		return v
	}
	if list, ok := s["enum"].([]any); ok && len(list) > 0 {
		return list[0]
	}
	kind := s["type"]
	if list, ok := kind.([]any); ok && len(list) > 0 {
		kind = list[0]
	}
	switch kind {
	case "object":
		out := map[string]any{}
		props, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		for _, name := range required {
			if name, ok := name.(string); ok {
				out[name] = m.value(props[name])
			}
		}
		return out
	case "array":
		out := []any{}
		for range countOf(s["minItems"], 64) {
			out = append(out, m.value(s["items"]))
		}
		return out
	case "string":
		const text = "rehearsal"
		return text + strings.Repeat(text, countOf(s["minLength"], 1<<16)/len(text))
	case "integer", "number":
		low, _ := s["minimum"].(float64)
		return low
	case "boolean":
		return false
	}
	return nil
}

// countOf returns a number of a schema, from 0 to most.
func countOf(v any, most float64) int {
	f, _ := v.(float64)
	return int(min(max(f, 0), most))
}
