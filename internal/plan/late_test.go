package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// latePlan has a producer T-001 with an output, and a user with the given fields.
func latePlan(user string) string {
	return `{"tasks":[{"id":"u",` + user + `},
	{"id":"T-001","command":"x","output":{"type":"object","additionalProperties":false,"properties":{
	"items":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"}}}},"n":{"type":"integer"}}}}]}`
}

func TestLateReferences(t *testing.T) {
	t.Parallel()
	p, ds := Parse("plan.json", []byte(latePlan(`"description":"all: ${tasks.T-001.output.items | json}",
		"prompt":"In ${run.id}: ${tasks.1.output.items[0].path}, $${tasks.1.output.n}"`)), Options{})
	if p == nil || len(p.Graph.Blockers(0)) != 1 || p.Graph.Blockers(0)[0] != 1 ||
		fmt.Sprint(p.Tasks[0].Uses()) != "[1 T-001]" {
		t.Fatalf("%v", ds)
	}
	const hostile = `${tasks.T-001.output.n} "; rm -rf $HOME; "$(touch x)` + "\n"
	raw, err := json.Marshal(map[string]any{"items": []any{map[string]string{"path": hostile}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Tasks[0].Resolve("R", map[string]json.RawMessage{"1": raw, "T-001": raw}, nil)
	if err != nil || got.Prompt != "In R: "+hostile+", ${tasks.1.output.n}" ||
		!strings.Contains(got.Description, `rm -rf`) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := p.Tasks[0].Resolve("R", map[string]json.RawMessage{"1": []byte(`{}`), "T-001": raw}, nil); err == nil {
		t.Error("a value that is missing is no error")
	}
	p, ds = Parse("plan.json", []byte(latePlan(`"command":"echo ${tasks.T-001.output.n}","blockedBy":["T-001"]`)),
		Options{})
	if p == nil || p.Graph.Edges() != 1 || !strings.HasPrefix(p.Tasks[0].Command, `echo "${WAVEX_VALUE_`) {
		t.Fatalf("%v", ds)
	}
	large := `"` + strings.Repeat("x", maxVariable+1) + `"`
	for value, wrong := range map[string]string{`"a b"`: "", `"\u0000"`: "NUL", large: "bytes"} {
		got, err := p.Tasks[0].Resolve("R", map[string]json.RawMessage{"T-001": []byte(`{"n":` + value + `}`)}, nil)
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%.20s: %v", value, err)
		}
		if err == nil && (len(got.Env) != 1 || len(p.Tasks[0].Env) != 0) {
			t.Errorf("the variables are %v, of the plan %v", got.Env, p.Tasks[0].Env)
		}
	}
}

func TestLateMistakes(t *testing.T) {
	t.Parallel()
	for user, want := range map[string]string{
		`"prompt":"${tasks.T-002.output.n}"`:                                    "there is no task T-002; did you mean",
		`"prompt":"${tasks.u.output.n}"`:                                        "task u has no output",
		`"prompt":"${tasks.T-001.report}"`:                                      "write ${tasks.ID.output}, or",
		`"prompt":"${tasks.T-001.output.x}"`:                                    "has no field x",
		`"prompt":"${tasks.T-001.output.n.x}"`:                                  "a value of type integer has no field x",
		`"prompt":"${tasks.T-001.output.n[0]}"`:                                 "no index in a value of type integer",
		`"prompt":"${tasks.T-001.output.items}"`:                                "the value is a list",
		`"prompt":"${tasks.T-001.output}"`:                                      "the value is an object",
		`"prompt":"${tasks.T-001.output.n | join(\",\")}"`:                      "join needs a list",
		`"subject":"${tasks.T-001.output.n}"`:                                   "only description, prompt and command",
		`"prompt":"x","verify":"echo ${run.id}"`:                                "only description, prompt and command",
		`"prompt":"x","description":"Verify: test ${tasks.T-001.output.n} = 1"`: "the check behind Verify",
		`"prompt":"${run.name}"`:                                                "there is only ${run.id}",
		`"prompt":"${item.path}"`:                                               "there is no item here",
		`"prompt":"${tasks.u.output.n}","output":{"type":"object"}`:             "its own output",
	} {
		p, ds := Parse("plan.json", []byte(latePlan(user)), Options{})
		if got := fmt.Sprint(ds); p != nil || !strings.Contains(got, want) || !strings.Contains(got, "[bad-reference]") ||
			ds[0].Line != 1 {
			t.Errorf("%s: got %.400s, want %q", user, got, want)
		}
	}
	const circle = `{"tasks":[{"id":"a","prompt":"${tasks.b.output.x}","output":{"type":"object"}},
		{"id":"b","prompt":"${tasks.a.output.x}","output":{"type":"object"}}]}`
	p, ds := Parse("plan.json", []byte(circle), Options{})
	if p != nil || !strings.Contains(fmt.Sprint(ds), "cycle: a -> b -> a") {
		t.Errorf("a circle of references: %v", ds)
	}
}
