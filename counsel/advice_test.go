package counsel

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wavex/internal/jsonschema/jsonschematest"
	"wavex/runner"
)

func TestAdviceWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		ops           []Opinion
		analysis, fix string
	}{
		{"alone", []Opinion{op("debugger", Retry, "Use + in sum.go.", 0.8, concrete)},
			"d of debugger\nCause: c of debugger\nCheck this first; the diagnosis is wrong if: " + concrete,
			"Use + in sum.go."},
		{"dissent", []Opinion{op("debugger", Retry, "Use + in sum.go.", 0.8, concrete),
			op("tester", Split, "Rewrite everything differently.", 0.7, "")},
			"d of debugger\nCause: c of debugger\nCheck this first; the diagnosis is wrong if: " + concrete,
			"Use + in sum.go."},
		{"no cause, and a vague falsifier", []Opinion{{Expert: "debugger", Diagnosis: "It multiplies.", Approach: "Use +.",
			Falsifier: "it still fails", Action: Retry}},
			"It multiplies.\nCheck this first; the diagnosis is wrong if: it still fails", "Use +."},
		{"the cause is the diagnosis", []Opinion{{Expert: "debugger", Diagnosis: "It multiplies.", Cause: "It multiplies.",
			Approach: "Use +.", Action: Retry}}, "It multiplies.", "Use +."},
		{"genuine tradeoff", []Opinion{op("debugger", Retry, "Use + in sum.go.", 0.8, ""),
			op("tester", Split, "Rewrite everything differently.", 0.7, "")},
			"d of debugger\nCause: c of debugger\nThe experts are split, a genuine tradeoff: where the evidence speaks against this, follow the dissent.",
			"Use + in sum.go."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := Tally(tt.ops)
			same(t, "analysis", v.Analysis, tt.analysis)
			same(t, "fix", v.Fix, tt.fix)
			same(t, "advice", v.Advice(), "retry: "+strings.ReplaceAll(tt.fix, "\n", " "))
		})
	}
}

// An agent that reads that the checks are wrong would edit them unless told not to.
func TestAmendAdviceDoesNotAllowChangingTheTask(t *testing.T) {
	t.Parallel()
	for action, want := range map[Action]string{
		Amend: "not yours to change", Split: "in order", Abandon: "Do not force it",
	} {
		if fix := Tally([]Opinion{op("a", action, "Loosen the assertion.", 0.8, concrete)}).Fix; !strings.Contains(fix,
			want) || !strings.HasSuffix(fix, "Loosen the assertion.") {
			t.Errorf("%s: %q", action, fix)
		}
	}
}

func TestUnavailableWords(t *testing.T) {
	t.Parallel()
	v := Verdict{Unavailable: "no expert\nanswered"}
	same(t, "advice", v.Advice(), "")
	same(t, "experts", len(v.Experts()), 0)
}

func TestSchemaIsTheStruct(t *testing.T) {
	t.Parallel()
	var schema struct {
		Properties           map[string]json.RawMessage `json:"properties"`
		Required             []string                   `json:"required"`
		AdditionalProperties *bool                      `json:"additionalProperties"`
	}
	if err := json.Unmarshal([]byte(OpinionSchema), &schema); err != nil {
		t.Fatal(err)
	}
	tags := func(typ reflect.Type) []string {
		var out []string
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			out = append(out, name)
		}
		slices.Sort(out)
		return out
	}
	var props []string
	for p := range schema.Properties {
		props = append(props, p)
	}
	slices.Sort(props)
	slices.Sort(schema.Required)
	same(t, "required", schema.Required, props)
	same(t, "strict", schema.AdditionalProperties != nil && !*schema.AdditionalProperties, true)
	for _, p := range props {
		if !slices.Contains(tags(reflect.TypeFor[Opinion]()), p) {
			t.Errorf("Opinion has no %s", p)
		}
	}
	var actions struct {
		Enum []Action `json:"enum"`
	}
	if err := json.Unmarshal(schema.Properties["action"], &actions); err != nil {
		t.Fatal(err)
	}
	same(t, "actions", actions.Enum, []Action{Retry, Amend, Split, Abandon})
}

// The reader accepts every answer that the schema accepts, and refuses every answer that it
// refuses.
func TestSchemaAndReaderAgree(t *testing.T) {
	t.Parallel()
	schema := jsonschematest.New(t, []byte(OpinionSchema))
	good := `{"diagnosis":"d","cause":"c","approach":"a","confidence":1,"falsifier":"f","action":"retry"}`
	for _, tt := range []struct {
		name, text string
		ok         bool
	}{
		{"good", good, true},
		{"empty cause and falsifier", strings.NewReplacer(`"c"`, `""`, `"f"`, `""`).Replace(good), true},
		{"no confidence at all", strings.Replace(good, ":1", ":0", 1), true},
		{"confidence above", strings.Replace(good, ":1", ":1.01", 1), false},
		{"confidence in words", strings.Replace(good, ":1", `:"high"`, 1), false},
		{"no confidence", strings.Replace(good, `"confidence":1,`, "", 1), false},
		{"odd action", strings.Replace(good, "retry", "Retry", 1), false},
		{"no approach", strings.Replace(good, `"approach":"a",`, "", 1), false},
		{"a list", "[" + good + "]", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			same(t, "schema", schema.Validate([]byte(tt.text)) == nil, tt.ok)
			o := parseOpinion("a", runner.Answer{Outcome: runner.Done, Structured: []byte(tt.text)})
			same(t, "reader", o.Unavailable == "", tt.ok)
		})
	}
}

func FuzzOpinion(f *testing.F) {
	f.Add([]byte(`{"diagnosis":"d","cause":"c","approach":"a","confidence":0.5,"falsifier":"f","action":"retry"}`))
	f.Add([]byte(`{"confidence":1e999}`))
	f.Add([]byte("{\"approach\":\"\xff\\u0000\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := parseOpinion("a", runner.Answer{Outcome: runner.Done, Structured: data, Cost: 1})
		if o.Expert != "a" || o.Cost != 1 {
			t.Fatalf("%+v", o)
		}
		if o.Unavailable != "" {
			if o.Approach != "" || o.Action != "" || strings.ContainsAny(o.Unavailable, "\n\x1b") {
				t.Fatalf("%+v", o)
			}
			return
		}
		if o.Approach == "" || o.Diagnosis == "" || o.Action.rank() < 0 || !(o.Confidence >= 0 && o.Confidence <= 1) ||
			len(o.Approach)+len(o.Cause)+len(o.Diagnosis)+len(o.Falsifier) > 4*maxText {
			t.Fatalf("%+v", o)
		}
	})
}
