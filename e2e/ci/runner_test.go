//go:build unix

package ci

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/goccy/go-yaml"

	"wavex/internal/testrepo"
)

// This file runs the steps of workflows and composite actions like an Actions runner:
// environment, conditions, outputs, and a few well-known actions.

// step is one step of a workflow or an action.
type step struct {
	ID    string            `yaml:"id"`
	Name  string            `yaml:"name"`
	If    string            `yaml:"if"`
	Uses  string            `yaml:"uses"`
	With  map[string]string `yaml:"with"`
	Env   map[string]string `yaml:"env"`
	Shell string            `yaml:"shell"`
	Run   string            `yaml:"run"`
	Dir   string            `yaml:"working-directory"`

	ContinueOnError bool `yaml:"continue-on-error"`
}

type workflow struct {
	Name        string         `yaml:"name"`
	On          any            `yaml:"on"`
	Concurrency string         `yaml:"concurrency"`
	Jobs        map[string]job `yaml:"jobs"`
}

type job struct {
	RunsOn      string            `yaml:"runs-on"`
	Timeout     int               `yaml:"timeout-minutes"`
	Permissions map[string]string `yaml:"permissions"`
	Steps       []step            `yaml:"steps"`
}

type action struct {
	Name        string            `yaml:"name"`
	Description string            `yaml:"description"`
	Branding    map[string]string `yaml:"branding"`
	Inputs      map[string]struct {
		Description string `yaml:"description"`
		Required    bool   `yaml:"required"`
		Default     string `yaml:"default"`
	} `yaml:"inputs"`
	Outputs map[string]struct {
		Description string `yaml:"description"`
		Value       string `yaml:"value"`
	} `yaml:"outputs"`
	Runs struct {
		Using string `yaml:"using"`
		Steps []step `yaml:"steps"`
	} `yaml:"runs"`
}

// read decodes a YAML file strictly: an unknown key is an error, because its effect would not be
// tested.
func read(t *testing.T, path string, into any) {
	t.Helper()
	b, err := os.ReadFile(path)
	testrepo.Must(t, err)
	if err := yaml.UnmarshalWithOptions(b, into, yaml.Strict()); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// machine is one fresh runner.
type machine struct {
	t           *testing.T
	root        string // of wavex, with the action
	server      *server
	workspace   string            // the checkout
	temp        string            // RUNNER_TEMP
	permissions map[string]string // of the job's token
	event       map[string]string // github.* and inputs.* of the event
	overlay     map[string]string // inputs of the wavex action that the test sets
	env         []string
	path        []string // GITHUB_PATH
	out         strings.Builder
	started     func(shell *os.Process) // called when a script has started; may be nil
	lost        atomic.Bool             // the machine is gone: no later step runs
}

// outcome is the result of a job.
type outcome struct {
	failed  bool
	outputs map[string]map[string]string // by step id
	log     string
}

// job runs a job's steps.
func (m *machine) job(j job) outcome {
	m.t.Helper()
	m.permissions = j.Permissions
	o := m.steps(j.Steps, func(name string) string { return m.event[name] }, m.root)
	o.log = m.out.String()
	return o
}

// steps runs steps; base returns the values of names other than those of steps.
func (m *machine) steps(steps []step, base scope, actionPath string) outcome {
	o := outcome{outputs: map[string]map[string]string{}}
	values := func(name string) string {
		if rest, ok := strings.CutPrefix(name, "steps."); ok {
			id, key, _ := strings.Cut(rest, ".outputs.")
			return o.outputs[id][key]
		}
		return base(name)
	}
	must := func(text string) string {
		v, err := expand(text, values)
		if err != nil {
			m.t.Fatal(err)
		}
		return v
	}
	for _, s := range steps {
		if m.lost.Load() {
			o.failed = true
			break
		}
		due := !o.failed
		if s.If != "" {
			v, err := eval(s.If, values)
			if err != nil {
				m.t.Fatalf("if: %s: %v", s.If, err)
			}
			// Without always() a condition holds only while nothing has failed.
			due = truthy(v) && (due || strings.Contains(s.If, "always()"))
		}
		if !due {
			continue
		}
		fmt.Fprintf(&m.out, "== %s%s\n", s.Name, s.Uses)
		env := map[string]string{}
		for k, v := range s.Env {
			env[k] = must(v)
		}
		with := map[string]string{}
		for k, v := range s.With {
			with[k] = must(v)
		}
		var ok bool
		var outputs map[string]string
		if s.Uses != "" {
			ok, outputs = m.uses(s.Uses, with)
		} else {
			ok, outputs = m.run(must(s.Run), must(s.Dir), env, actionPath)
		}
		if s.ID != "" {
			o.outputs[s.ID] = outputs
		}
		o.failed = o.failed || !ok && !s.ContinueOnError
	}
	return o
}

func (m *machine) uses(name string, with map[string]string) (ok bool, outputs map[string]string) {
	repo, _, _ := strings.Cut(name, "@")
	path := filepath.Join(m.workspace, with["path"])
	switch repo {
	case "actions/checkout":
		m.checkout(with["fetch-depth"])
	case "actions/setup-go":
	case "actions/cache/restore":
		m.restoreCache(path, with["key"], with["restore-keys"])
	case "actions/cache/save":
		m.saveCache(path, with["key"])
	case "actions/upload-artifact":
		return m.uploadArtifact(path, with["name"]), nil
	case "wavex/wavex":
		return m.wavex(with)
	default:
		m.t.Fatalf("no stand-in for the action %s", name)
	}
	return true, nil
}

// wavex runs the action of this repository.
func (m *machine) wavex(with map[string]string) (bool, map[string]string) {
	var a action
	read(m.t, filepath.Join(m.root, "action.yml"), &a)
	inputs := map[string]string{}
	for name, in := range a.Inputs {
		inputs["inputs."+name] = in.Default
		if in.Required && with[name] == "" {
			m.t.Errorf("input %s is required", name)
		}
	}
	maps.Copy(with, m.overlay)
	for name, v := range with {
		if _, known := a.Inputs[name]; !known {
			m.t.Errorf("the action has no input %s", name)
		}
		inputs["inputs."+name] = v
	}
	o := m.steps(a.Runs.Steps, func(name string) string { return inputs[name] }, m.root)
	outputs := map[string]string{}
	for name, out := range a.Outputs {
		v, err := expand(out.Value, func(n string) string {
			id, key, _ := strings.Cut(strings.TrimPrefix(n, "steps."), ".outputs.")
			return o.outputs[id][key]
		})
		if err != nil {
			m.t.Fatal(err)
		}
		outputs[name] = v
	}
	return !o.failed, outputs
}

// run runs a script as the runner does: bash with -e and pipefail.
func (m *machine) run(script, dir string, env map[string]string, actionPath string) (bool, map[string]string) {
	out, path := filepath.Join(m.temp, "output"), filepath.Join(m.temp, "path")
	for _, f := range []string{out, path} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			m.t.Fatal(err)
		}
	}
	c := exec.CommandContext(m.t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	c.Dir = filepath.Join(m.workspace, dir)
	c.Env = append(slices.Clone(m.env), "GITHUB_ACTIONS=true", "CI=true", "GITHUB_WORKSPACE="+m.workspace, "RUNNER_TEMP="+
		m.temp, "GITHUB_ACTION_PATH="+actionPath,
		"GITHUB_OUTPUT="+out, "GITHUB_PATH="+path, "GITHUB_STEP_SUMMARY="+filepath.Join(m.temp, "summary.md"),
		"PATH="+strings.Join(append(slices.Clone(m.path), os.Getenv("PATH")), string(os.PathListSeparator)))
	for k, v := range env {
		c.Env = append(c.Env, k+"="+v)
	}
	c.Stdout, c.Stderr = &m.out, &m.out
	err := c.Start()
	if err == nil {
		if m.started != nil {
			m.started(c.Process)
		}
		err = c.Wait()
	}
	if err != nil {
		fmt.Fprintln(&m.out, "==", err)
	}
	m.path = append(m.path, lines(m.t, path)...)
	outputs := map[string]string{}
	for _, l := range lines(m.t, out) {
		k, v, _ := strings.Cut(l, "=")
		outputs[k] = v
	}
	return err == nil, outputs
}

func lines(t *testing.T, path string) []string {
	b, err := os.ReadFile(path)
	testrepo.Must(t, err)
	return slices.DeleteFunc(strings.Split(string(b), "\n"), func(s string) bool { return s == "" })
}
