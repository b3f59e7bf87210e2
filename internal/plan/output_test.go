package plan

import (
	"fmt"
	"strings"
	"testing"
)

func TestOutputSchemas(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		`{"type":"object"}`:                                              "",
		`{"type":"array"}`:                                               "the output of an agent is an object",
		`{"type":"object","items":{"type":"lst"}}`:                       `there is no type "lst"`,
		`{"type":"object","allOf":[{"$ref":"#"}]}`:                       "refers to itself",
		`{"type":"object","x":"` + strings.Repeat("x", maxSchema) + `"}`: "at most 32768 are allowed",
		`[]`:   "a JSON Schema, which is an object",
		`true`: "a JSON Schema, which is an object",
	} {
		p, ds := Parse("plan.json", []byte(task(`"output":`+output)), Options{})
		if got := fmt.Sprint(ds); (p != nil) != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%.60s: %.300s, want %q", output, got, want)
		}
		if p == nil && (ds[0].Line == 0 || !strings.HasSuffix(ds[0].Path, ".output")) {
			t.Errorf("%.60s: the position is %d, %q", output, ds[0].Line, ds[0].Path)
		}
	}
	if p, ds := Parse("p.json", []byte(tasks(`{"id":1,"command":"x","output":{"type":"array"}}`)), Options{}); p == nil {
		t.Errorf("a command may give a list: %v", ds)
	}
}

// The content key covers the schema, but not its formatting, the order of its fields, or $schema.
func TestKeyOfOutput(t *testing.T) {
	t.Parallel()
	key := func(more string) string {
		p, ds := Parse("plan.json", []byte(task(more)), Options{})
		if p == nil {
			t.Fatal(ds)
		}
		return p.Key(0)
	}
	one := key(`"output":{"type":"object","minProperties":1}`)
	if same := key(`"output": {"$schema": "x", "minProperties": 1, "type": "object"}`); same != one {
		t.Error("the formatting of the schema counts")
	}
	if other := key(`"output":{"type":"object","minProperties":2}`); other == one || one == key(`"aspects":[]`) {
		t.Error("the schema does not count")
	}
}
