package rehearse

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"wavex/internal/jsonschema/jsonschematest"
	"wavex/internal/testrepo"
)

// goodBlocks use every key. badBlocks are refused, also by the schema if it can express the rule.
var goodBlocks = []string{
	`null`, `{}`,
	`{"duration":"1.5s","cost":0.02,"turns":3,"report":"r","model":"m","outcome":"ok","usage":{"input":1,"output":2,"cache_read":3,"cache_write":4},
	  "structured":{"a":[1]},"after":0,"reset_in":"1h30m","linger":"10ms","deletes":["a/b"],"runs":["true"],
	  "writes":[{"path":"a","content":""},{"path":"b","append":"x"},{"path":"c","from":"../d"},{"path":"e","replace":{"old":"x","new":""},"mode":"0755"}]}`,
	`{"attempts":[{"outcome":"fail"},{"outcome":"ok"},null]}`,
}

var badBlocks = []struct{ text, path, says string }{
	{`{"durat":"1s"}`, "/durat", `unknown key "durat"; known are duration, cost,`},
	{`{"duration":5}`, "/duration", "must be string"},
	{`{"duration":"soon"}`, "/duration", `"soon" is not a duration`},
	{`{"duration":"-1s"}`, "/duration", `"-1s" is not a duration`},
	{`{"cost":-0.1}`, "/cost", "is not an amount in dollars"},
	{`{"cost":"1"}`, "/cost", "is not an amount in dollars"},
	{`{"turns":0}`, "", "turns must be from 1 to 10000"},
	{`{"turns":1.5}`, "/turns", "not a whole number"},
	{`{"turns":10001}`, "", "turns must be from 1 to 10000"},
	{`{"runs":{}}`, "/runs", "an object does not fit here"},
	{`{"outcome":"stal"}`, "/outcome", `unknown outcome "stal"; known are ok, fail, `},
	{`{"usage":{"input":-1}}`, "/usage/input", "not a whole number"},
	{`{"usage":{"in":1}}`, "/usage/in", `known are input, output,`},
	{`{"deletes":["/etc/passwd"]}`, "/deletes/0", "must be relative and stay inside"},
	{`{"writes":[{"content":"x"}]}`, "/writes/0", "a write needs a path"},
	{`{"writes":[{"path":"a"}]}`, "/writes/0", "exactly one of content, append, from, replace and fill"},
	{`{"writes":[{"path":"a","content":"","append":""}]}`, "/writes/0", "exactly one of"},
	{`{"writes":[{"path":"a","replace":{"old":"","new":"x"}}]}`, "/writes/0", "old is empty"},
	{`{"writes":[{"path":"a","content":"","mode":"rwx"}]}`, "/writes/0/mode", "octal"},
	{`{"writes":[{"path":"a","contents":""}]}`, "/writes/0/contents", `known are path, content,`},
	{`[]`, "", "a list does not fit here"},
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	for _, text := range goodBlocks {
		if _, err := ParseBlock([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, c := range badBlocks {
		_, err := ParseBlock([]byte(c.text))
		var be *BlockError
		if !errors.As(err, &be) || be.Path != c.path || !strings.Contains(be.Msg, c.says) {
			t.Errorf("%s: %#v", c.text, err)
		}
	}
	if _, err := ParseBlock([]byte(`{"attempts":[{"attempts":[]}]}`)); err == nil {
		t.Error("attempts inside attempts were taken")
	}
	if _, err := ParseBlock([]byte(`{"deletes":["a/../../b"]}`)); err == nil {
		t.Error("a path that leaves the directory was taken")
	}
}

func TestForAttemptInheritsEverything(t *testing.T) {
	t.Parallel()
	outer, err := ParseBlock([]byte(goodBlocks[2]))
	testrepo.Must(t, err)
	plain := *outer
	outer.Attempts = []Block{{}, plain}
	other := Block{Attempts: []Block{plain}}
	for name, got := range map[string]*Block{"given outside": outer.ForAttempt(1), "given inside": other.ForAttempt(5),
		"alone": plain.ForAttempt(2)} {
		if !reflect.DeepEqual(*got, plain) {
			t.Errorf("%s: something was lost: %+v", name, got)
		}
	}
}

// The schema knows the keys, the outcomes, the good and the bad blocks.
func TestSchema(t *testing.T) {
	t.Parallel()
	block := jsonschematest.New(t, []byte(
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$ref":"#/$defs/block","$defs":`+defs(t)+"}"))
	for _, text := range goodBlocks {
		if err := block.Validate([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, c := range badBlocks {
		if block.Validate([]byte(c.text)) == nil {
			t.Errorf("the schema takes %s", c.text)
		}
	}
	var s struct {
		Defs struct {
			Block struct {
				AnyOf []struct{ Properties map[string]any }
			}
			Write struct{ Properties map[string]any }
			Out   struct{ Enum []Outcome } `json:"outcome"`
		} `json:"$defs"`
		Properties map[string]any
	}
	testrepo.Must(t, json.Unmarshal(Schema(), &s))
	same(t, "block", s.Defs.Block.AnyOf[1].Properties, Block{})
	same(t, "write", s.Defs.Write.Properties, Write{})
	same(t, "scenario", s.Properties, scenarioFile[*Block]{})
	if !reflect.DeepEqual(s.Defs.Out.Enum, Outcomes[:]) {
		t.Errorf("outcomes differ: %v", s.Defs.Out.Enum)
	}
}

func defs(t *testing.T) string {
	t.Helper()
	var s struct {
		Defs json.RawMessage `json:"$defs"`
	}
	testrepo.Must(t, json.Unmarshal(Schema(), &s))
	return string(s.Defs)
}

func same(t *testing.T, what string, props map[string]any, v any) {
	t.Helper()
	names := knownKeys(reflect.TypeOf(v))
	want(t, what+" keys", len(props), len(names))
	for _, n := range names {
		if props[n] == nil {
			t.Errorf("%s: the schema lacks %q", what, n)
		}
	}
}

func TestScenario(t *testing.T) {
	t.Parallel()
	s, err := ParseScenario([]byte(`{"default":{"cost":0.5,"outcome":"fail"},"tasks":{"T-2":{"outcome":"stall"}},
		"panel":{"cost":0.1},"questions":{"counsel":{"report":"c"},"counsel/debugger":{"report":"d"}}}`))
	testrepo.Must(t, err)
	plan := json.RawMessage(`{"duration":"1s","outcome":"ok","attempts":[{"outcome":"error-429","runs":["x"]},{"cost":1}]}`)
	for _, c := range []struct{ what, got, expected string }{
		{"other task", string(s.Block("T-1", plan)),
			`{"attempts":[{"runs":["x"]},{}],"cost":0.5,"duration":"1s","outcome":"fail"}`},
		{"named task", string(s.Block("T-2", nil)), `{"cost":0.5,"outcome":"stall"}`},
		{"no block", string(s.Block("T-1", json.RawMessage("null"))), `{"cost":0.5,"outcome":"fail"}`},
		{"panel", string(s.Panel("review", nil)), `{"cost":0.1}`},
		{"kind", string(s.Panel("counsel/x", nil)), `{"cost":0.1,"report":"c"}`},
		{"question", string(s.Panel("counsel/debugger", nil)), `{"cost":0.1,"report":"d"}`},
		{"nil", string((*Scenario)(nil).Block("T-1", plan)), string(plan)},
		{"no object", string(s.Block("T-1", json.RawMessage("[1]"))), "[1]"},
		{"tasks", strings.Join(s.Tasks(), ","), "T-2"},
	} {
		want(t, c.what, c.got, c.expected)
	}
}

func TestLoadScenarioErrorPosition(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.json")
	for text, says := range map[string]string{
		"{\n  \"tasks\": {\n    \"T-001\": {\"outcom\": \"ok\"}\n}}": `:3:15: /tasks/T-001/outcom: unknown key "outcom"; known are duration, `,
		"{\n  \"task\": {}}": `:2:3: /task: unknown key "task"; known are $schema, note, default, tasks,`,
		"{\"default\": {\n\"writes\": [\n{\"path\":\"a\"}]}}": `:3:1: /default/writes/0: the write of "a" needs exactly one of content, append, from, replace and fill`,
		"{\"default\": {\n":                  `:2:1: /default: not valid JSON: unexpected EOF`,
		"{\"tasks\":{\"A\":{},\n \"A\":{}}}": `:2:2: /tasks/A: not valid JSON: duplicate object member name`,
	} {
		testrepo.Must(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := LoadScenario(path)
		if err == nil || !strings.HasPrefix(err.Error(), path+says) {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
	if _, err := LoadScenario(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// The shipped scenarios are valid, and together they show every outcome but ok.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/scenarios/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	shown := ""
	for _, f := range files {
		if _, err := LoadScenario(f); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(f)
		testrepo.Must(t, err)
		if err := jsonschematest.New(t, Schema()).Validate(text); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		shown += string(text)
	}
	doc, err := os.ReadFile("../../docs/rehearsal.md")
	testrepo.Must(t, err)
	_, outcomes, _ := strings.Cut(string(doc), "\n## Outcomes\n")
	for _, o := range Outcomes {
		if !strings.Contains(shown, `"`+string(o)+`"`) {
			t.Errorf("no example shows %q", o)
		}
		if !strings.Contains(outcomes, "`"+string(o)+"`") {
			t.Errorf("docs/rehearsal.md does not describe the outcome %q", o)
		}
	}
	for _, k := range append(knownKeys(reflect.TypeOf(Block{})), knownKeys(reflect.TypeOf(scenarioFile[*Block]{}))...) {
		if !strings.Contains(string(doc), "`"+k+"`") {
			t.Errorf("docs/rehearsal.md does not describe the key %q", k)
		}
	}
}

// The code accepts the examples in the documentation.
func TestDocumentedJSON(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/rehearsal.md")
	testrepo.Must(t, err)
	n := 0
	for i, piece := range strings.Split(string(doc), "```") {
		kind, text, _ := strings.Cut(piece, "\n")
		if i%2 == 0 {
			continue
		}
		switch kind {
		case "json block":
			if _, err := ParseBlock([]byte(text)); err != nil {
				t.Errorf("%s: %v", text, err)
			}
			n++
		case "json scenario":
			if _, err := ParseScenario([]byte(text)); err != nil {
				t.Errorf("%s: %v", text, err)
			}
			n++
		}
	}
	if n < 2 {
		t.Errorf("only %d examples", n)
	}
}

func FuzzParseBlock(f *testing.F) {
	for _, text := range goodBlocks {
		f.Add([]byte(text))
	}
	for _, c := range badBlocks {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := ParseBlock(text)
		if err != nil {
			var be *BlockError
			if !errors.As(err, &be) || be.Msg == "" || be.Line < 1 || be.Column < 1 {
				t.Fatalf("no place in %#v", err)
			}
			return
		}
		for n := -1; n < 4; n++ {
			if b.ForAttempt(n).Attempts != nil {
				t.Fatal("attempts are left")
			}
		}
	})
}

func FuzzParseMessage(f *testing.F) {
	f.Add([]byte(prompt))
	f.Add([]byte(interrupt))
	f.Add([]byte("nonsense"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m := parseMessage(text); m.err == nil && !json.Valid(text) {
			t.Fatalf("understood %q", text)
		}
	})
}
