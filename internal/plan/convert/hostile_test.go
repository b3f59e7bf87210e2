package convert

// This file feeds arbitrary input to the importers: they report mistakes, never panic, and take
// linear time.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

func FuzzImportPhase(f *testing.F) {
	f.Add("<task id=\"1\" wave=\"1\">\n<files><file action=\"x\">a</file>\nb</files><action><a></action>\n<verify><check type=\"grep\" cmd='a'>b</check>- c\n</verify><x/></task>")
	f.Add("---\nphase: 1\n---\n## Wave 1 (Sequential - x)\n<task>\n  <action>\n</task>\n<!-- -->\n```\n<task>\n```\n## Key Links\n|a|\n")
	fuzzImport(f, "p.md", FormPhase)
}

func FuzzImportPhaseDoc(f *testing.F) {
	f.Add(`{"phase":1,"waves":[{"wave":2,"tasks":["1",{"id":2,"title":"x","files":{"create":["a"]},"verify":{"type":"file","check":"x exists"}}]}],"tasks":[{"id":1,"title":"y","parallel":true}]}`)
	f.Add("phase: &a 1\nmust_haves: {truths: [*a], x: 1}\ntasks: [{id: 01, title: x, depends_on: '1, 2'}]\n")
	fuzzImport(f, "p", FormPhaseDoc)
}

func FuzzImportLists(f *testing.F) {
	f.Add(`{"stories":[{"id":1,"title":"x","passes":false,"priority":"high","dependsOn":["2"]},{"id":2,"passes":true}]}`)
	f.Add(`{"steps":["a",{"title":"b","x":1},"a\nb"],"completedSteps":["a"],"criteria":["x"]}`)
	fuzzImport(f, "p", FormStories, FormSteps)
}

func FuzzImportTaskMaster(f *testing.F) {
	f.Add(`{"x":{"tasks":[{"id":1,"title":"x","status":"Done"},{"id":"2","status":"a","dependencies":["1.1","01",2],` +
		`"testStrategy":"Run ` + "`go test`" + `","subtasks":["a",{"id":1,"subtasks":[{}],"details":null}]}],"metadata":{}}}`)
	f.Add(`{"tasks":[{"id":1,"status":"","subtasks":{}},3],"metadata":{"projectName":"x","y":1}}`)
	fuzzImport(f, "p", FormTaskMaster)
}

func FuzzImportBeads(f *testing.F) {
	f.Add(`{"id":"a","title":"x","status":"open","dependencies":["b",{"depends_on_id":"b"},` +
		`{"type":"?"}]}` + "\r\n\n" + `{"id":"b","status":"closed"} {"id":"a"} 1`)
	f.Add(`{"id":"a","title":"x","status":"open","acceptance_criteria":"y","design":null},` + "\n{")
	fuzzImport(f, "p.jsonl", FormBeads)
}

func FuzzImportBoxes(f *testing.F) {
	f.Add("# Tasks\n## Phase 1\n- [ ] T001 [P] [US1] a in a/b.go (depends on T002-T004)\n" +
		"  - [~] T002 b\n\n      x\n## Dependencies\nx\n")
	f.Add("## 1. A\n- [x] 1.1 a <!-- x -->\n  - [ ] 1.1 b (depends on 1.2)\n    ```\n" +
		"- [-] 1.2 c\n\nAcceptance:\n- a exists\n")
	f.Add("- [ ] 1. A\n  - Files: a/b.c, d\n  - [ ]* 1.1 B\n    - _Requirements: 1.1_\n" +
		"    - _Depends: 2_\n- [-] 2 C\n- [ ] 3 manual verification\n")
	f.Add("text\n1. [ ] a\n\t- [X] b\n    > - [ ] c\n\n---\n    - [ ] d\n")
	for _, name := range []string{"speckit-3", "speckit-5", "openspec-3", "kiro-3", "checklist-3", "checklist-5"} {
		text, err := os.ReadFile(filepath.Join("testdata", "forms", name+".md"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) { sound(t, "p.md", text) })
}

func fuzzImport(f *testing.F, name string, forms ...Form) {
	for _, s := range samples() {
		for _, form := range forms {
			if s.form == form {
				f.Add(string(s.read(f)))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) { sound(t, name, text) })
}

// sound checks the properties that hold for every text.
func sound(t *testing.T, name, text string) {
	t.Helper()
	out, form, ds := Import(name, []byte(text), plan.Options{})
	if (out == nil) != plan.HasErrors(ds) {
		t.Fatalf("out is nil: %v, but %v", out == nil, ds)
	}
	for _, d := range ds {
		if d.Severity == "" || d.Code == "" || d.Message == "" || d.File != name || d.Line < 0 ||
			(d.Line > 0) != (d.Column > 0) {
			t.Fatalf("incomplete: %#v", d)
		}
	}
	p, direct := parse(name, []byte(text), plan.Options{})
	if (p == nil) != (out == nil) || len(direct) != len(ds) {
		t.Fatalf("read directly: %v\nimported: %v", direct, ds)
	}
	if p == nil {
		return
	}
	q, ds := parse("out.json", out, plan.Options{})
	if q == nil {
		t.Fatalf("what was written does not load: %v\n%s", ds, out)
	}
	if a, b := fmt.Sprint(figures(p)), fmt.Sprint(figures(q)); a != b || p.Graph.Edges() != q.Graph.Edges() {
		t.Fatalf("read directly: %s\nwritten: %s", a, b)
	}
	if form == FormJSON || form == FormYAML {
		return
	}
	for i := range p.Tasks {
		if p.Key(i) != q.Key(i) {
			t.Fatalf("key of %s changed", p.Tasks[i].ID)
		}
	}
}

func TestHostileImports(t *testing.T) {
	t.Parallel()
	const mega = 10 << 20
	task := "<task id=\"1\">\n<action>x</action>\n</task>\n"
	long := strings.Repeat("x", mega)
	deep := strings.Repeat("[", 100_000)
	for name, c := range map[string]struct{ file, text, code string }{
		"line":           {"p.md", task + long, ""},
		"line of blanks": {"p.md", task + strings.Repeat(" ", mega), ""},
		"action":         {"p.md", "<task id=\"1\">\n<action>" + long + "</action>\n</task>\n", ""},
		"attribute":      {"p.md", "<task id=\"1\" x=\"" + long + "\">\n<action>x</action>\n</task>\n", ""},
		"id":             {"p.md", "<task id=\"" + long + "\">\n<action>x</action>\n</task>\n", plan.CodeBadID},
		"blockers": {"p.md", "<task id=\"1\" depends=\"" + strings.Repeat("2,", mega/8) +
			"\">\n<action>x</action>\n</task>\n", plan.CodeUnknownTask},
		"open tags":     {"p.md", "<task id=\"1\">\n" + strings.Repeat("<a ", mega/3) + "\n</task>\n", ""},
		"open sections": {"p.md", "<task id=\"1\">\n" + strings.Repeat("<a>", mega/3) + "\n</task>\n", plan.CodeSyntax},
		"ends of actions": {"p.md", "<task id=\"1\">\n<action>" + strings.Repeat("</action>x", mega/10) +
			"\n</task>\n", ""},
		"open tasks": {"p.md", strings.Repeat("<task id=\"1\">\n", 200_000), plan.CodeSyntax},
		"checks": {"p.md", "<task id=\"1\">\n<action>x</action>\n<verify>" +
			strings.Repeat("<check>a.md contains \"x\"</check>\n", 20_000) + "</verify>\n</task>\n", ""},
		"open checks": {"p.md", "<task id=\"1\">\n<action>x</action>\n<verify>" + strings.Repeat("<check>", mega/7) +
			"</verify>\n</task>\n", ""},
		"one long check": {"p.md", "<task id=\"1\">\n<action>x</action>\n<verify><check>" + strings.Repeat("a contains `",
			mega/12) + "</check></verify>\n</task>\n", ""},
		"sections": {"p.md", "<task id=\"1\">\n<action>x</action>\n" + strings.Repeat("<x>a</x>\n", 60_000) + "</task>\n", ""},
		"files of one name": {"p.md", "<task id=\"1\">\n<action>x</action>\n<files>\n" + filesOfOneName(20_000) +
			"</files>\n<verify>\n" + strings.Repeat("<check>x exists</check>\n", 20_000) + "</verify>\n</task>\n", ""},
		"key links":      {"p.md", "## Key Links\n" + strings.Repeat("- a.md -> b.md\n", 20_000) + task, ""},
		"headings":       {"p.md", strings.Repeat("## Wave 99999\n", 100_000) + task, ""},
		"waves":          {"p.md", strings.Repeat("#", mega) + "\n" + task, ""},
		"comments":       {"p.md", strings.Repeat("<!--\n", mega/5), plan.CodeSyntax},
		"fences":         {"p.md", strings.Repeat("```\n", mega/4) + task, ""},
		"too large":      {"p.md", task + strings.Repeat(long, 2), plan.CodeTooLarge},
		"deep":           {"p.json", `{"phase":1,"tasks":` + deep, plan.CodeTooDeep},
		"deep before":    {"p.json", `{"x":` + deep + `,"phase":1}`, plan.CodeTooDeep},
		"deep in a task": {"p.json", `{"phase":1,"tasks":[{"id":1,"title":"x","y":` + deep + `}]}`, plan.CodeTooDeep},
		"values": {"p.json", `{"phase":1,"x":[` + strings.Repeat("1,", source.MaxNodes) + `1],"tasks":[]}`,
			plan.CodeTooLarge},
		"long values":  {"p.json", `{"phase":1,"tasks":[{"id":1,"title":"` + long + `"}]}`, ""},
		"fields":       {"p.json", `{"phase":1,"tasks":[{"id":1,"title":"x"` + many(200_000) + `}]}`, ""},
		"chain":        {"p.json", `{"phase":1,"tasks":[` + chain(20_000) + `]}`, ""},
		"boxes":        {"p.md", strings.Repeat("- [ ] x\n", 100_000), ""},
		"boxes beside": {"p.md", strings.Repeat("- [ ] [P] x\n", 9000) + "- [ ] y\n", ""},
		"boxes after boxes": {"p.md", strings.Repeat("## Phase\n"+strings.Repeat("- [ ] [P] x\n", 5000), 2),
			plan.CodeTooLarge},
		"boxes in boxes": {"p.md", boxesInBoxes(1500), ""},
		"line of a box":  {"p.md", "- [ ] " + long, ""},
		"text of a box":  {"p.md", "- [ ] x\n" + strings.Repeat("  x\n", mega/4), ""},
		"needs of a box": {"p.md", "- [ ] T001 x (depends on " + strings.Repeat("T001-T999,", mega/100) + "T002)\n",
			plan.CodeSelfEdge},
		"box in a circle": {"p.md", "- [ ] T001 x (depends on T002)\n- [ ] T002 y (depends on T001)\n", plan.CodeCycle},
		"high wave": {"p.json", `{"phase":1,"tasks":[{"id":1,"title":"x","wave":999999999999999999999}]}`,
			plan.CodeBadNumber},
		"subtasks": {"p.json", `{"tasks":[{"id":1,"title":"x","status":"a","subtasks":[` +
			strings.Repeat(`{"id":1,"title":"x"},`, 100_000) + `1]}]}`, ""},
		"deep subtasks": {"p.json", `{"tasks":[{"id":1,"status":"a","subtasks":` + strings.Repeat(`[{"subtasks":`, mega/16),
			plan.CodeTooDeep},
		"strategy": {"p.json", `{"tasks":[{"id":1,"title":"x","status":"a","testStrategy":"` +
			strings.Repeat("run `go x` ", 20_000) + `"}]}`, ""},
		"tags":   {"p.json", "{" + strings.TrimSuffix(tags(20_000), ",") + "}", plan.CodeConflict},
		"issues": {"p.jsonl", strings.Repeat(`{"id":"a","title":"x","status":"open"}`+"\n", 20_000), plan.CodeDuplicateID},
		"links": {"p.jsonl", `{"id":"a","title":"x","status":"open","issue_type":"x","dependencies":[` +
			strings.Repeat(`{"depends_on_id":"b","type":"blocks"},`, 100_000) + `"a b"]}`, ""},
		"nul":    {"p.json", "{\"phase\":1,\"tasks\":[{\"id\":1,\"title\":\"x\\u0000\"}]}", plan.CodeEncoding},
		"utf-16": {"p.md", "\xff\xfe#\x00", plan.CodeEncoding},
		"yaml":   {"p.yaml", "phase: 1\ntasks: " + deep, plan.CodeTooDeep},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, ds := parse(c.file, []byte(c.text), plan.Options{})
			if (p == nil) != (c.code != "") || c.code != "" && !hasCode(ds, c.code) {
				t.Errorf("want %q, got %.500s", c.code, fmt.Sprint(ds))
			}
			for _, d := range ds {
				if len(d.Message) > 1000 {
					t.Fatalf("a message of %d bytes: %.300s", len(d.Message), d.Message)
				}
			}
		})
	}
}

func boxesInBoxes(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("  ", i) + "- [ ] x\n")
	}
	return b.String()
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"f%d":1`, i)
	}
	return b.String()
}

func tags(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"%s%d":{"tasks":[{"id":1,"title":"x","status":"a"}],"metadata":1},`, strings.Repeat("x", 100), i)
	}
	return b.String()
}

func filesOfOneName(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<file>%d/x</file>\n", i)
	}
	return b.String()
}

// chain returns n tasks, each waiting for the next one in the file.
func chain(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id":%d,"title":"x","depends_on":[%d]}`, n-i, n-i-1))
	}
	list[n-1] = `{"id":1,"title":"x"}`
	return strings.Join(list, ",")
}
