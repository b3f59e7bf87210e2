package rehearse

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/counsel"
	"wavex/internal/jsonschema/jsonschematest"
)

func FuzzInstance(f *testing.F) {
	f.Add([]byte(`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#"}}}`))
	f.Add([]byte(`{"$ref":"#/$defs/x","$defs":{"x":{"anyOf":[{"type":"array","minItems":3}]}}}`))
	f.Add([]byte(`{"required":["a","b"],"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}}}`)) // 2^32 values if all were made
	f.Fuzz(func(t *testing.T, schema []byte) {
		if len(schema) > 1<<12 {
			return
		}
		out := makeInstance(schema)
		if !json.Valid(out) {
			t.Fatalf("%s gives %s", schema, out)
		}
	})
}

// Every question of wavex has a schema for which the agent has a valid answer.
func TestInstanceFits(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		counsel.OpinionSchema, counsel.ReviewSchema, counsel.RefuteSchema, counsel.JudgeSchema, counsel.ChallengeSchema,
		counsel.ClarifySchema,
		`{"type":"object","required":["verdict","score","notes"],"properties":{"verdict":{"enum":["approve","reject"]},"score":{"type":"integer","minimum":1,"maximum":5},"notes":{"type":"array","minItems":2,"items":{"type":"string","minLength":12}}}}`,
		`{"$defs":{"who":{"type":"string"}},"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/who"}},"additionalProperties":false}`,
		`true`, `{}`,
	} {
		if err := validate(s, makeInstance([]byte(s))); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s, err := json.Marshal(genSchema(t, 3))
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(string(s), makeInstance(s)); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	})
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, value, says string }{
		{`{"$ref":"#/$defs/x"}`, `1`, "$defs"},
		{`{"$ref":"other.json"}`, `1`, "other.json"},
		{`{"type":`, `1`, "reading the schema"},
		{`{}`, `{`, "not JSON"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"null"},{"type":"integer"}]}}}`, `1`, ""},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}}`, `"1"`, "type"},
	} {
		err := validate(c.schema, []byte(c.value))
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s of %s: %v, want %q", c.schema, c.value, err, c.says)
		}
	}
}

// validate and another validator agree on values that were made for another schema.
func TestValidateAgrees(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := json.Marshal(genSchema(t, 2))
		if err != nil {
			t.Fatal(err)
		}
		from, err := json.Marshal(genSchema(t, 2))
		if err != nil {
			t.Fatal(err)
		}
		value := makeInstance(from)
		ours, other := validate(string(s), value), jsonschematest.New(t, s).Validate(value)
		if (ours == nil) != (other == nil) {
			t.Fatalf("%s of %s: %v, and the other says %v", s, value, ours, other)
		}
	})
}

func genSchema(t *rapid.T, depth int) map[string]any {
	kinds := []string{"string", "integer", "boolean", "enum", "object", "array"}
	if depth == 0 {
		kinds = kinds[:4]
	}
	switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
	case "enum":
		return map[string]any{"enum": rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,5}`), 1, 3).Draw(t, "enum")}
	case "object":
		props := map[string]any{}
		for _, n := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,4}`), 0, 3, rapid.ID).Draw(t, "names") {
			props[n] = genSchema(t, depth-1)
		}
		req := []string{}
		for n := range props {
			if rapid.Bool().Draw(t, "required") {
				req = append(req, n)
			}
		}
		return map[string]any{"type": kind, "properties": props, "required": req, "additionalProperties": false}
	case "array":
		return map[string]any{"type": kind, "items": genSchema(t, depth-1), "minItems": rapid.IntRange(0, 3).Draw(t, "min")}
	case "string":
		return map[string]any{"type": kind, "minLength": rapid.IntRange(0, 30).Draw(t, "min")}
	case "integer":
		return map[string]any{"type": kind, "minimum": rapid.IntRange(-9, 9).Draw(t, "min")}
	default:
		return map[string]any{"type": kind}
	}
}

// A structured answer is the block's if it is valid; if not, the turn fails in the way of the CLI.
func TestStructured(t *testing.T) {
	t.Parallel()
	schema := []string{"--json-schema", `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`}
	res := newFixture(t, quick+`"structured":{"n":7}}`).batch(prompt, append(schema, streaming...)...).result(t)
	want(t, "given", string(res.Structured), `{"n":7}`)
	res = newFixture(t, quick+`"turns":1}`).batch(prompt, append(schema, streaming...)...).result(t)
	want(t, "made up", string(res.Structured), `{"n":0}`)
	e := newFixture(t, quick+`"structured":{"n":"seven"}}`).batch(prompt, append(schema, streaming...)...)
	res = e.result(t)
	want(t, "exit", e.code, 0)
	want(t, "subtype", res.Subtype, "success")
	want(t, "unfit", string(res.Structured), "")
	want(t, "refusals", strings.Count(e.out, "Output does not match required schema: ")/2,
		2) // each in content and in tool_use_result
}
