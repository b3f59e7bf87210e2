package jsonschema

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range [][2]string{
		{`{"type":"object","properties":{"type":{"type":"string"},"enum":{"enum":[{"type":"x"}]}}}`, ""},
		{`{"$defs":{"a":{"type":["string","null"]}},"properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#/$defs/a"}}}`,
			""},
		{`true`, ""},
		{`{"type":"strnig"}`, `there is no type "strnig"`},
		{`{"items":{"type":["blob"]}}`, `there is no type "blob"`},
		{`{"anyOf":[{"type":"text"}]}`, `there is no type "text"`},
		{`[]`, "cannot unmarshal"},
		{`{"type":`, "not JSON"},
		{`{"pattern":"("}`, "missing closing )"},
		{`{"minimum":"x"}`, "minimum"},
		{`{"$ref":"#"}`, "refers to itself"},
		{`{"allOf":[{"$ref":"#"}]}`, "refers to itself"},
		{`{"$ref":"http://example.com/s"}`, "is not supported"},
		{`{"$dynamicRef":"#x"}`, "is not supported"},
		{`{"items":{"$ref":"#/$defs/a"}}`, "there is no schema at"},
		{`{"properties":{"default":{"$ref":"#/properties/default"}}}`, "refers to itself"},
		{`{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"items":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"}`,
			"refers to itself"},
		{`{"$defs":{"a":{"properties":{"next":{"$ref":"#/$defs/a"}}}},"type":"object"}`, "refers to itself"},
	} {
		text, want := tc[0], tc[1]
		_, err := Parse([]byte(text))
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	s, err := Parse([]byte(`{"type":"object","properties":{"items":{"type":"array","items":{"type":"object",
		"required":["path"]}}},"required":["items"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`{"items":[{"path":"a"}]}`: "",
		`{"items":[{"a":1}]}`:      `/properties/items/items: required: missing properties: ["path"]`,
		`{`:                        "not JSON",
		`[]`:                       `has type "array", want "object"`,
		"{\"items\":\"a\\n\\nb\"}": `want "array"`,
	} {
		err := s.Validate([]byte(value))
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", value, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error has several lines: %q", value, err)
		}
	}
}
