// Package jsonschematest validates JSON in tests with another library than package jsonschema, which knows no formats
// of strings and no number beyond float64. The library reads its metaschemas before main, 7 ms: keep it out of test
// binaries that start themselves often.
package jsonschematest

import (
	"bytes"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a JSON Schema of draft 2020-12.
type Schema struct{ compiled *jsonschema.Schema }

// T is a test, of package testing or rapid.
type T interface {
	Helper()
	Fatal(args ...any)
}

// New reads a schema. It ends the test if the schema is invalid.
func New(t T, text []byte) Schema {
	t.Helper()
	s, err := compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func compile(text []byte) (Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return Schema{}, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		return Schema{}, err
	}
	s, err := c.Compile("schema.json")
	return Schema{s}, err
}

// Validate returns why a JSON value does not fit the schema.
func (s Schema) Validate(value []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return err
	}
	return s.compiled.Validate(v)
}
