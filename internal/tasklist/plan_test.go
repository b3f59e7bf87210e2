package tasklist

// This file checks lists as plans, and plans exported to lists: the kept parts, the omitted parts,
// and the positions of mistakes.

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wavex/internal/plan"
	"wavex/internal/plan/convert"
	"wavex/internal/testrepo"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	l := folder(t, map[string]string{
		"1.json":     `{"id":"1","subject":"Add\n it","description":"Add it.\nVerify: go test ./...","status":"pending","blocks":["3"],"blockedBy":[],"metadata":{"wave":9,"loopId":"r-0","stuckCount":2,"verification":"x","mine":[1]}}`,
		"2.json":     `{"id":"2","subject":"Done","description":"","status":"completed","blocks":["3","T-4"],"blockedBy":[]}`,
		"3.json":     `{"id":"3","subject":"Use it","description":"","activeForm":"Using","status":"in_progress","owner":"me","blocks":[],"blockedBy":["2"],"metadata":{"wavex":{"files":["a.go"],"verify":[{"file":"a.go"}],"model":"m"}}}`,
		"4.json":     pending("4", `,"metadata":{"_internal":true}`),
		"R-001.json": `{"id":"R-001","subject":"Mend","description":"","status":"pending","blocks":[],"blockedBy":["03","4","T-002"]}`,
	})
	p, ds, err := l.Plan(t.Context(), "")
	if p == nil || err != nil {
		t.Fatal(ds, err)
	}
	var ids []string
	for i := range p.Tasks {
		ids = append(ids, p.Tasks[i].ID)
	}
	if !slices.Equal(ids, []string{"1", "3", "R-001"}) || p.Name != "l" || p.Path != l.Dir || p.Digest == "" {
		t.Fatalf("%v %+v", ids, p)
	}
	one, three := p.Tasks[0], p.Tasks[1]
	if one.Subject != "Add it" || one.Verify[0].Run != "go test ./..." || len(one.Metadata) != 1 ||
		string(one.Metadata["mine"]) != "[1]" || one.Wave != 0 {
		t.Errorf("%+v", one)
	}
	if !reflect.DeepEqual(three.Files, []plan.File{{Path: "a.go"}}) || three.Verify[0].File != "a.go" ||
		p.Settings(1).Model != "m" || three.ActiveForm != "Using" {
		t.Errorf("%+v", three)
	}
	// 1 blocks 3, though only the file of 1 says so; 03 is 3.
	if got := p.Graph.Blockers(1); len(got) != 1 || got[0] != 0 {
		t.Errorf("3 is blocked by %v", got)
	}
	if got := p.Graph.Blockers(2); len(got) != 1 || got[0] != 1 {
		t.Errorf("R-001 is blocked by %v", got)
	}
	if i, ok := p.Lookup("T-003"); !ok || i != 1 {
		t.Error("T-003 is 3")
	}
	// The fields that a run writes do not change the plan of the list.
	testrepo.Must(t, l.Update(t.Context(), "3", func(task *Task) bool {
		taskState{status: InProgress, run: "r-7",
			wave: 3}.applyTo(task)
		return true
	}))
	if q, _, _ := l.Plan(t.Context(), ""); q == nil || q.Digest != p.Digest {
		t.Error("the digest changed")
	}
}

// A resume sees the tasks that its run completed, and not the tasks that it added.
func TestPlanOfARun(t *testing.T) {
	t.Parallel()
	l := folder(t, map[string]string{
		"1.json": strings.Replace(pending("1", `,"metadata":{"loopId":"r-1"}`), "pending", "completed", 1),
		"2.json": strings.Replace(pending("2", ""), `"blockedBy":[]`, `"blockedBy":["1"]`, 1),
		"3.json": pending("3", `,"metadata":{"loopId":"r-1","remediation":"R-001"}`),
		"4.json": strings.Replace(pending("4", `,"metadata":{"loopId":"r-0"}`), "pending", "completed", 1),
	})
	for run, want := range map[string]string{"r-1": "1 2", "r-2": "2 3", "": "2 3"} {
		p, ds, err := l.Plan(t.Context(), run)
		if p == nil || err != nil {
			t.Fatal(ds, err)
		}
		var ids []string
		for i := range p.Tasks {
			ids = append(ids, p.Tasks[i].ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("for run %q: %s", run, got)
		}
	}
}

func TestPlanMistakes(t *testing.T) {
	t.Parallel()
	ok := pending("1", "")
	for name, c := range map[string]struct {
		files map[string]string
		want  string // FILE:LINE:COLUMN: severity: ... [code]; "..." matches any text
		says  string
	}{
		"empty": {nil, "l: error", "wavex export --task-list l PLAN"},
		"all done": {map[string]string{"1.json": strings.Replace(ok, "pending", "completed", 1)}, "l: error",
			"all 1 tasks of the list are completed"},
		"broken": {map[string]string{"1.json": ok, "2.json": "{\n \"id\": \"2\",\n \"subj"}, "2.json:3:",
			"mend the file or remove it"},
		"status": {map[string]string{"1.json": strings.Replace(ok, `"pending"`, "\n\"failed\"", 1)},
			"1.json:2:1: error", "write pending"},
		"unknown blocker": {map[string]string{"1.json": strings.Replace(ok, `"blockedBy":[]`, "\n\"blockedBy\":[\"9\"]", 1)},
			"1.json:2:13: error", `"9"`},
		"self": {map[string]string{"1.json": strings.Replace(ok, `"blockedBy":[]`, `"blockedBy":["01"]`, 1)},
			"1.json:1:", "blocked by itself"},
		"cycle": {map[string]string{"1.json": strings.Replace(ok, `"blockedBy":[]`, `"blockedBy":["2"]`, 1),
			"2.json": strings.Replace(pending("2", ""), `"blockedBy":[]`, `"blockedBy":["1"]`, 1)},
			"1.json:1:1: error", "1 -> 2 -> 1"},
		"same id": {map[string]string{"1.json": ok, "01.json": pending("01", "")}, "1.json:1:1: error",
			"\"01\" are the same number; rename"},
		"no words": {map[string]string{"1.json": strings.Replace(ok, "Task 1", "", 1)}, "1.json:1:1: error", "subject"},
		"nul": {map[string]string{"1.json": strings.Replace(ok, "Task 1", `a\u0000`, 1)},
			"1.json:1:21: error", "NUL"},
		"fields": {map[string]string{"1.json": pending("1", `,"metadata":{"wavex":7}`)}, "1.json:1:",
			"metadata.wavex must be an object"},
		"field twice": {map[string]string{"1.json": pending("1", `,"metadata":{"wavex":{"subject":"x"}}`)}, "1.json:1:",
			"has \"subject\" already"},
		"list": {map[string]string{"1.json": pending("1", ",\"metadata\":{\"wavex\":{\n\"foreach\":[1]}}")},
			"1.json:2:11: error", "no place for a list (foreach)"},
		"wrong field": {map[string]string{"1.json": pending("1", ",\"metadata\":{\"wavex\":{\n\"files\":[\"../x\"]}}")},
			"1.json:2:9: error", "leaves the directory"},
		"no field": {map[string]string{"1.json": pending("1", ",\"metadata\":{\"wavex\":{\n\"file\":[\"../x\"]}}")},
			"1.json:2:8: error", "files"},
		"taken": {map[string]string{"1.json": strings.Replace(pending("1", `,"owner":"me"`), "pending",
			"in_progress", 1)}, "1.json:1:61: warning", "\"me\" may be at work on it"},
		"nothing proves": {map[string]string{"1.json": ok}, "1.json:1:1: warning", "no check"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := folder(t, c.files)
			p, ds, err := l.Plan(t.Context(), "")
			if err != nil || (p == nil) != strings.Contains(c.want, "error") && !strings.HasSuffix(c.want, ":") {
				t.Fatal(p, ds, err)
			}
			var all []string
			for _, d := range ds {
				rel, _ := filepath.Rel(l.Dir, d.File)
				if rel == "." {
					rel = "l"
				}
				d.File = rel
				all = append(all, d.String())
				if len(d.Message) > 1000 {
					t.Errorf("a message of %d bytes", len(d.Message))
				}
			}
			if !slices.ContainsFunc(all, func(s string) bool {
				return strings.HasPrefix(s, c.want) &&
					strings.Contains(s, c.says)
			}) {
				t.Errorf("want %s ... %s, got\n%s", c.want, c.says, strings.Join(all, "\n"))
			}
		})
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "plan.json")
	text := `{"version":1,"name":"p","request":"r","budget":{"usd":2},
"links":[{"from":"a","to":"b"}],"protect":["go.mod"],"isolation":"worktree","share":["x"],"setup":"make","deliver":"branch",
"defaults":{"model":"m","mcp":"inherit"},
"tasks":[
 {"id":"T-010","subject":"One","description":"Do.","verify":["go test ./a"],"metadata":{"k":1}},
 {"id":"T-020","subject":"Two","prompt":"@two.md","verify":[{"file":"b"},"true"],"files":["b"],"model":"n","depends_on":["T-010"]},
 {"id":"T-030","command":"make","blockedBy":["T-010",20],"mcpConfig":"none","description":"Verify: no","verify":[]}
]}`
	for name, s := range map[string]string{"plan.json": text, "two.md": "@ is a sign\n"} {
		testrepo.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(s), 0o600))
	}
	p, ds, err := convert.Load(file, plan.Options{})
	if p == nil {
		t.Fatal(ds, err)
	}
	native, _, _, err := convert.ImportFile(file, plan.Options{})
	testrepo.Must(t, err)
	l := folder(t, map[string]string{".highwatermark": "4"})
	lost, err := l.Export(t.Context(), p, native, "q-1")
	if err != nil || !slices.Equal(lost, []string{"the request", "the budget", "links", "protect", "isolation", "share",
		"setup", "deliver"}) {
		t.Fatal(lost, err)
	}
	tasks := whole(t, l)
	if ids, err := l.Exported(t.Context(), "q-1", "r-1"); err != nil || ids["T-010"] != "5" || len(ids) != 3 {
		t.Error(ids, err)
	}
	if ids, err := l.Exported(t.Context(), "", "r-1"); err != nil || len(ids) > 0 {
		t.Error(ids, err)
	}
	one, three := tasks["5"], tasks["7"]
	if one.Description != "Do.\n\nVerify: go test ./a" || one.Metadata.Text(metaPlanID) != "T-010" ||
		string(one.Metadata.Get("k")) != "1" || !slices.Equal(one.Blocks, []string{"6", "7"}) {
		t.Errorf("%s", one.render())
	}
	if three.Subject != "Task T-030" || !slices.Equal(three.BlockedBy, []string{"5", "6"}) {
		t.Errorf("%s", three.render())
	}
	q, ds, err := l.Plan(t.Context(), "")
	if q == nil || err != nil {
		t.Fatal(ds, err)
	}
	for i := range q.Tasks {
		a, b := p.Tasks[i], q.Tasks[i]
		if !reflect.DeepEqual(a.Verify, b.Verify) || !reflect.DeepEqual(a.Files, b.Files) || a.Prompt != b.Prompt ||
			a.Command != b.Command || !reflect.DeepEqual(p.Settings(i), q.Settings(i)) || !slices.Equal(p.Graph.Blockers(i),
			q.Graph.Blockers(i)) {
			t.Errorf("task %s: %+v\ncame back as %+v", a.ID, a, b)
		}
	}
	var unfit *UnfitError
	if _, err := l.Export(t.Context(), p, native, ""); !errors.As(err, &unfit) ||
		!strings.Contains(unfit.Why, "has 3 tasks already") {
		t.Error(err)
	}
}

// A plan whose tasks would mean something else in a list is refused, and nothing is written.
func TestExportRefuses(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"task a has a list (foreach)": `{"tasks":[{"id":"a","command":"x","foreach":["i"]}]}`,
		"the plan has parameters":     `{"params":{"p":{"type":"string","default":"v"}},"tasks":[{"id":"a","command":"x"}]}`,
		"task b refers to the output of a": `{"tasks":[{"id":"a","command":"x","output":{"type":"object"}},
			{"id":"b","command":"echo ${tasks.a.output | json}"}]}`,
	} {
		p, ds := plan.Parse("plan.json", []byte(text), plan.Options{})
		if p == nil {
			t.Fatal(ds)
		}
		l := &List{Name: "l", Dir: filepath.Join(t.TempDir(), "l")}
		var unfit *UnfitError
		_, err := l.Export(t.Context(), p, []byte(text), "")
		if !errors.As(err, &unfit) || !strings.HasPrefix(unfit.Why, want+", which") || l.Exists() {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
