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
	must(t, err)
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
		`"prompt":"${tasks.T-002.output.n}"`:                                     "there is no task T-002; did you mean",
		`"prompt":"${tasks.u.output.n}"`:                                         "task u has no output",
		`"prompt":"${tasks.T-001.report}"`:                                       "write ${tasks.ID.output}, or",
		`"prompt":"${tasks.T-001.output.x}"`:                                     "has no field x",
		`"prompt":"${tasks.T-001.output.n.x}"`:                                   "a value of type integer has no field x",
		`"prompt":"${tasks.T-001.output.n[0]}"`:                                  "no index in a value of type integer",
		`"prompt":"${tasks.T-001.output.items}"`:                                 "the value is a list",
		`"prompt":"${tasks.T-001.output}"`:                                       "the value is an object",
		`"prompt":"${tasks.T-001.output.n | join(\",\")}"`:                       "join needs a list",
		`"subject":"${tasks.T-001.output.n}"`:                                    "only description, prompt and command",
		`"prompt":"x","verify":"echo ${run.id}"`:                                 "only description, prompt and command",
		`"prompt":"x","activeForm":"${tasks.T-001.output.n}"`:                    "only description, prompt and command",
		`"prompt":"x","model":"${tasks.T-001.output.n}"`:                         "only description, prompt and command",
		`"prompt":"x","appendSystemPrompt":"${tasks.T-001.output.n}"`:            "only description, prompt and command",
		`"prompt":"x","dir":"d/${tasks.T-001.output.n}"`:                         "only description, prompt and command",
		`"prompt":"x","files":["${tasks.T-001.output.n}"]`:                       "only description, prompt and command",
		`"prompt":"x","criteria":["${tasks.T-001.output.n} is there"]`:           "only description, prompt and command",
		`"prompt":"x","verify":{"file":"${tasks.T-001.output.n}"}`:               "only description, prompt and command",
		`"prompt":"x","verify":{"file":"x","contains":"${run.id}"}`:              "only description, prompt and command",
		`"prompt":"x","allowedTools":["${tasks.T-001.output.n}"]`:                "this field has no references",
		`"prompt":"x","verify":{"file":"x","matches":"${tasks.T-001.output.n}"}`: "this field has no references",
		`"prompt":"x","exclusive":"${tasks.T-001.output.n}"`:                     "this field has no references",
		`"prompt":"x","description":"Verify: test ${tasks.T-001.output.n} = 1"`:  "the check behind Verify",
		`"prompt":"${run.name}"`:                                                 "there is only ${run.id}",
		`"prompt":"${item.path}"`:                                                "there is no item here",
		`"prompt":"${tasks.u.output.n}","output":{"type":"object"}`:              "its own output",
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

// A parameter has its value in each field with references; in commands and checks it is a variable.
func TestReferencesInEveryField(t *testing.T) {
	t.Parallel()
	const value = `a b"; $(touch x)`
	p := mustParse(t, `{"params":{"p":{"type":"string","default":"a b\"; $(touch x)"}},
		"defaults":{"model":"d-${params.p}","appendSystemPrompt":"s-${params.p}"},
		"tasks":[{"id":"t","subject":"S ${params.p}","activeForm":"A ${params.p}","description":"D ${params.p}",
		"prompt":"P ${params.p}","dir":"dir/${params.p}","files":["f/${params.p}",{"path":"g/${params.p}","action":"read"}],
		"verify":["test ${params.p}",{"run":"test x${params.p}"},{"file":"v/${params.p}","contains":"c ${params.p}"}],
		"criteria":["plain ${params.p}",{"text":"T ${params.p}","check":"look ${params.p}"},
		{"text":"F","check":{"file":"k/${params.p}"}}]},
		{"id":"m","subject":"M","model":"m-${params.p}","verify":"true"},{"id":"c","command":"echo ${params.p}"}]}`)
	one := &p.Tasks[0]
	const variable, env = `"${WAVEX_PARAM_p}"`, "WAVEX_PARAM_p=" + value
	got := []string{one.Subject, one.ActiveForm, one.Description, one.Prompt, one.SubDir(), one.Files[0].Path,
		one.Files[1].Path, one.Verify[0].Run, one.Verify[1].Run, one.Verify[2].File, one.Verify[2].Contains,
		one.Criteria[0].Text, one.Criteria[1].Text, one.Criteria[1].Check.Run, one.Criteria[2].Check.File,
		strings.Join(one.Verify[0].Environ(), ","), strings.Join(one.Criteria[1].Check.Environ(), ","),
		one.Env["WAVEX_PARAM_p"], p.Settings(0).Model, p.Settings(0).AppendSystemPrompt, p.Settings(1).Model,
		p.Tasks[2].Command, p.Tasks[2].Env["WAVEX_PARAM_p"]}
	want := []string{"S " + value, "A " + value, "D " + value, "P " + value, "dir/" + value, "f/" + value, "g/" + value,
		"test " + variable, "test x" + variable, "v/" + value, "c " + value, "plain " + value, "T " + value,
		"look " + variable, "k/" + value, env, env, value, "d-" + value, "s-" + value, "m-" + value, "echo " + variable,
		value}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %q, want %q", i, got[i], want[i])
		}
	}
}
