package cmd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

// may lists the wavex packages that each package imports, with the reason. Imports point down; a
// package that is not listed must not import any package of wavex.
var may = map[string]struct {
	imports []string
	why     string
}{
	"dag":                                {nil, "a pure graph knows no plan"},
	"budget":                             {nil, "money knows no work"},
	"internal/jsonschema":                {nil, "it validates values and knows nothing of whose they are"},
	"internal/jsonschema/jsonschematest": {nil, "it validates values in tests, by another library"},
	"internal/plan/reference":            {nil, "a language; its callers give the values"},
	"internal/plan": {[]string{"internal/jsonobject", "budget", "dag", "internal/jsonschema", "internal/plan/reference",
		"internal/plan/source", "internal/policy", "internal/textfmt"},
		"plan files are graphs with limits; they start nothing"},
	"internal/plan/source": {[]string{"internal/textfmt"}, "JSON and YAML as tokens know no plan"},
	"internal/plan/convert": {[]string{"internal/textfmt", "internal/plan", "internal/plan/source"},
		"plans of other tools and issues become ours; the caller asks GitHub"},
	"internal/proc":          {[]string{"internal/safefile"}, "processes know nothing of what runs in them"},
	"internal/proc/proctest": {nil, "what tests start"},
	"internal/async":         {nil, "a goroutine that works; it knows no work"},
	"internal/jsonobject":    {nil, "objects whose fields belong to others"},
	"internal/loop":          {nil, "paths only; it opens none"},
	"internal/safefile":      {[]string{"internal/loop"}, "it knows files, not what is in them"},
	"internal/secret":        {nil, "texts only"},
	"internal/journal":       {[]string{"internal/loop", "internal/safefile"}, "a log knows nothing of its records"},
	"internal/check": {[]string{"internal/plan", "internal/proc", "internal/textfmt"},
		"checks are commands and files"},
	"internal/policy": {[]string{"internal/jsonobject"},
		"tools, paths and shell text; it knows no process and no protocol"},
	"internal/question": {[]string{"internal/policy", "internal/safefile"},
		"questions and answers as files; it knows no agent and no terminal"},
	"internal/claude/statement": {[]string{"budget", "internal/claude", "internal/fakeapi", "internal/jsonobject",
		"internal/proc", "internal/safefile", "internal/textfmt"},
		"it tries the CLI itself, which knows nothing of us"},
	"internal/filetree": {[]string{"internal/loop", "internal/proc", "internal/safefile"},
		"files and their contents; it knows no attempt"},
	"runner": {[]string{"budget", "internal/proc", "internal/filetree", "internal/jsonschema", "internal/loop",
		"internal/plan", "internal/policy", "internal/check", "internal/safefile", "internal/textfmt"},
		"one attempt knows no other, and its agent by an interface only"},
	"runner/runnertest": {[]string{"runner", "budget", "internal/plan", "internal/proc"},
		"the fake of a runner, and the conformance suite of agents"},
	"internal/claude": {[]string{"internal/jsonobject", "budget", "internal/proc", "internal/loop", "internal/plan",
		"internal/policy", "internal/check", "internal/safefile", "runner", "internal/textfmt"},
		"an agent: turns and questions of the CLI; attempts and panels are others' business"},
	"counsel": {[]string{"budget", "internal/check", "internal/loop", "internal/safefile", "runner",
		"internal/textfmt"}, "a panel is made of lean calls"},
	"internal/event": {[]string{"budget", "counsel", "internal/loop", "internal/plan", "internal/textfmt", "runner"},
		"what is on record, in its own form; it decides nothing and knows no state"},
	"scheduler": {[]string{"budget", "counsel", "dag", "internal/event", "internal/plan", "internal/textfmt", "runner"},
		"the loop decides; it never starts a process or opens a file itself"},
	"internal/gitwork": {[]string{"internal/async", "internal/proc", "internal/filetree", "internal/loop",
		"internal/plan", "internal/check", "internal/safefile", "runner", "internal/textfmt"},
		"a place for attempts and what becomes of their work; it decides nothing about what runs"},
	"internal/tasklist": {[]string{"internal/async", "internal/jsonobject", "internal/event", "internal/plan", "scheduler",
		"internal/textfmt", "internal/plan/source"},
		"Claude Code's task lists: a plan's source, and a projection of the loop's State"},
	"internal/rehearse": {[]string{"internal/jsonobject", "budget", "internal/proc", "internal/jsonschema",
		"internal/safefile"},
		"a stand-in speaks the protocol and knows nothing of us"},
	"internal/fakeapi": {[]string{"budget"},
		"a scripted API, for probes and tests; it knows nothing of us"},
	"internal/notes": {[]string{"internal/async", "internal/event", "internal/report", "internal/textfmt",
		"internal/safefile", "runner", "scheduler"}, "a directory of notes, and a projection of the loop's State into it"},
	"internal/hook": {[]string{"internal/jsonobject", "internal/async", "internal/event", "internal/journal",
		"internal/loop", "internal/tasklist",
		"internal/ui", "internal/textfmt", "internal/safefile", "scheduler"},
		"a projection of the loop's State, and answers that read it"},
	"internal/doctor": {[]string{"internal/claude/statement", "internal/proc", "internal/textfmt"},
		"looks at the machine; plans and runs are others' business"},
	"internal/ui": {[]string{"internal/async", "budget", "counsel", "internal/event", "internal/plan",
		"internal/report", "internal/transcript", "internal/textfmt", "runner", "scheduler"},
		"a projection; it shows the loop's State"},
	"internal/textfmt": {nil, "text for terminals"},
	"internal/report": {[]string{"budget", "counsel", "internal/event", "internal/plan", "internal/textfmt",
		"internal/check", "runner", "scheduler"}, "a projection; it shows the loop's State"},
	"internal/statefiles": {[]string{"internal/async", "internal/jsonobject", "budget", "counsel", "internal/event",
		"internal/loop", "internal/plan", "internal/report",
		"internal/textfmt", "internal/safefile", "scheduler"}, "a projection of the loop's State, into files"},
	"internal/report/page": {[]string{"internal/report", "budget", "counsel", "internal/event", "internal/loop",
		"internal/plan", "internal/transcript", "internal/textfmt", "scheduler"},
		"a projection; it shows the loop's State"},
	"internal/transcript": {[]string{"internal/jsonobject"}, "what the CLI printed, for people; it knows no run"},
	"internal/report/reporttest": {[]string{"budget", "counsel", "dag", "internal/event",
		"internal/loop", "internal/plan",
		"internal/check", "runner", "scheduler"}, "stories for tests of projections"},
	"internal/testrepo": {[]string{"internal/event", "internal/journal",
		"internal/loop", "internal/plan", "internal/proc"},
		"what tests of rooms stand on"},
	"internal/usererr": {[]string{"internal/proc"}, "refusals in words; exit codes are the command line's"},
	"internal/planfile": {[]string{"internal/plan", "internal/plan/convert", "internal/usererr",
		"internal/rehearse", "internal/tasklist"}, "it reads plans; runs are others' business"},
	"internal/agent": {[]string{"budget", "internal/claude", "internal/policy", "counsel", "internal/textfmt",
		"internal/loop", "internal/plan", "internal/rehearse",
		"runner"}, "who does the work, and nothing of what it is"},
	"internal/userdata": {[]string{"internal/usererr", "internal/safefile", "internal/textfmt"},
		"files that are there beyond any run"},
	"internal/runlog": {[]string{"internal/agent", "budget", "counsel", "internal/event", "internal/journal",
		"internal/claude", "internal/loop", "internal/statefiles", "internal/plan", "internal/planfile",
		"internal/usererr", "internal/secret", "internal/notes", "internal/report", "internal/transcript",
		"internal/safefile", "runner", "scheduler"}, "what .loop keeps of runs; it starts nothing"},
	"internal/forecast": {[]string{"internal/report", "budget", "internal/event", "internal/plan", "scheduler"},
		"a plan before it runs, simulated by the loop's decisions; it reads no file"},
	"internal/workspace": {[]string{"internal/event",
		"internal/loop", "internal/plan", "internal/runlog",
		"internal/usererr", "internal/safefile",
		"internal/report", "internal/secret", "internal/gitwork", "runner", "scheduler"},
		"where work is done and where it goes; it decides nothing about what runs"},
	"internal/review": {[]string{"counsel", "internal/event", "internal/agent", "internal/loop",
		"internal/plan", "internal/proc", "internal/runlog", "internal/workspace", "internal/check",
		"internal/filetree", "internal/safefile",
		"internal/gitwork", "runner", "scheduler", "internal/textfmt"},
		"cases are put before who judges; when, and what follows, is the scheduler's"},
	"internal/run": {[]string{"internal/report", "budget", "internal/event", "internal/proc", "internal/filetree",
		"internal/agent", "internal/claude", "internal/loop", "internal/review", "internal/hook", "internal/statefiles",
		"internal/ui", "internal/plan", "internal/planfile", "internal/question", "internal/runlog", "internal/usererr",
		"internal/workspace", "internal/request", "internal/tasklist", "internal/notes", "internal/userdata",
		"internal/safefile", "internal/textfmt", "runner", "scheduler"},
		"it wires a run to the world; flags, terminals and exit codes are the command line's"},
	"internal/inspect": {[]string{"internal/report", "internal/event", "internal/loop", "internal/plan",
		"internal/proc", "internal/runlog", "internal/usererr", "internal/workspace", "internal/textfmt", "internal/check",
		"internal/safefile", "scheduler"}, "checks and gaps outside of a session; it runs no agent"},
	"internal/request": {[]string{"budget", "counsel", "internal/agent", "internal/check", "internal/claude",
		"internal/event", "internal/loop", "internal/plan", "internal/proc",
		"internal/runlog", "internal/safefile", "internal/statefiles", "internal/textfmt",
		"internal/userdata", "runner"},
		"the stages before a run, wired to the world; flags, dialogue and exit codes are the command line's"},
	"fleet/cmd/wavex": {[]string{"cmd", "fleet"}, "ten lines"},
	"fleet":           {[]string{"*"}, "the side of the fleet of the seam in cmd and internal/run"},
	"fleet/telemetry": {[]string{"budget", "internal/event", "runner", "scheduler"},
		"a projection; it shows the loop's State"},
	"fleet/remote/temporal": {[]string{"fleet/remote", "fleet/remote/wire", "fleet/worker"},
		"an engine; it knows messages of attempts, not their contents"},
	"fleet/worker": {[]string{"fleet/ferry", "fleet/remote/wire", "internal/async", "internal/gitwork", "internal/loop",
		"internal/plan", "internal/proc", "internal/safefile", "internal/textfmt", "runner"},
		"the other end of fleet/remote; it knows no run and no engine"},
	"fleet/remote": {[]string{"budget", "fleet/ferry", "fleet/remote/wire", "internal/async", "internal/check",
		"internal/plan", "internal/textfmt", "runner"}, "attempts by an engine; what follows them is the scheduler's"},
	"fleet/remote/wire": {[]string{"budget", "internal/plan", "runner"},
		"messages about attempts; it knows neither engine nor git"},
	"fleet/ferry": {[]string{"internal/async", "internal/gitwork", "internal/loop", "internal/safefile", "runner"},
		"commits and files on their way; engines and worktrees are others' business"},
	"cmd":           {[]string{"*"}, "the command line wires everything"},
	"cmd/wavex":     {[]string{"cmd"}, "ten lines"},
	"cmd/manpages":  {[]string{"cmd"}, "it describes the command line"},
	"e2e":           {[]string{"*"}, "tests of the whole"},
	"internal/lint": {nil, "it reads the source as text and knows nothing of what it does"},
	"bench":         {nil, "benchmarks live in its tests"},
	"e2e/page":      {[]string{"*"}, "tests of the whole, in a browser"},
	"e2e/wall":      {[]string{"*"}, "tests of the whole, behind bubblewrap"},
	"e2e/evidence": {[]string{"internal/loop"},
		"cases of honest and dishonest runs; it knows only the command line and the paths in .loop"},
	"e2e/rig":     {nil, "what the tests of the whole share"},
	"e2e/suite":   {[]string{"e2e/rig"}, "it runs the tests and knows none"},
	"e2e/ci":      {nil, "the examples for CI, tried"},
	"e2e/hostile": {[]string{"e2e/rig"}, "plans of strangers, fed to the binary"},
	"e2e/docs":    {nil, "the documentation, tried"},
	"e2e/crash":   {[]string{"*"}, "tests of the whole, killed"},
	"e2e/soak":    {nil, "tests of the whole, struck at random"},
	"e2e/scratch": {[]string{"budget", "e2e/rig", "internal/event", "internal/journal",
		"internal/jsonschema/jsonschematest", "internal/loop", "runner", "internal/statefiles"},
		"what the tests that kill wavex share"},
	"e2e/mutate":                {[]string{"internal/proc", "internal/textfmt"}, "it changes any package and knows none"},
	"examples/quickstart/reset": {nil, "an example"},
}

// never lists the other imports that a package must not have.
var never = map[string][]string{
	"dag":            {"os", "net/http", "os/exec", "time"},
	"budget":         {"os", "net/http", "os/exec"},
	"scheduler":      {"os/exec", "net/http", "os", "sync"},
	"internal/event": {"os/exec", "net/http", "os"},
	"runner":         {"os/exec"},
}

// starters are the packages that may import os/exec.
var starters = []string{"internal/proc", "cmd", "fleet", "e2e/rig", "e2e/suite", "e2e/scratch", "internal/testrepo"}

type pkg struct {
	ImportPath string
	Imports    []string
}

// packages returns the packages of the root module and of fleet. The compiler holds that the root imports nothing of
// fleet.
func packages(t *testing.T) []pkg {
	t.Helper()
	var both []byte
	for _, dir := range []string{"..", "../fleet"} {
		list := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
		list.Dir = dir
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		both = append(both, out...)
	}
	var all []pkg
	for d := json.NewDecoder(bytes.NewReader(both)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "wavex/")
		rule, listed := may[name]
		if !listed {
			t.Errorf("package %s has no rule: say in cmd/imports_test.go what it may import, and why", name)
			continue
		}
		for _, imp := range p.Imports {
			if slices.Contains(never[name], imp) {
				t.Errorf("%s imports %s, which it must not: %s", name, imp, rule.why)
			}
			if imp == "os/exec" && !slices.Contains(starters, name) {
				t.Errorf("%s imports os/exec: processes are started in internal/proc only", name)
			}
			local, ours := strings.CutPrefix(imp, "wavex/")
			if ours && !slices.Contains(rule.imports, local) && !slices.Contains(rule.imports, "*") {
				t.Errorf("%s imports %s, but %s", name, local, rule.why)
			}
		}
		for _, word := range []string{"util", "common", "types", "helpers"} {
			if strings.HasSuffix(name, word) {
				t.Errorf("package %s: a drawer is no room", name)
			}
		}
	}
}

// The layout in docs/design.md must show every package, and none below a package that it imports.
func TestImportsAreDrawn(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/design.md")
	testrepo.Must(t, err)
	_, layout, found := strings.Cut(string(text), "\n## Layout\n")
	layout, _, _ = strings.Cut(layout, "\n## ")
	house, tests, cut := strings.Cut(layout, "\nFor tests:\n")
	if !found || !cut {
		t.Fatal("docs/design.md has no layout of the house and of its tests")
	}
	at := map[string]int{}
	for i, word := range strings.Fields(house) {
		if name := strings.TrimSuffix(word, "/"); at[name] == 0 {
			at[name] = i + 1
		}
	}
	for name, rule := range may {
		if at[name] == 0 {
			if !slices.Contains(strings.Fields(strings.ReplaceAll(tests, "/ ", " ")), name) &&
				!strings.HasPrefix(name, "examples/") {
				t.Errorf("the layout in docs/design.md lacks %s", name)
			}
			continue
		}
		for _, imp := range rule.imports {
			if imp != "*" && at[imp] < at[name] {
				t.Errorf("the layout in docs/design.md has %s above %s, which imports it", imp, name)
			}
		}
	}
}
