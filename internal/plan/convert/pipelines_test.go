package convert

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/plan"
	"wavex/internal/testrepo"
)

// A file of another runner is refused by the runner's name, at a line of it and with nothing else. Files that use the
// same words are not.
func TestPipelines(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("testdata", "forms", "pipelines")
	data, err := os.ReadFile(filepath.Join(dir, "expect.json"))
	testrepo.Must(t, err)
	var want map[string]struct{ Runner string }
	testrepo.Must(t, json.Unmarshal(data, &want))
	if len(want) < 10 {
		t.Fatalf("%s has only %d files", dir, len(want))
	}
	for name, w := range want {
		p, ds, err := Load(filepath.Join(dir, name), plan.Options{})
		testrepo.Must(t, err)
		switch said := strings.Join(plan.Lines(ds), "\n"); {
		case w.Runner == "" && (p == nil || strings.Contains(said, "does not run")):
			t.Errorf("%s is refused:\n%s", name, said)
		case w.Runner != "" && (p != nil || len(ds) != 1 || ds[0].Line == 0 ||
			!strings.Contains(said, w.Runner) || !strings.Contains(said, "which wavex does not run; make a plan")):
			t.Errorf("%s is not refused as a file of %s:\n%s", name, w.Runner, said)
		}
	}
}

// Two marks name a runner, and one does not. A list of tasks makes the file a plan.
func TestMarksOfPipelines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ // the place and the runner; "" for none
		"name: n\nsteps:\n- {name: b, command: x, depends: [a]}\n- {name: a, command: y}\n":            "2:1 dagu",
		"steps:\n- {label: a, command: x}\n- wait\n- {label: b, command: y, branches: main}\n":         "1:1 Buildkite",
		"steps:\n- command: x\n- block: b\n":                                                           "1:1 Buildkite",
		"env: {A: b}\nsteps:\n- command: x\n- wait\n":                                                  "2:1 Buildkite",
		"pr: [main]\nstages:\n- stage: a\n  jobs: []\n":                                                "2:1 Azure Pipelines",
		"image: go\na:\n  script: [x]\n":                                                               "1:1 GitLab CI",
		`{"steps":[{"name":"gcr.io/b/docker","args":["x"]}]}`:                                          "1:2 Cloud Build",
		`{"on":"push","jobs":{"a":{"uses":"o/r/.github/workflows/w.yml@v1"}}}`:                         "1:14 GitHub Actions",
		"version: 3\ntasks:\n  a:\n    cmds: [x]\n":                                                    "2:1 Taskfile",
		"services:\n  a: {build: .}\n":                                                                 "1:1 docker compose",
		"steps:\n- command: x\n":                                                                       "",
		"steps:\n- {label: a}\n- wait\n":                                                               "",
		"a:\n  script: [x]\n":                                                                          "",
		"on: push\njobs: {}\n":                                                                         "",
		"services: [{name: a, image: b}]\n":                                                            "",
		"trigger: [main]\nstages: [a]\n":                                                               "",
		`{"spec":"x","completedSteps":[],"steps":[{"name":"a","run":"x"}]}`:                            "",
		`{"on":"push","jobs":{"a":{"uses":"x"}},"tasks":[` + ok + `]}`:                                 "",
		`{"steps":[{"label":"a","command":"x"},"wait"],"services":{"a":{"image":"b"}},"tasks":[]}`:     "",
		`{"version":"3","tasks":{"a":{"cmds":["x"]}},"jobs":{"a":{"uses":"x"}},"tasks":[` + ok + `]} `: "",
		`{"on":"push","jobs":{"a":{"uses":"x"}}`:                                                       "",
	} {
		out, _, ds := Import("p", []byte(text), plan.Options{})
		said := strings.Join(plan.Lines(ds), "\n")
		place, runner, _ := strings.Cut(want, " ")
		switch {
		case want == "" && strings.Contains(said, "does not run"):
			t.Errorf("%s is refused:\n%s", text, said)
		case want != "" && (out != nil || !strings.HasPrefix(said, "p:"+place+": ") || !strings.Contains(said, runner)):
			t.Errorf("%s: want %s, got:\n%s", text, want, said)
		}
	}
}
