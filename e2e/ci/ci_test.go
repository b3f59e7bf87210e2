//go:build unix

package ci

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/tidwall/gjson"

	"wavex/e2e/rig"
	"wavex/internal/loop"
)

const planText = `{"version": 1, "name": "nightly", "defaults": {"maxRetries": 0}, "tasks": [
  {"id": "A", "subject": "works", "files": ["a.txt"], "verify": ["test -s a.txt"]},
  {"id": "B", "subject": "works the second time", "blockedBy": ["A"], "files": ["b.txt"], "verify": ["test -s b.txt"]},
  {"id": "C", "subject": "works too", "blockedBy": ["B"], "files": ["c.txt"], "verify": ["test -s c.txt"]}
]}`

const scenarioText = `{"tasks": {
  "A": {"writes": [{"path": "a.txt", "content": "a"}]},
  "B": {"attempts": [{"outcome": "fail"}, {"writes": [{"path": "b.txt", "content": "b"}]}]},
  "C": {"writes": [{"path": "c.txt", "content": "c"}]}
}}`

// ciFixture holds the folders that outlive the machines of one test.
type ciFixture struct {
	t       *testing.T
	root    string
	project string
	cache   string
}

func newCIFixture(t *testing.T) *ciFixture {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	p := &ciFixture{t: t, root: root, project: t.TempDir(), cache: t.TempDir()}
	for name, text := range map[string]string{"plan.json": planText, "scenario.json": scenarioText} {
		if err := os.WriteFile(filepath.Join(p.project, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// newMachine returns a fresh machine, at another path than the one before.
func (p *ciFixture) newMachine(event, overlay map[string]string) *machine {
	m := &machine{t: p.t, root: p.root, workspace: p.t.TempDir(), temp: p.t.TempDir(), cache: p.cache, project: p.project,
		event: event, overlay: overlay}
	for _, name := range []string{"HOME", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPATH", "GOPROXY", "GOTOOLCHAIN",
		"GONOSUMDB", "GOSUMDB"} {
		if v, ok := os.LookupEnv(name); ok {
			m.env = append(m.env, name+"="+v)
		}
	}
	return m
}

// push copies the files that tasks wrote into the repository, as the work of a real run is there
// when the next job starts.
func (p *ciFixture) push(m *machine, names ...string) {
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(m.workspace, name))
		if err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(p.project, name), b, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}

// TestGitHub: fail, pause at the limit, resume on a fresh checkout with only the saved .loop,
// complete, and then find no more work.
func TestGitHub(t *testing.T) {
	t.Parallel()
	var w workflow
	p := newCIFixture(t)
	read(t, filepath.Join(p.root, "examples", "ci", "github.yml"), &w)
	steps := w.Jobs["run"].Steps
	dispatch := map[string]string{"github.event_name": "workflow_dispatch", "inputs.budget": "5",
		"github.ref_name": "main", "github.run_id": "1"}
	hourly := map[string]string{"github.event_name": "schedule", "github.ref_name": "main", "github.run_id": "2"}
	with := func(kv ...string) map[string]string {
		all := map[string]string{"agent": "rehearse", "args": "--scenario scenario.json --counsel off"}
		for i := 0; i < len(kv); i += 2 {
			all[kv[i]] = kv[i+1]
		}
		return all
	}
	for _, c := range []struct {
		name           string
		event, overlay map[string]string
		failed         bool
		outputs        map[string]string
		says           string
		made           []string
	}{
		{"fails", dispatch, with(), true, map[string]string{"status": "failed", "exit-code": "1", "completed": "1",
			"failed": "1"}, "::error file=plan.json,title=B failed (wrong)", []string{"a.txt"}},
		{"waits for a person", hourly, with(), false, map[string]string{"status": "idle"},
			"there is nothing to continue without a person", nil},
		{"pauses at the limit", dispatch, with("max-iterations", "3"), false, map[string]string{"status": "paused",
			"exit-code": "3", "completed": "2", "failed": "0"}, "::warning title=wavex%3A paused::", []string{"b.txt"}},
		{"completes", hourly, with("max-iterations", "+5"), false, map[string]string{"status": "complete", "exit-code": "0",
			"completed": "3", "failed": "0", "resume-at": ""}, "wavex is complete", []string{"c.txt"}},
		{"has nothing to do", hourly, with(), false, map[string]string{"status": "idle"}, "there is nothing to continue",
			nil},
	} {
		m := p.newMachine(c.event, c.overlay)
		o := m.job(steps)
		if o.failed != c.failed || !strings.Contains(o.log, c.says) {
			t.Fatalf("%s: failed %t, want %t, and to read %q:\n%s", c.name, o.failed, c.failed, c.says, o.log)
		}
		got := o.outputs["wavex"]
		for k, v := range c.outputs {
			if got[k] != v {
				t.Errorf("%s: output %s is %q, want %q\n%s", c.name, k, got[k], v, o.log)
			}
		}
		if cost, err := strconv.ParseFloat(got["cost-usd"], 64); c.made != nil && (err != nil || cost <= 0) {
			t.Errorf("%s: cost %q", c.name, got["cost-usd"])
		}
		p.push(m, c.made...)
	}
	if _, err := os.Stat(filepath.Join(p.cache, "artifact-wavex", "junit.xml")); err != nil {
		t.Error(err)
	}
}

// TestFailOnPause: with this input a pause fails the step.
func TestFailOnPause(t *testing.T) {
	t.Parallel()
	p := newCIFixture(t)
	m := p.newMachine(nil, nil)
	m.copy(p.project, m.workspace)
	with := map[string]string{"plan": "plan.json", "agent": "rehearse", "max-iterations": "1",
		"args": "--scenario scenario.json --allow-short", "fail-on-pause": "true"}
	ok, outputs := m.wavex(with)
	if ok || outputs["exit-code"] != "3" || outputs["status"] != "paused" {
		t.Errorf("ok %t, %v\n%s", ok, outputs, m.out.String())
	}
}

// GitHub's runner signals the shell of a step, and no other process. The run ends at once, with its
// reports.
func TestSignalledShell(t *testing.T) {
	t.Parallel()
	p := newCIFixture(t)
	m := p.newMachine(nil, nil)
	m.copy(p.project, m.workspace)
	plan := `{"tasks": [{"id": "a", "subject": "A", "verify": ["true"], "rehearse": {"duration": "10m"}}]}`
	if err := os.WriteFile(filepath.Join(m.workspace, "slow.json"), []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	var watch sync.WaitGroup
	m.started = func(shell *os.Process) {
		watch.Go(func() {
			begun := func() bool {
				text, _ := os.ReadFile(loop.In(m.workspace).Path(loop.Journal))
				return bytes.Contains(text, []byte(`"attempt_started"`)) || shell.Signal(syscall.Signal(0)) != nil
			}
			if rig.Until(t.Context(), begun) {
				_ = shell.Signal(syscall.SIGINT) // it may have ended
			}
		})
	}
	with := map[string]string{"plan": "slow.json", "agent": "rehearse"}
	ok, outputs := m.wavex(with)
	watch.Wait()
	if ok || outputs["exit-code"] != "143" || outputs["status"] != "interrupted" {
		t.Errorf("ok %t, %v\n%s", ok, outputs, m.out.String())
	}
	if _, err := os.Stat(filepath.Join(m.workspace, "wavex-reports", "junit.xml")); err != nil {
		t.Error(err)
	}
}

// TestGitLab runs the pipeline's script with its own variables: paused, complete, and no work on
// the next schedule, instead of the same run again.
func TestGitLab(t *testing.T) {
	t.Parallel()
	var doc map[string]struct {
		Image struct {
			Entrypoint []string `yaml:"entrypoint"`
		} `yaml:"image"`
		Variables    map[string]string `yaml:"variables"`
		Script       []string          `yaml:"script"`
		AllowFailure struct {
			Codes []int `yaml:"exit_codes"`
		} `yaml:"allow_failure"`
		Cache struct {
			Paths []string `yaml:"paths"`
		} `yaml:"cache"`
		Artifacts struct {
			Reports map[string]string `yaml:"reports"`
		} `yaml:"artifacts"`
	}
	p := newCIFixture(t)
	b, err := os.ReadFile(filepath.Join(p.root, "examples", "ci", "gitlab.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	job := doc["wavex"]
	if len(job.AllowFailure.Codes) != 2 || job.AllowFailure.Codes[0] != 3 || job.AllowFailure.Codes[1] != 6 ||
		len(job.Cache.Paths) != 1 || len(job.Script) == 0 ||
		len(job.Image.Entrypoint) != 1 || job.Image.Entrypoint[0] != "" { // a runner passes its script to a shell, which the image's own entrypoint would take for a command

		t.Fatalf("%+v", job)
	}
	for _, c := range []struct{ source, args, status, made, says string }{
		{"web", "--agent rehearse --scenario scenario.json --max-iterations 1 --allow-short", "paused", "a.txt", "/$5 "},
		{"schedule", "--agent rehearse --scenario scenario.json --counsel off --max-retries 1 --max-iterations +9",
			"complete", "", "/$5 "},
		{"schedule", "--agent rehearse", "", "", "there is nothing to continue"},
	} {
		job.Variables["CI_PIPELINE_SOURCE"] = c.source
		m := p.newMachine(nil, nil)
		m.copy(p.project, m.workspace)
		if saved := loop.In(p.cache); c.source == "schedule" {
			m.copy(string(saved), string(loop.In(m.workspace)))
		}
		if ok, _ := m.run(`go build -C "$GITHUB_ACTION_PATH" -o "$RUNNER_TEMP/" ./cmd/wavex; echo "$RUNNER_TEMP" >> "$GITHUB_PATH"`, "", nil, m.root); !ok {
			t.Fatal(m.out.String())
		}
		job.Variables["WAVEX_ARGS"] = c.args
		_, _ = m.run(strings.Join(job.Script, "\n"), "", job.Variables, m.root)
		if !strings.Contains(m.out.String(), c.says) {
			t.Errorf("it does not say %q:\n%s", c.says, m.out.String())
		}
		if c.status == "" {
			if _, err := os.Stat(filepath.Join(m.workspace, "wavex-reports")); err == nil {
				t.Errorf("a run was begun:\n%s", m.out.String())
			}
			continue
		}
		report, err := os.ReadFile(filepath.Join(m.workspace, "wavex-reports", "run.json"))
		if err != nil {
			t.Fatal(err, m.out.String())
		}
		if got := gjson.GetBytes(report, "status").Str; got != c.status {
			t.Errorf("%s, want %s\n%s", got, c.status, m.out.String())
		}
		if _, err := os.Stat(filepath.Join(m.workspace, job.Artifacts.Reports["junit"])); err != nil {
			t.Error(err)
		}
		m.keep(string(loop.In(m.workspace)), string(loop.In(p.cache)))
		if c.made != "" {
			p.push(m, c.made)
		}
	}
}
