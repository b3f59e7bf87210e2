//go:build unix

package e2e

// This file tests the statements about the CLI that wavex depends on: the built-in verdicts equal
// the results of probing the real CLI, and a run tells which one a wrapper breaks.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/claude/statement"
	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

// probedStatement is one statement in the output of `wavex doctor --probe --output json`.
type probedStatement struct {
	ID            statement.ID
	Verdict, Seen string
}

// proves probes the CLI of the repository. The scripted API answers doctor's one question.
func (r repo) proves(srv *fakeapi.Server, env []string) []probedStatement {
	r.t.Helper()
	e := r.wavexEnv(env, "doctor", "plan.json", "--probe", "--output", "json").end()
	e.checkProbe(r.t, srv)
	var d struct{ Statements []probedStatement }
	if err := json.Unmarshal([]byte(e.stdout), &d); err != nil || len(d.Statements) != len(statement.All()) {
		r.t.Fatalf("exit %d, %v\n%s%s", e.exit, err, e.stdout, e.stderr)
	}
	return d.Statements
}

func TestBuiltInSupport(t *testing.T) {
	t.Parallel()
	eachCLI(t, builtInSupport)
}

func builtInSupport(t *testing.T, c cli) {
	srv := serve(t, fakeapi.Text("ready").WithUsage(use))
	env := Env(t, srv)
	tmp := lastOf(env, "TMPDIR")
	seen := newRepo(t, manyTasks(1, 1)).on(c).proves(srv, env)
	want := c.verdicts()
	for _, s := range seen {
		if s.Verdict != want[s.ID].String() {
			t.Errorf("%s: a probe says it %s (%s), built in is that it %s", s.ID, s.Verdict, s.Seen, want[s.ID])
		}
	}
	if left, err := os.ReadDir(tmp); err != nil ||
		slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "wavex-") }) {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
}

func lastOf(env []string, name string) (value string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// wrapper returns a script that starts the CLI of the repository: body has "$@" as its arguments
// and CLI for the program.
func (r repo) wrapper(body string) cli {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "claude")
	script := "#!/bin/sh\n" + strings.ReplaceAll(body, "CLI", "'"+r.cli.path+"'") + "\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		r.t.Fatal(err)
	}
	return cli{name: "wrapper", path: path, version: r.cli.version}
}

// A CLI in bare mode is refused by its probe, before a run pays for a turn.
func TestBareModeIsProbed(t *testing.T) {
	t.Parallel()
	eachCLI(t, func(t *testing.T, c cli) {
		srv := serve(t, fakeapi.Text("ready").WithUsage(use)) // to doctor
		r := newRepo(t, manyTasks(1, 1)).on(c)
		r = r.on(r.wrapper(`exec CLI --bare "$@"`))
		env := Env(t, srv)
		for _, args := range [][]string{{"doctor", "plan.json", "--probe"}, {"run", "plan.json"}} {
			e := r.wavexEnv(env, args...).end()
			said := e.stdout + e.stderr
			if e.exit != 5 || len(srv.Messages(nil)) > 1 || !strings.Contains(said, "leave out --bare") {
				t.Errorf("%s: exit %d\n%s", args, e.exit, said)
			}
		}
	})
}

// A wrapper that changes nothing works like its program. Its verdicts are kept, also where the user's API refuses
// doctor's question, and a run uses them.
func TestWrapperIsProbedOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t, manyTasks(1, 1))
	r = r.on(r.wrapper(`exec CLI "$@"`))
	no := fakeapi.Fail(401, "invalid x-api-key")
	refusing := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{Then: &no}}})
	env := Env(t, refusing)
	e := r.wavexEnv(env, "doctor", "--probe", "--output", "json").end()
	if d, probe := e.doctor(t); e.exit != 5 || d.OK || !strings.HasPrefix(probe, "fail ") {
		t.Errorf("exit %d, %q\n%s", e.exit, probe, e.stderr)
	}
	var d struct{ Statements []probedStatement }
	if err := json.Unmarshal([]byte(e.stdout), &d); err != nil || len(d.Statements) != len(statement.All()) {
		t.Errorf("%v\n%s", err, e.stdout)
	}
	kept, err := filepath.Glob(filepath.Join(lastOf(env, "HOME"), ".cache", "wavex", "claude", "*"))
	if err != nil || len(kept) != 2 { // the verdicts, and the digest of the file
		t.Fatal(kept, err)
	}
	before := contents(t, kept)
	e = r.wavexEnv(env, "doctor").end()
	if e.exit != 0 || !strings.Contains(e.stdout, fmt.Sprintf("of %d statements", len(statement.All()))) {
		t.Errorf("exit %d\n%s%s", e.exit, e.stdout, e.stderr)
	}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: fileWriters(1)})
	e = r.wavexEnv(append(env, "ANTHROPIC_BASE_URL="+srv.URL()), "run", "plan.json", "--output", "json").end()
	_, last := e.events(t)
	if e.exit != 0 || budget.FromFloat(last.CostUSD) != srv.Charged() || srv.Charged() == 0 {
		t.Errorf("exit %d, cost $%g, the API charged %s\n%s", e.exit, last.CostUSD, srv.Charged(), e.stderr)
	}
	if contents(t, kept) != before {
		t.Error("the wrapper is probed again")
	}
}

// A run names the statement that its CLI breaks, and takes the fallback.
func TestBrokenStatementIsNamed(t *testing.T) {
	t.Parallel()
	r := newRepo(t, manyTasks(1, 1))
	r = r.on(r.wrapper(`CLI "$@" | grep --line-buffered -v '"message_delta"'`))
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: fileWriters(1)})
	e := r.wavexEnv(Env(t, srv), "run", "plan.json", "--output", "json").end()
	checkOutput(t, e, "wavex: warning: claude ", string(statement.PartialUsage), "wavex does without")
	_, last := e.events(t)
	if e.exit != 0 || budget.FromFloat(last.CostUSD) != srv.Charged() || srv.Charged() == 0 {
		t.Errorf("exit %d, cost $%g, the API charged %s\n%s", e.exit, last.CostUSD, srv.Charged(), e.stderr)
	}
}

func contents(t *testing.T, paths []string) string {
	t.Helper()
	var all strings.Builder
	for _, p := range paths {
		data, err := os.ReadFile(p)
		testrepo.Must(t, err)
		all.Write(data)
	}
	return all.String()
}
