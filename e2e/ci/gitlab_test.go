//go:build unix

package ci

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/jsonobject"
)

// This file runs the example for GitLab as a runner does.

// pipeline is the job of the example. Its scripts are passed to a shell, so the image's own entrypoint must be empty.
type pipeline struct {
	Image struct {
		Name       string   `yaml:"name"`
		Entrypoint []string `yaml:"entrypoint"`
	} `yaml:"image"`
	ResourceGroup string              `yaml:"resource_group"`
	Rules         []map[string]string `yaml:"rules"`
	Variables     map[string]string   `yaml:"variables"`
	BeforeScript  []string            `yaml:"before_script"`
	Script        []string            `yaml:"script"`
	AfterScript   []string            `yaml:"after_script"`
	AllowFailure  struct {
		Codes []int `yaml:"exit_codes"`
	} `yaml:"allow_failure"`
	Cache struct {
		Key   string   `yaml:"key"`
		Paths []string `yaml:"paths"`
		When  string   `yaml:"when"`
	} `yaml:"cache"`
	Artifacts struct {
		When    string            `yaml:"when"`
		Paths   []string          `yaml:"paths"`
		Reports map[string]string `yaml:"reports"`
	} `yaml:"artifacts"`
}

// runPipeline runs a job: a detached checkout, the cache, the scripts, the cache again. GitLab replaces a cache.
func (m *machine) runPipeline(j pipeline, variables map[string]string) {
	m.checkout(j.Variables["GIT_DEPTH"])
	m.server.git(m.workspace, "checkout", "-q", "--detach")
	cache := filepath.Join(m.server.dir, "gitlab-cache", j.Cache.Key)
	if _, err := os.Stat(cache); err == nil {
		m.copy(cache, m.workspace)
	}
	install := `go build -C "$GITHUB_ACTION_PATH" -o "$RUNNER_TEMP/wavex-bin/" ./cmd/wavex
		echo "$RUNNER_TEMP/wavex-bin" >> "$GITHUB_PATH"`
	if ok, _ := m.run(install, "", nil, m.root); !ok {
		m.t.Fatal(m.out.String())
	}
	all := maps.Clone(j.Variables)
	maps.Copy(all, variables)
	_, _ = m.run(strings.Join(slices.Concat(j.BeforeScript, j.Script), "\n"), "", all, m.root)
	_, _ = m.run(strings.Join(j.AfterScript, "\n"), "", all, m.root)
	if err := os.RemoveAll(cache); err != nil {
		m.t.Fatal(err)
	}
	for _, path := range j.Cache.Paths {
		if from := filepath.Join(m.workspace, path); exists(from) {
			m.copy(from, filepath.Join(cache, path))
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestGitLab runs the pipeline with its own variables: paused, killed, complete, and no work on the next
// schedule, instead of the same run again.
func TestGitLab(t *testing.T) {
	t.Parallel()
	p := newCIFixture(t, chainText, writesText)
	var doc map[string]pipeline
	read(t, filepath.Join(p.root, "examples", "ci", "gitlab.yml"), &doc)
	job := doc["wavex"]
	if fmt.Sprint(job.AllowFailure.Codes) != "[3 6]" || job.Cache.When != "always" || len(job.Image.Entrypoint) != 1 ||
		job.Image.Entrypoint[0] != "" {
		t.Fatalf("%+v", job)
	}
	for _, c := range []struct{ source, args, status, says, pushed string }{
		{"web", "--scenario scenario.json --max-iterations 1 --allow-short", "paused", "/$5 ", "one"},
		{"schedule", "--scenario " + p.scenario(slow("C")) + " --max-iterations +9", "killed", "/$5 ", "one, two"},
		{"schedule", "--scenario scenario.json", "complete", "/$5 ", "one, two, three, four"},
		{"schedule", "", "", "there is nothing to continue", "one, two, three, four"},
	} {
		m := p.newMachine(nil, nil)
		wait := func() {}
		if c.status == "killed" {
			p.server.onPush(refuse)
			wait = m.when(begun("C"), func(*os.Process) {
				p.server.onPush("")
				m.killWavex()
			})
		}
		m.runPipeline(job, map[string]string{"CI_PIPELINE_SOURCE": c.source, "WAVEX_ARGS": "--agent rehearse " + c.args})
		wait()
		if !strings.Contains(m.out.String(), c.says) {
			t.Errorf("it does not say %q:\n%s", c.says, m.out.String())
		}
		if got := p.server.pushed(); got != c.pushed {
			t.Errorf("pushed %q, want %q\n%s", got, c.pushed, m.out.String())
		}
		if began := exists(filepath.Join(m.workspace, "wavex-reports")); began != (c.status != "") {
			t.Errorf("a run was begun: %t\n%s", began, m.out.String())
		}
		if c.status == "" || c.status == "killed" {
			continue
		}
		report, err := os.ReadFile(filepath.Join(m.workspace, "wavex-reports", "run.json"))
		if err != nil {
			t.Fatal(err, m.out.String())
		}
		if got := jsonobject.Value(report).Get("status").Text(); got != c.status {
			t.Errorf("%s, want %s\n%s", got, c.status, m.out.String())
		}
		if !exists(filepath.Join(m.workspace, job.Artifacts.Reports["junit"])) {
			t.Error("there is no JUnit report")
		}
	}
}
