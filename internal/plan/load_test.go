package plan

// This file checks the result of valid plans in both formats, and how files are found.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

func load(t *testing.T, file string) *Plan {
	t.Helper()
	p, ds, err := Load(file)
	if err != nil || p == nil {
		t.Fatalf("%s: %v %v", file, err, ds)
	}
	for _, d := range ds {
		if d.Code != CodeMixedAliases {
			t.Errorf("unexpected %s", d)
		}
	}
	return p
}

func TestFull(t *testing.T) {
	t.Parallel()
	p := load(t, "testdata/full.json")
	usd, unlimited, two, three, zero := NoLimit, NoIterations, 2, 3, 0
	want := &Plan{
		Name: "Full", Request: "Everything a plan can say.", Parallel: 3, Schedule: "eager",
		Budget: Limits{USD: &usd, Iterations: &unlimited, WallClock: 2 * time.Hour},
		Defaults: Settings{Model: "sonnet", FallbackModel: "haiku", PermissionMode: "acceptEdits",
			AllowedTools:    []string{"Bash(go test:*)"},
			DisallowedTools: []string{"WebSearch"}, Timeout: 30 * time.Minute, IdleTimeout: 90 * time.Second, MaxRetries: &two,
			RetrySession: "fresh", MaxTurns: 40,
			Agent: "builder", AppendSystemPrompt: "Be brief.", MCPConfig: "mcp.json", SettingSources: "user,project",
			PolicyEdits: "files", PolicyDeny: []string{"git push", "WebFetch"}, PolicyRepeat: &three,
			PolicyAsk: []string{"git push", "WebFetch"}, PolicyAskTimeout: time.Minute,
			Dir: "sub/dir"},
		Criteria: []Condition{{Text: "It builds."},
			{Text: "It is fast.", Check: &Check{Run: "make bench", Timeout: time.Minute}, Verification: "measurement"}},
		Links:     []Link{{"a.go", "b.go", "A calls B."}},
		MustNot:   []Condition{{Text: "No new dependency.", Check: &Check{Run: "git diff --exit-code go.mod"}}},
		Isolation: "worktree", Share: []string{"node_modules", "copy:.env"}, Setup: Setup{Run: "npm ci"}, Deliver: "push",
		ProtectPaths: []string{"go.mod", "testdata/*.golden"}, ProtectBranches: []string{"release/*"},
		Rehearse: json.RawMessage(`{"speed": 10}`),
		Tasks: []Task{
			{ID: "T-001", Subject: "Write the parser", Description: "Write it.\nVerify: `go vet ./...`",
				ActiveForm: "Writing the parser",
				Files:      []File{{Path: "a.go"}, {Path: "b.go", Action: "create or modify"}},
				Verify:     []Check{{Run: "go vet ./..."}},
				Criteria:   []Condition{{Text: "Errors have lines."}}, Aspects: []string{"parsing", "errors"},
				Exclusive: []string{"database"}, Reversibility: "2B",
				BudgetUSD: 1_500_000, Estimate: Estimate{Seconds: 120, USD: 400_000},
				Metadata: map[string]json.RawMessage{"wave": json.RawMessage("1"), "loopId": json.RawMessage(`"x"`),
					"deep": json.RawMessage(`{"a": [1, null, true, "é"]}`)},
				Rehearse: json.RawMessage(`{"duration": "1s"}`)},
			{ID: "2", Prompt: "@literal", Reversibility: "1", Verify: []Check{{Run: "go test ./..."}, {File: "a.go"},
				{File: "a.go", Contains: "func"}, {File: "a.go", Matches: "^package"}, {Run: "! make slow", Once: true}},
				Settings: &Settings{Model: "opus", AllowedTools: []string{}, MaxRetries: &zero, MCPConfig: "none",
					Timeout: 90 * time.Minute}},
			{ID: "007", Command: "make", Reversibility: "2A", Verify: []Check{{Run: "test -f out"}}},
			{ID: "docs", Subject: "Write the docs", Reversibility: "2A", Verify: []Check{{Run: "test -s README.md"}},
				Settings: &Settings{SettingSources: "user", MCPConfig: "inherit"}},
		},
	}
	same(t, p, want)
	for i, blockers := range [][]int32{{}, {0}, {0, 1}, {0, 2}} {
		if got := p.Graph.Blockers(i); !equal(got, blockers) {
			t.Errorf("blockers of %d: %v, want %v", i, got, blockers)
		}
	}
	if wave, total := p.Waves(); total != 4 || !reflect.DeepEqual(wave, []int{1, 2, 3, 4}) {
		t.Errorf("waves %v of %d", wave, total)
	}
	if p.Path != "testdata/full.json" || len(p.Digest) != 64 || p.Tasks[1].Pos != (Pos{Line: 30, Column: 5}) {
		t.Errorf("path %q digest %q place %v", p.Path, p.Digest, p.Tasks[1].Pos)
	}
	for id, want := range map[string]int{"1": 0, "01": 0, "T1": 0, "t-0001": 0, "2": 1, "T-7": 2, "docs": 3} {
		if i, ok := p.Lookup(id); !ok || i != want {
			t.Errorf("Lookup(%q) = %d, %v", id, i, ok)
		}
	}
	for _, id := range []string{"", "T", "T-", "8", "Docs", "doc", "-1", "99999999999999999999"} {
		if i, ok := p.Lookup(id); ok {
			t.Errorf("Lookup(%q) = %d", id, i)
		}
	}
}

func equal(a, b []int32) bool {
	return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b)
}

// same compares the content of plans, whatever the layout of their files.
func same(t *testing.T, got, want *Plan) {
	t.Helper()
	if a, b := words(t, got), words(t, want); a != b {
		t.Errorf("got  %s\nwant %s", a, b)
	}
}

func words(t *testing.T, p *Plan) string {
	t.Helper()
	flat := struct {
		Parallel                          int
		Name, Request, Schedule           string
		Budget                            Limits
		Defaults                          Settings
		Criteria, MustNot, Rehearse, Task any
		Isolation, Share, Setup, Protect  any
		Deliver                           string
	}{p.Parallel, p.Name, p.Request, p.Schedule, p.Budget, p.Defaults, p.Criteria, p.MustNot, p.Rehearse, nil,
		p.Isolation, p.Share, p.Setup, [][]string{p.ProtectPaths, p.ProtectBranches}, p.Deliver}
	var list []Task
	for _, task := range p.Tasks {
		task.Pos = Pos{}
		list = append(list, task)
	}
	flat.Task = list
	out, err := json.Marshal(flat)
	must(t, err)
	return string(out)
}

func TestYAMLIsTheSame(t *testing.T) {
	t.Parallel()
	j, y := load(t, "testdata/full.json"), load(t, "testdata/full.yaml")
	same(t, y, j)
	for i := range j.Tasks {
		if j.Key(i) != y.Key(i) {
			t.Errorf("key of task %d differs", i)
		}
		if !equal(j.Graph.Blockers(i), y.Graph.Blockers(i)) {
			t.Errorf("blockers of task %d differ", i)
		}
	}
	if got := y.Tasks[3].Pos; got != (Pos{Line: 81, Column: 5}) {
		t.Errorf("place of docs: %v", got)
	}
	data, err := os.ReadFile("testdata/full.yaml")
	must(t, err)
	for name, text := range map[string]string{
		"plan":          string(data), // by content
		"plan.yml":      "\ufeff" + string(data),
		"PLAN.YAML":     strings.ReplaceAll(string(data), "\n", "\r\n"),
		"explicit.yaml": "%YAML 1.2\n---\n" + string(data) + "...\n",
	} {
		p, ds := Parse(name, []byte(text), Options{})
		if p == nil {
			t.Errorf("%s: %v", name, ds)
			continue
		}
		same(t, p, j)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	p := load(t, "testdata/full.json")
	s := p.Settings(1)
	if s.Model != "opus" || s.FallbackModel != "haiku" || *s.MaxRetries != 0 || s.Timeout != 90*time.Minute ||
		s.MCPConfig != "" || s.Dir != "sub/dir" {
		t.Errorf("got %+v", s)
	}
	if s.AllowedTools == nil || len(s.AllowedTools) != 0 || len(s.DisallowedTools) != 1 {
		t.Errorf("lists must replace: %v %v", s.AllowedTools, s.DisallowedTools)
	}
	if s := p.Settings(0); !reflect.DeepEqual(s, p.Defaults) {
		t.Errorf("got %+v", s)
	}
	own, ds := Parse("p.json", []byte(`{"defaults":{"policy":{"deny":["curl"],"edits":"off"}},"tasks":[`+
		`{"id":"a","subject":"A","verify":"true","policy":{"deny":[],"repeat":0}}]}`), Options{})
	if own == nil {
		t.Fatal(ds)
	}
	if s := own.Settings(0); s.PolicyDeny == nil || len(s.PolicyDeny) != 0 || s.PolicyEdits != "off" ||
		*s.PolicyRepeat != 0 {
		t.Errorf("a policy is replaced field by field: %+v", s)
	}
	if s := p.Settings(3); s.MCPConfig != "inherit" || s.SettingSources != "user" {
		t.Errorf("got %+v", s)
	}
}

func TestLoadFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		must(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	if _, _, err := Load(filepath.Join(dir, "none.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	} else if !strings.HasPrefix(err.Error(), "cannot read the plan: ") {
		t.Errorf("got %v", err)
	}
	if _, _, err := Load(dir); err == nil {
		t.Error("a folder is no plan")
	}
	write("do.md", "\ufeffDo it well.\n")
	write("empty.md", " \n")
	write("latin.md", "\xff")
	p, ds, err := Load(write("plan.json", tasks(`{"id":1,"prompt":"@do.md","verify":"x"}`,
		`{"id":2,"prompt":"@./do.md","verify":"x"}`)))
	if err != nil || p == nil || p.Tasks[0].Prompt != "Do it well.\n" || p.Tasks[1].Prompt != p.Tasks[0].Prompt {
		t.Errorf("got %v %v", ds, err)
	}
	_, ds, err = Load(write("bad.json", tasks(`{"id":1,"prompt":"@none.md","verify":"x"}`,
		`{"id":2,"prompt":"@empty.md","verify":"x"}`,
		`{"id":3,"prompt":"@latin.md","verify":"x"}`, `{"id":4,"prompt":"@.","verify":"x"}`,
		`{"id":5,"prompt":"@","verify":"x"}`)))
	if err != nil || len(ds) != 5 {
		t.Fatalf("got %v %v", ds, err)
	}
	for i, want := range []string{"does not exist", "is empty", "not UTF-8", "not a regular file", `write "@@"`} {
		if ds[i].Code != CodeMissingFile || !strings.Contains(ds[i].Message, want) {
			t.Errorf("got %v, want %s", ds[i], want)
		}
	}
}

// Prompt files have a bound together, also one file that many tasks spell in different ways.
func TestPromptFilesTooLarge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "p.md"), bytes.Repeat([]byte("x"), 15<<20), 0o600))
	var list []string
	for i := range 10 {
		list = append(list, fmt.Sprintf(`{"id":%d,"prompt":"@%sp.md","verify":"x"}`, i, strings.Repeat("./", i)))
	}
	_, ds := Parse("plan.json", []byte(tasks(list...)), Options{Dir: dir})
	if len(ds) != 2 || ds[0].Code != CodeTooLarge || !strings.Contains(ds[0].Message, "more than 128 MB") {
		t.Errorf("%v", ds)
	}
}

// A plan takes no text from outside of its folder: a stranger's plan would send it to the agent.
func TestPromptOutsideOfTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	plans := filepath.Join(dir, "plans")
	must(t, errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.Mkdir(plans, 0o700),
		os.WriteFile(filepath.Join(plans, "in.md"), []byte("inside"), 0o600),
		os.Symlink("in.md", filepath.Join(plans, "kept")), os.Symlink("../secret", filepath.Join(plans, "link")),
		os.Symlink("..", filepath.Join(plans, "up"))))
	for name, problem := range map[string]string{
		filepath.ToSlash(secret): "is outside of the plan's folder", "../secret": "is outside of the plan's folder",
		"up/../../secret": "is outside of the plan's folder", "link": "cannot be read in the plan's folder",
		"up/secret": "cannot be read in the plan's folder", "kept": "",
	} {
		text := tasks(fmt.Sprintf(`{"id":1,"prompt":%q,"verify":"x"}`, "@"+name))
		p, ds := Parse("plan.json", []byte(text), Options{Dir: plans})
		if problem == "" && (p == nil || p.Tasks[0].Prompt != "inside") || problem != "" && (len(ds) == 0 ||
			!strings.Contains(ds[0].Message, problem) || ds[0].Line == 0) {
			t.Errorf("%s: %v", name, ds)
		}
	}
}

// The mistakes of a plan are bounded, and so is the memory that it takes to find them. No other test runs
// beside this one, which counts all allocations.
func TestManyMistakes(t *testing.T) {
	const n = 300_000
	text := []byte(tasks(strings.Repeat(`{"id":1},`, n) + `{"id":1}`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, ds := Parse("plan.json", text, Options{})
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 128<<20 || len(ds) != maxDiagnostics+1 {
		t.Errorf("%d bytes for a plan of %d, %d mistakes", got, len(text), len(ds))
	}
}

func TestVerifyCommand(t *testing.T) {
	t.Parallel()
	for description, want := range map[string]string{
		"Add import to src/auth.ts. Verify: grep 'ValidationError' src/auth.ts": "grep 'ValidationError' src/auth.ts",
		"Do it.\nVerify: `go test ./...`\n":                                     "go test ./...",
		"Do it.\n**Verify:** ``make``":                                          "make",
		"Verify: a\nand more":                                                   "",
		"Do.\nVerify:":                                                          "",
		"Verify: a; Verify: b":                                                  "b",
		"ReVerify: no":                                                          "",
		"echo `a` Verify: echo `date`":                                          "echo `date`",
		"":                                                                      "",
	} {
		if got := VerifyCommand(description); got != want {
			t.Errorf("tail(%q) = %q, want %q", description, got, want)
		}
	}
}

func TestWrites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files []File
		want  bool
	}{{[]File{{Path: "a"}}, true}, {[]File{{Path: "a", Action: "read"}}, false}, {[]File{{Path: "b"}}, false}} {
		if got := writes(c.files, "a"); got != c.want {
			t.Errorf("writes(%v) = %v", c.files, got)
		}
	}
}

// Load reads a plan file.
func Load(path string) (*Plan, []Diagnostic, error) {
	src, digest, err := ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	p, ds := parse(path, src, digest, Options{Dir: filepath.Dir(path)})
	if p != nil {
		p.Path = path
	}
	return p, ds, nil
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
