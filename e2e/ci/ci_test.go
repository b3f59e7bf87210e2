//go:build unix

package ci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"wavex/e2e/rig"
	"wavex/internal/testrepo"
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

// installed is the folder in which every machine installs wavex. The step that installs it runs on
// each of them; go build links a program only if the one in the folder is another.
var installed string

func TestMain(m *testing.M) {
	if rig.OnlyLists() {
		os.Exit(m.Run())
	}
	code, err := withInstalled(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "ci:", err)
		code = 1
	}
	os.Exit(code)
}

// withInstalled installs wavex, so that no two machines link it at once, and calls run.
func withInstalled(run func() int) (int, error) {
	path, clean, err := rig.Wavex(context.Background())
	if err != nil {
		return 0, err
	}
	defer clean()
	installed = filepath.Dir(path)
	return run(), nil
}

// ciFixture is a server with a repository, and the example for GitHub.
type ciFixture struct {
	t      *testing.T
	root   string
	server *server
	github job
}

func newCIFixture(t *testing.T, plan, scenario string) *ciFixture {
	root, err := filepath.Abs("../..")
	testrepo.Must(t, err)
	p := &ciFixture{t: t, root: root, server: newServer(t, map[string]string{"plan.json": plan,
		"scenario.json": scenario, ".gitignore": ".loop\nwavex-reports\n"})}
	var w workflow
	read(t, filepath.Join(root, "examples", "ci", "github.yml"), &w)
	p.github = w.Jobs["run"]
	return p
}

// newMachine returns a fresh machine. Its checkout is at the same path as on the one before, which is gone.
func (p *ciFixture) newMachine(event, overlay map[string]string) *machine {
	workspace := filepath.Join(p.server.dir, "work")
	if err := errors.Join(os.RemoveAll(workspace), os.Mkdir(workspace, 0o700)); err != nil {
		p.t.Fatal(err)
	}
	temp := p.t.TempDir()
	if err := os.Symlink(installed, filepath.Join(temp, "wavex-bin")); err != nil {
		p.t.Fatal(err)
	}
	m := &machine{t: p.t, root: p.root, server: p.server, workspace: workspace, temp: temp, event: event,
		overlay: overlay, permissions: p.github.Permissions, env: []string{"GIT_CONFIG_GLOBAL=" + os.DevNull}}
	for _, name := range []string{"HOME", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPATH", "GOPROXY", "GOTOOLCHAIN",
		"GONOSUMDB", "GOSUMDB"} {
		if v, ok := os.LookupEnv(name); ok {
			m.env = append(m.env, name+"="+v)
		}
	}
	return m
}

// scenario returns the path of a file with a scenario.
func (p *ciFixture) scenario(text string) string {
	path := filepath.Join(p.t.TempDir(), "scenario.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// byHand and hourly return the events that start the workflow; run is the number of the workflow's run.
func byHand(run string) map[string]string {
	return map[string]string{"github.event_name": "workflow_dispatch", "inputs.budget": "5", "github.ref_name": "main",
		"github.run_id": run, "github.run_attempt": "1"}
}

func hourly(run string) map[string]string {
	return map[string]string{"github.event_name": "schedule", "github.ref_name": "main", "github.run_id": run,
		"github.run_attempt": "1"}
}

// rehearsed returns inputs for a rehearsal. The arguments of the example stay, and those of more-args follow.
func (p *ciFixture) rehearsed(kv ...string) map[string]string {
	args := ""
	for _, s := range p.github.Steps {
		args += s.With["args"]
	}
	all := map[string]string{"agent": "rehearse", "args": args + " --scenario scenario.json --counsel off --review off"}
	for i := 0; i < len(kv); i += 2 {
		if kv[i] == "more-args" {
			all["args"] += " " + kv[i+1]
			continue
		}
		all[kv[i]] = kv[i+1]
	}
	return all
}

// TestGitHub: fail, pause at the limit, resume on a fresh checkout with only the saved .loop,
// complete, and then find no more work.
func TestGitHub(t *testing.T) {
	t.Parallel()
	p := newCIFixture(t, planText, scenarioText)
	for i, c := range []struct {
		name           string
		event, overlay map[string]string
		failed         bool
		outputs        map[string]string
		says           string
		pushed         string
	}{
		{"fails", byHand("1"), p.rehearsed(), true, map[string]string{"status": "failed", "exit-code": "1",
			"completed": "1", "failed": "1"}, "::error file=plan.json,title=B failed (wrong)", "works"},
		{"waits for a person", hourly("2"), p.rehearsed(), false, map[string]string{"status": "idle"},
			"there is nothing to continue without a person", "works"},
		{"pauses at the limit", byHand("3"), p.rehearsed("max-iterations", "3", "more-args", "--max-retries 1"), false,
			map[string]string{"status": "paused", "exit-code": "3", "completed": "2", "failed": "0"},
			"::warning title=wavex%3A paused::", "works, works the second time"},
		{"completes", hourly("4"), p.rehearsed("max-iterations", "+5"), false,
			map[string]string{"status": "complete", "exit-code": "0", "completed": "3", "failed": "0", "resume-at": ""},
			"wavex is complete", "works, works the second time, works too"},
		{"has nothing to do", hourly("5"), p.rehearsed(), false, map[string]string{"status": "idle"},
			"there is nothing to continue", "works, works the second time, works too"},
	} {
		o := p.newMachine(c.event, c.overlay).job(p.github)
		if o.failed != c.failed || !strings.Contains(o.log, c.says) {
			t.Fatalf("%s: failed %t, want %t, and to read %q:\n%s", c.name, o.failed, c.failed, c.says, o.log)
		}
		got := o.outputs["wavex"]
		for k, v := range c.outputs {
			if got[k] != v {
				t.Errorf("%s: output %s is %q, want %q\n%s", c.name, k, got[k], v, o.log)
			}
		}
		if cost, err := strconv.ParseFloat(got["cost-usd"], 64); got["status"] != "idle" && (err != nil || cost <= 0) {
			t.Errorf("%s: cost %q", c.name, got["cost-usd"])
		}
		if got := p.server.pushed(); got != c.pushed {
			t.Errorf("%s: pushed %q, want %q\n%s", c.name, got, c.pushed, o.log)
		}
		_, err := os.Stat(filepath.Join(p.server.dir, "artifacts", strconv.Itoa(i+1), "wavex-1", "junit.xml"))
		if (err == nil) != (got["status"] != "idle") {
			t.Errorf("%s: the report: %v", c.name, err)
		}
	}
}

// TestFailOnPause: with this input a pause fails the step.
func TestFailOnPause(t *testing.T) {
	t.Parallel()
	p := newCIFixture(t, planText, scenarioText)
	m := p.newMachine(nil, nil)
	m.checkout("0")
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
	p := newCIFixture(t, `{"tasks": [{"id": "a", "subject": "A", "verify": ["true"], "rehearse": {"duration": "10m"}}]}`,
		"{}")
	m := p.newMachine(nil, nil)
	m.checkout("0")
	watch := m.when(begun("a"), func(shell *os.Process) { _ = shell.Signal(syscall.SIGINT) }) // it may have ended
	ok, outputs := m.wavex(map[string]string{"plan": "plan.json", "agent": "rehearse"})
	watch()
	if ok || outputs["exit-code"] != "143" || outputs["status"] != "interrupted" {
		t.Errorf("ok %t, %v\n%s", ok, outputs, m.out.String())
	}
	if _, err := os.Stat(filepath.Join(m.workspace, "wavex-reports", "junit.xml")); err != nil {
		t.Error(err)
	}
}
