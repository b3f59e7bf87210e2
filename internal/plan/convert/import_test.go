package convert

// This file checks the imports of plans of other tools with reduced samples of each form: counts,
// waves as run, checks, words, and that nothing is dropped silently.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wavex/internal/plan"
	"wavex/internal/testrepo"
)

type sample struct {
	file     string
	form     Form
	name     string
	waves    string // ids by wave; a sequential one in brackets
	edges    int
	checks   int
	words    int // checks that became criteria
	criteria int
	codes    map[string]int // of the warnings
}

func samples() []sample {
	return []sample{
		{"loop.plan.md", FormPhase, "Phase 3: Retry Loop", "01 02 03 | [04 05] | [06 07]", 10, 22, 1, 2,
			map[string]int{plan.CodeManualCheck: 1}},
		{"grep.plan.md", FormPhase, "Phase 1: Tools", "01 02 | 03 04", 4, 4, 3, 1, map[string]int{plan.CodeManualCheck: 3,
			plan.CodeFileOverlap: 1, plan.CodeNoCheck: 1}},
		{"flat.json", FormPhaseDoc, "Phase 1: Logging", "01 02 | 03 04", 2, 4, 3, 0, map[string]int{plan.CodeNotCarried: 1,
			plan.CodeManualCheck: 3}},
		{"sequential.json", FormPhaseDoc, "Phase 2: Levels", "[01 02 03]", 0, 0, 3, 1, map[string]int{plan.CodeNotCarried: 2,
			plan.CodeManualCheck: 3, plan.CodeNoCheck: 3}},
		{"fourwaves.json", FormPhaseDoc, "Phase 4: Balance", "01 02 | 03 04 | 05 06 | 07 08", 12, 0, 2, 0,
			map[string]int{plan.CodeManualCheck: 2, plan.CodeNoCheck: 8, plan.CodeFileOverlap: 3}},
		{"hybrid.json", FormPhaseDoc, "Phase 1: Embed", "T01 T02", 0, 0, 2, 0, map[string]int{plan.CodeManualCheck: 2,
			plan.CodeNoCheck: 2}},
		{"prd.json", FormStories, "Shop", "US-002 | US-003", 1, 2, 1, 0, map[string]int{plan.CodeNotCarried: 2,
			plan.CodeManualCheck: 1, plan.CodeGuessed: 1}},
		{"state.json", FormSteps, "", "T-001 | T-002", 1, 0, 0, 2, map[string]int{plan.CodeNotCarried: 4,
			plan.CodeNoCheck: 2}},
	}
}

func (s sample) read(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/imports", s.file))
	testrepo.Must(t, err)
	return data
}

// figures returns the compared counts of a sample.
func figures(p *plan.Plan) (waves string, checks, words int) {
	wave, total := p.Waves()
	var parts []string
	for w := 1; w <= total; w++ {
		var ids []string
		for i := range p.Tasks {
			if wave[i] == w {
				ids = append(ids, p.Tasks[i].ID)
			}
		}
		part := strings.Join(ids, " ")
		if p.Sequential(w) {
			part = "[" + part + "]"
		}
		parts = append(parts, part)
	}
	for i := range p.Tasks {
		checks += len(p.Tasks[i].Verify)
		words += len(p.Tasks[i].Criteria)
	}
	return strings.Join(parts, " | "), checks, words
}

func TestSamples(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		t.Run(s.file, func(t *testing.T) {
			t.Parallel()
			data := s.read(t)
			p, ds := parse(s.file, data, plan.Options{})
			if p == nil {
				t.Fatal(ds)
			}
			waves, checks, words := figures(p)
			if waves != s.waves || checks != s.checks || words != s.words || p.Graph.Edges() != s.edges ||
				len(p.Criteria) != s.criteria || p.Name != s.name {
				t.Errorf("got %q: waves %s, %d edges, %d checks, %d words, %d criteria", p.Name, waves, p.Graph.Edges(), checks,
					words, len(p.Criteria))
			}
			codes := map[string]int{}
			for _, d := range ds {
				codes[d.Code]++
				if d.Severity != plan.SeverityWarning || d.Line == 0 || d.File != s.file {
					t.Errorf("odd: %v", d)
				}
			}
			if !reflect.DeepEqual(codes, s.codes) {
				t.Errorf("warnings: %v\n%v", codes, ds)
			}
			for i := range p.Tasks {
				for _, c := range p.Tasks[i].Criteria {
					if c.Check != nil || c.Verification != "observation" {
						t.Errorf("words of %s would pass by themselves: %+v", p.Tasks[i].ID, c)
					}
				}
			}
			// The written plan is a wavex plan and is the same plan.
			out, form, _ := Import(s.file, data, plan.Options{})
			if form != s.form {
				t.Errorf("taken for %s", form)
			}
			again, ds := parse("out.json", out, plan.Options{})
			if again == nil {
				t.Fatal(ds)
			}
			same(t, again, p)
			if _, form, _ := Import("out.json", out, plan.Options{}); form != FormJSON {
				t.Errorf("what was written is taken for %s", form)
			}
			for i := range p.Tasks {
				if p.Key(i) != again.Key(i) {
					t.Errorf("key of %s changed", p.Tasks[i].ID)
				}
			}
		})
	}
}

// Line ends and byte order marks of Windows change only the digest.
func TestSamplesFromWindows(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		data := s.read(t)
		p, _ := parse(s.file, data, plan.Options{})
		crlf := append([]byte("\ufeff"), bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))...)
		q, ds := parse(s.file, crlf, plan.Options{})
		if q == nil {
			t.Fatal(s.file, ds)
		}
		same(t, q, p)
		for i := range p.Tasks {
			if p.Tasks[i].Pos.Line != q.Tasks[i].Pos.Line {
				t.Errorf("%s: place of %s: %v and %v", s.file, p.Tasks[i].ID, p.Tasks[i].Pos, q.Tasks[i].Pos)
			}
		}
	}
}

func TestPhaseFields(t *testing.T) {
	t.Parallel()
	p, _ := parse("loop.plan.md", samples()[0].read(t), plan.Options{})
	one, two, four := p.Tasks[0], p.Tasks[1], p.Tasks[3]
	if one.Subject != "Create the hooks file" || one.Pos != (plan.Pos{Line: 18, Column: 1}) ||
		!reflect.DeepEqual(one.Files, []plan.File{{Path: "hooks/hooks.json", Action: "create"}}) {
		t.Errorf("got %+v", one)
	}
	if want := "Create the hooks file. It names the script.\n\n```json\n{\"hooks\""; !strings.HasPrefix(one.Description,
		want) || !strings.HasSuffix(one.Description, "```\n\nDone when: The hooks file points to the script"+
		"\n\nCheck: File contains \"Stop\" hook type\n\nCheck: File contains \"stop.sh\" reference") {
		t.Errorf("got %q", one.Description)
	}
	if !strings.Contains(two.Description, "if iteration < max_iterations") && !strings.Contains(two.Description,
		"If iteration < max_iterations") || !strings.Contains(two.Description, "# <done> & </action> mean nothing here") {
		t.Errorf("got %q", two.Description)
	}
	if !strings.Contains(four.Description, "<previous_attempt>\n  <error>{captured}</error>") ||
		!strings.Contains(four.Description, "## Not a heading of the plan") || !strings.HasSuffix(four.Description,
		"Skills: look-twice") {
		t.Errorf("got %q", four.Description)
	}
	if want := []plan.Check{{File: "hooks/stop.sh"}, {File: "hooks/stop.sh", Contains: "#!/usr/bin/env bash"},
		{File: "hooks/stop.sh", Contains: "decision"}}; !reflect.DeepEqual(two.Verify, want) {
		t.Errorf("got %+v", two.Verify)
	}
	if four.Verify[0] != (plan.Check{File: "commands/execute.md", Contains: "Step 7a"}) ||
		p.Tasks[2].Verify[0].File != ".tool/config.md" {
		t.Errorf("basenames: %+v %+v", four.Verify, p.Tasks[2].Verify)
	}
	if want := []plan.Wave{{Number: 1, Title: "Ground", Sequential: false}, {Number: 2, Title: "Commands",
		Sequential: true}, {Number: 3, Title: "Integration", Sequential: true}}; !reflect.DeepEqual(p.Declared, want) {
		t.Errorf("got %+v", p.Declared)
	}
	if !strings.Contains(p.Request, "| hooks/hooks.json | hooks/stop.sh | path |") {
		t.Errorf("got %q", p.Request)
	}
	for _, part := range []string{"Estimated tokens: 20000\n", "\n\nContext Budget:\n- Wave 1: ~10%"} {
		if !strings.Contains(p.Request, part) {
			t.Errorf("%q lacks %q", p.Request, part)
		}
	}
	if want := []plan.Link{{From: "hooks/hooks.json", To: "hooks/stop.sh", Why: "path"}}; !slices.Equal(p.Links, want) {
		t.Errorf("links %+v, want %+v", p.Links, want)
	}
	chain, _ := parse(
		"links.json", []byte(`{"phase": 1, "tasks": [{"id": "1", "title": "a"}], "key_links": ["a.js -> ./b.js -> c/d.json (reads it)", {"from": "x.md", "to": "y.md"}, "One -> Two"]}`), plan.Options{})
	if want := []plan.Link{{From: "a.js", To: "b.js", Why: "reads it"}, {From: "b.js", To: "c/d.json", Why: "reads it"},
		{From: "x.md", To: "y.md"}}; !slices.Equal(chain.Links, want) {
		t.Errorf("links %+v, want %+v", chain.Links, want)
	}
	g, _ := parse("grep.plan.md", samples()[1].read(t), plan.Options{})
	if g.Tasks[0].Verify[1].Run != "test -s agents/a.md && true" || string(g.Tasks[1].Metadata["reqs"]) != `"R1,R2"` ||
		g.Tasks[0].Metadata != nil {
		t.Errorf("got %+v", g.Tasks[:2])
	}
	s, _ := parse("state.json", samples()[7].read(t), plan.Options{})
	if s.Criteria[0].Check == nil || s.Criteria[0].Check.Run != "go test ./..." || s.Criteria[1].Check != nil {
		t.Errorf("got %+v", s.Criteria)
	}
}

// The estimated tokens become a number in all their spellings, and other words stay.
func TestEstimatedTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"45k": "45000", "20K": "20000", "15000": "15000", "~1.5k": "1500",
		"2M": "2000000", "about 45k": "about 45k", "1.2.3k": "1.2.3k"} {
		for _, file := range []string{
			"---\nestimated_tokens: " + text + "\n---\n<task id=\"1\">\n<action>x</action>\n</task>\n",
			`{"phase":1,"estimated_tokens":"` + text + `","tasks":[{"id":1,"title":"x"}]}`,
		} {
			p, ds := parse("p", []byte(file), plan.Options{})
			if p == nil || p.Request != "Estimated tokens: "+want || hasCode(ds, plan.CodeNotCarried) {
				t.Errorf("%s: %+v, %v", text, p, ds)
			}
		}
	}
}

func TestImportDiagnostics(t *testing.T) {
	t.Parallel()
	block := func(attrs, body string) string {
		return "<task " + attrs + ">\n<action>x</action>\n" + body + "\n</task>\n"
	}
	for _, c := range []struct {
		name, file, text string
		want             string // line:column code: part; the first diagnostic of the kind
	}{
		{"counts", "p.md", "---\ntask_count: 3\n---\n" + block(`id="1"`, ""), "2:1 wrong-count: 3 tasks, and 1 were found"},
		{"counts of waves", "p.json", `{"phase":1,"wave_count":2,"tasks":[{"id":1,"wave":1,"title":"x"}]}`,
			"1:25 wrong-count: 2 waves, and 1"},
		{"wave order", "p.md", block(`id="1" wave="2"`, "") + block(`id="2" wave="2" depends="1"`, ""),
			"5:1 wave-order: its blocker"},
		{"unknown", "p.md", block(`id="1" depends="7, 9"`, ""), `1:23 unknown-task: "7"`},
		{"cycle", "p.md", block(`id="1" depends="2"`, "") + block(`id="2" depends="1"`, ""), "1:1 cycle: 1 -> 2 -> 1"},
		{"no id", "p.json", `{"phase":1,"tasks":[{"title":"x"}]}`, "1:21 missing-field: needs an id"},
		{"twice", "p.md", block(`id="1"`, "") + block(`id="01"`, ""), "5:11 duplicate-id"},
		{"not closed", "p.md", "<task id=\"1\">\n<action>x</action>\n", "1:1 syntax: is not closed"},
		{"not closed before the next", "p.md", "<task id=\"1\">\n" + block(`id="2"`, ""), "1:1 syntax: before the next one"},
		{"section not closed", "p.md", block(`id="1"`, "<verify>\n"), "3:1 syntax: <verify> is not closed"},
		{"front matter", "p.md", "---\nphase: 1\n" + block(`id="1"`, ""), "1:1 syntax: front matter"},
		{"bad wave", "p.md", block(`id="1" wave="two"`, ""), "1:20 bad-number"},
		{"bad path", "p.md", block(`id="1"`, "<files><file>../x</file></files>"), "3:8 bad-path"},
		{"no markdown plan", "p.md", "# Hello\n", "1:1 syntax: no plan that is known"},
		{"only in a fence", "p.md", "```\n" + block(`id="1"`, "") + "```\n", "1:1 syntax: no plan that is known"},
		{"only in a comment", "p.md", "<!--\n" + block(`id="1"`, "") + "-->\n", "1:1 syntax: no plan that is known"},
		{"hybrid without task", "p.json", `{"phase":1,"waves":[{"tasks":["x"]}],"tasks":[{"id":"y","title":"t"}]}`,
			`1:31 unknown-task: wave 1 names task "x"`},
		{"two waves", "p.json", `{"phase":1,"waves":[{"tasks":["y"]},{"tasks":["y"]}],"tasks":[{"id":"y","title":"t"}]}`,
			"1:47 conflict: in wave 1 and in wave 2"},
		{"types", "p.json", `{"phase":1,"tasks":[7,{"id":[],"title":{}}]}`, "1:21 wrong-type: expected a task"},
		{"broken", "p.json", `{"phase":1,"tasks":[{"id":1,"title":"x"}`, "1:41 syntax: ends in the middle"},
		{"behind", "p.json", `{"phase":1,"tasks":[{"id":1,"title":"x"}]} x`, `1:44 syntax`},
		{"all pass", "p.json", `{"stories":[{"id":1,"title":"x","passes":true}]}`, "1:1 empty-plan: all stories pass"},
		{"no steps left", "p.json", `{"steps":["a"],"completedSteps":["a"]}`, "1:1 empty-plan: no step is left"},
		{"list twice", "p.json", `{"phase":1,"tasks":[{"id":"1","title":"x"}],"tasks":[{"id":"2","title":"y"}]}`,
			`1:45 duplicate-field: "tasks" is given twice`},
		{"steps twice", "p.json", `{"steps":["a","b"],"steps":["c"],"spec":"x"}`, `1:20 duplicate-field: "steps"`},
		{"wave twice", "p.yaml", "phase: 1\ntasks:\n- {id: 1, title: x, wave: 1, wave: 2}\n", `3:30 duplicate-field: "wave"`},
		{"fence around tasks", "p.md", block(`id="1"`, "") + "~~~\nwords\n" + block(`id="2"`, ""),
			"5:1 syntax: from line 7 on"},
		{"comment around tasks", "p.md", block(`id="1"`, "") + " <!-- words\n" + block(`id="2"`, ""),
			"5:1 syntax: from line 6 on"},
		{"tags", "p.json", `{"b":{"tasks":[{"id":1,"status":"x","details":"x"}]},"c":{"tasks":[{"id":1}]}}`,
			`1:6 conflict: under the tags "b", "c"; keep the tag`},
		{"all done", "p.json", `{"tasks":[{"id":1,"title":"x","status":"done","details":"x"}]}`,
			"1:1 empty-plan: no task is open"},
		{"broken line", "p.jsonl", `{"id":"a","title":"x","status":"open"}` + "\n" + `{"id":}`, "2:7 syntax"},
		{"alone", "p.json", `{"phase":1,"tasks":[{"id":1,"title":"x","parallel":false},{"id":2,"title":"y"}]}`,
			"1:52 not-carried: is not to run beside others"},
		{"alone, in markdown", "p.md", block(`id="1" parallel="false"`, "") + block(`id="2"`, ""),
			"1:24 not-carried: \"1\" is not to run beside"},
		{"nul", "p.md", block(`id="1"`, "\x00"), "3:1 encoding: NUL"},
		{"latin", "p.md", block(`id="1"`, "é\xff"), "3:3 encoding: UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, ds := parse(c.file, []byte(c.text), plan.Options{})
			if p != nil {
				t.Fatal("accepted")
			}
			head, part, _ := strings.Cut(c.want, ": ")
			if !slices.ContainsFunc(ds, func(d plan.Diagnostic) bool {
				return fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Code) == head && strings.Contains(d.Message, part)
			}) {
				t.Errorf("want %s, got %v", c.want, ds)
			}
		})
	}
}

// Fences and comments of an action end with its task.
func TestOpenFencesInActions(t *testing.T) {
	t.Parallel()
	for _, open := range []string{"```bash\n  go test\n     ```", "~~~", "<!-- words", "x\n\t<task>\n\t</task>",
		"## Heading\n```"} {
		for _, in := range []string{"", "  "} {
			text := in + "<task id=\"1\">\n<action>\n" + open + "\n</action>\n" + in + "</task>\n" +
				"<task id=\"2\"><title>x</title></task>\n" +
				"```\n<task id=\"3\">\n```\n<task id=\"4\">\n<title>y</title>\n</task>\n"
			p, ds := parse("p.md", []byte(text), plan.Options{})
			if p == nil || len(p.Tasks) != 3 || !strings.Contains(p.Tasks[0].Description, open) {
				t.Errorf("%s: %+v, %v", text, p, ds)
			}
		}
	}
}

// A task that must not run beside others makes its wave sequential, if it has others and may not be so already.
func TestAlone(t *testing.T) {
	t.Parallel()
	for text, warned := range map[string]bool{
		`{"phase":1,"tasks":[{"id":1,"title":"x","wave":1,"parallel":false},{"id":2,"title":"y","wave":1}]}`: true,
		`{"phase":1,"tasks":[{"id":1,"title":"x","wave":1,"parallel":false},{"id":2,"title":"y","wave":2}]}`: false,
		`{"phase":1,"waves":[{"wave":1,"parallel":false}],` +
			`"tasks":[{"id":1,"title":"x","wave":1,"parallel":false},{"id":2,"title":"y","wave":1}]}`: false,
		`{"phase":1,"tasks":[{"id":1,"title":"x","parallel":false}]}`: false,
	} {
		p, ds := parse("p.json", []byte(text), plan.Options{})
		if p == nil {
			t.Fatalf("%s: %v", text, ds)
		}
		want := warned || strings.Contains(text, "waves")
		if got := strings.Contains(fmt.Sprint(ds), "one after the other"); got != warned || p.Sequential(1) != want {
			t.Errorf("%s: sequential %v, %v", text, p.Sequential(1), ds)
		}
	}
}

// Each completed step takes one step off the list, and all of remainingSteps stays.
func TestStepsLeft(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"steps":["T","B","T"],"completedSteps":["T"],"remainingSteps":["B","T"]`:                          "B T",
		`"steps":["T","B","T"],"completedSteps":["T"]`:                                                     "B T",
		`"steps":["T","B"],"completedSteps":["T"],"remainingSteps":["T","B"]`:                              "T B",
		`"steps":["T","B"],"steps":["T","B"],"completedSteps":["T"]`:                                       "B",
		`"steps":[{"id":1,"do":"A"},{"id":2,"do":"B"},{"title":"C"}],"completedSteps":[{"id":1,"do":"A"}]`: "Task T-001 C",
	} {
		p, ds := parse("p.json", []byte("{"+text+"}"), plan.Options{})
		var got []string
		for i := 0; p != nil && i < len(p.Tasks); i++ {
			got = append(got, p.Tasks[i].Subject)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v, want %s", text, got, ds, want)
		}
	}
}

func TestTasksThatDoNotRun(t *testing.T) {
	t.Parallel()
	p, ds := parse("p.json", []byte(`{"tasks":[{"id":1,"title":"a","status":"cancelled"},
		{"id":2,"title":"b","status":"done"},
		{"id":3,"title":"c","status":"pending","subtasks":[{"id":1,"title":"s","status":"done","details":"by hand"}]},
		{"id":4,"title":"d","status":"review","dependencies":["1",2,"3.1"],
		"testStrategy":"Run `+"`npm start`, `make test` (as `make check`), `git reset --hard`, then `make lint`; `npm test` fails. "+
		"Do not run `make check-all`. Run `terraform apply`, `npm run dev:test`"+`"}]}`), plan.Options{})
	if p == nil {
		t.Fatal(ds)
	}
	said := strings.Join(plan.Lines(ds), "\n")
	for _, part := range []string{`2 of 4 tasks do not run: "1" (cancelled), "2" (done)`,
		`task "4" waits for "1", which is cancelled`} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is not in\n%s", part, said)
		}
	}
	if strings.Contains(said, `waits for "2"`) || len(p.Tasks) != 2 || p.Graph.Edges() != 1 {
		t.Errorf("%d tasks, %d edges\n%s", len(p.Tasks), p.Graph.Edges(), said)
	}
	if d := p.Tasks[0].Description; d != "Steps:\n- [x] 1 s\n  by hand" {
		t.Errorf("%q", d)
	}
	var runs []string
	for _, c := range p.Tasks[1].Verify {
		runs = append(runs, c.Run)
	}
	if !slices.Equal(runs, []string{"make test"}) {
		t.Errorf("%q", runs)
	}
}

func TestLenient(t *testing.T) {
	t.Parallel()
	text := []byte("---\ntask_count: 3\n---\n<task id=\"1\">\n<action>x</action>\n</task>\n")
	if out, _, ds := Import("p.md", text, plan.Options{Lenient: true}); out == nil || !hasCode(ds, plan.CodeWrongCount) {
		t.Errorf("got %v", ds)
	}
	if out, _, _ := Import("p.md", text, plan.Options{}); out != nil {
		t.Error("a wrong count must be an error")
	}
}

// A native plan is read as such, including its mistakes.
func TestNativePlansAreNotImported(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Form{
		tasks(ok): FormJSON,
		`{"waves":[{"wave":1,"title":"x"}],"tasks":[` + ok + `]}`:               FormJSON,
		`{"version":1,"titel":"x","tasks":[` + ok + `]}`:                        FormJSON,
		tasks(`{"id":1,"titel":"x"}`):                                           FormJSON,
		tasks(`{"title":"x","subject":"x"}`):                                    FormJSON,
		`{"tasks":[[1],{"title":"x"}],"phase":1}`:                               FormPhaseDoc,
		`{"tasks":[{}],"name":"x","stories":[]}`:                                FormStories,
		`{"tasks":[],"waves":[1,[2]],"x":{"phase":1},"steps":1}`:                FormJSON,
		`{"steps":["a","b"]}`:                                                   FormJSON,
		`{"criteriaStatus":{},"completedSteps":[],"remainingSteps":["a"]}`:      FormSteps,
		"tasks:\n- {id: 1, subject: x, description: '<task id=1>'}\n":           FormYAML,
		"tasks:\n- id: 1\n  subject: x\n  description: |\n    ### T-001: x\n":   FormYAML,
		"phase: 1\ntitle: x\ntasks:\n- {id: 1, title: x, verify: [npm test]}\n": FormPhaseDoc,
		`{"version":"2.0","userStories":[{"id":1,"title":"x"}]}`:                FormStories,
		`{"version":1,"parallel":true,"phase":1,"tasks":[{"title":"x"}]}`:       FormPhaseDoc,
		`{"version":"2.0","tasks":[{"title":"x"}]}`:                             FormPhaseDoc,
		`{"setup":"x","params":{},"defaults":{},"spec":"x","steps":["a"]}`:      FormSteps,
		`{"version":1,"tasks":[{"title":"x"}]}`:                                 FormJSON,
		`{"defaults":{},"tasks":[{"title":"x"}]}`:                               FormJSON,
		`{"mustNot":["x"],"userStories":[]}`:                                    FormJSON,
		`{"id":1,"title":"x","status":"open","phases":[]}`:                      FormJSON,
		`{"x":{"tasks":[{"id":1,"title":"x"}]}}`:                                FormJSON,
		"":                                                                      FormJSON, "[]": FormJSON, "x": FormYAML,
	} {
		if _, form, _ := Import("plan", []byte(text), plan.Options{}); form != want && (text != "" || form != FormYAML) {
			t.Errorf("%q is taken for %s", text, form)
		}
	}
	full, err := os.ReadFile("../testdata/full.yaml")
	testrepo.Must(t, err)
	out, _, ds := Import("full.yaml", full, plan.Options{})
	p, _ := parse("x.json", out, plan.Options{})
	if p == nil {
		t.Fatal(ds)
	}
	same(t, p, load(t, "../testdata/full.json"))
}

func TestImportFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "p.md")
	if _, _, _, err := ImportFile(file, plan.Options{}); err == nil {
		t.Error("there is no such file")
	}
	testrepo.Must(t, os.WriteFile(file, samples()[0].read(t), 0o600))
	if out, form, ds, err := ImportFile(file, plan.Options{}); err != nil || out == nil || form != FormPhase {
		t.Errorf("got %v %v", ds, err)
	}
}

func TestPhaseNumber(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Phase 2: X": "2", "Phase 2": "2", "X": "", "Phase two words": "", "": ""} {
		if n := PhaseNumber(&plan.Plan{Name: name}); n != want {
			t.Errorf("%s: %q", name, n)
		}
	}
}

// A task that waits for a checkpoint waits for the task before it; the checkpoint is a criterion of that task.
func TestCheckpointsOfAPhasePlan(t *testing.T) {
	t.Parallel()
	p, ds, err := loadText(t, "---\nphase: 1\n---\n<task>\n<name>Task 1: a</name>\n</task>\n"+
		"<task id=\"look\" type=\"checkpoint:decision\">\n<what-built>the thing</what-built>\n</task>\n"+
		"<task id=\"T-01\" depends=\"look\">\n<name>b</name>\n</task>\n")
	if p == nil || err != nil {
		t.Fatal(ds, err)
	}
	first, second := p.Tasks[0], p.Tasks[1]
	if first.ID != "TT-01" || first.Subject != "a" || len(first.Criteria) != 1 ||
		!strings.Contains(first.Criteria[0].Text, "What built: the thing") {
		t.Errorf("%+v", first)
	}
	if b := p.Graph.Blockers(1); second.ID != "T-01" || len(b) != 1 || b[0] != 0 {
		t.Errorf("%s waits for %v", second.ID, b)
	}
}

func loadText(t *testing.T, text string) (*plan.Plan, []plan.Diagnostic, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(path, plan.Options{})
}

// The ids and links of spec-kit in the spellings that people use, and boxes that are no tasks.
func TestSpecKitSpellings(t *testing.T) {
	t.Parallel()
	const text = "## Phase 1\n- [ ] T1 a\n- [ ] [P] `T2` b\n- [ ] [T3] [P] c (no longer depends on T1)\n- [✓] T4 d\n" +
		"## Phase 2\n- [ ] [P] TASK-005 e\n- [ ] Check the list\n- [ ] [P] T6 f (depends on: T1/T2)\n"
	p, ds := parse("tasks.md", []byte(text), plan.Options{})
	if p == nil {
		t.Fatal(ds)
	}
	var got []string
	for i := range p.Tasks {
		got = append(got, fmt.Sprint(p.Tasks[i].ID, plan.IDs(p, p.Graph.Blockers(i))))
	}
	if want := []string{"T1[]", "T2[T1]", "T3[T1]", "TASK-005[T2 T3]", "T6[T1 T2 T3]"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	said := strings.Join(plan.Lines(ds), "\n")
	if !strings.Contains(said, `without an id like T001 are no tasks: "Check the list"`) {
		t.Error(said)
	}
}
