package plan

// This file reads the JSON Schemas of the structured results of tasks. It validates no result.

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"wavex/internal/jsonobject"
	"wavex/internal/jsonschema"
	"wavex/internal/plan/source"
)

// maxSchema bounds the schema of an output, in bytes: it becomes an argument of the CLI.
const maxSchema = 32 << 10

// outputSchema reads the schema of an output, and returns it without white space and without $schema, which the CLI
// refuses (observed on claude 2.1.330). It returns nil if it has a mistake.
func (d *decoder) outputSchema(t source.Token) json.RawMessage {
	d.outputLocation = t.At
	if t.Kind != source.KindObject {
		d.wrongType(t, "a JSON Schema, which is an object")
		return nil
	}
	raw := d.src.Raw(t)
	if raw == nil {
		return nil // the source broke
	}
	var text bytes.Buffer
	schema, _, err := jsonobject.Parse(raw, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err == nil {
		schema.Set("$schema", nil)
		err = json.Compact(&text, schema.Value())
	}
	if err != nil {
		d.errorf(t.At, CodeBadSchema, "the schema of the output: %s", err)
		return nil
	}
	if text.Len() > maxSchema {
		d.errorf(t.At, CodeTooLarge, "the schema has %d bytes; at most %d are allowed", text.Len(), maxSchema)
		return nil
	}
	mistake, known := d.schemas[text.String()]
	if !known {
		_, mistake = jsonschema.Parse(text.Bytes())
		if d.schemas == nil {
			d.schemas = map[string]error{}
		}
		d.schemas[text.String()] = mistake
	}
	if mistake != nil {
		d.errorf(t.At, CodeBadSchema, "the schema of the output: %s", mistake)
		return nil
	}
	return text.Bytes()
}

// requireObject reports the schema of the current task if it allows more than objects: the CLI's tool gives no other
// value.
func (d *decoder) requireObject(text json.RawMessage) {
	var s struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(text, &s) == nil && s.Type == "object" {
		return
	}
	d.enter(step{name: "output"})
	d.errorf(d.outputLocation, CodeBadSchema,
		`the output of an agent is an object; begin its schema with "type": "object"`)
	d.leave()
}

// canonicalJSON returns a value with its keys in order, so that their order in the file does not count.
func canonicalJSON(text json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(text)
	}
	return string(out)
}
