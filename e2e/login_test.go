//go:build unix

package e2e

// This file tests that a run without a login is refused before it starts a process. Only the CLI
// knows all kinds of login, so these tests use the real one.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

const onePlan = `
-- plan.json --
{"version": 1, "defaults": {"model": "` + model +
	`"}, "tasks": [{"id": "a", "subject": "Do it", "verify": [{"file": "a"}]}]}
`

// writesA returns an agent that does the task of onePlan, times times.
func writesA(times int) *fakeapi.Agent {
	once := []fakeapi.Reply{fakeapi.Use(fakeapi.Write("a", "done")).WithUsage(use), report("true")}
	return &fakeapi.Agent{Name: "a", When: task("a"), Steps: slices.Repeat(once, times)}
}

// anonymous returns an environment of Env without its API key.
func anonymous(t *testing.T, srv *fakeapi.Server, more ...string) []string {
	t.Helper()
	return append(slices.DeleteFunc(Env(t, srv),
		func(kv string) bool { return strings.HasPrefix(kv, "ANTHROPIC_API_KEY=") }), more...)
}

func TestRunWithoutLogin(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{})
	r := newRepo(t, onePlan)
	e := r.wavexEnv(anonymous(t, srv), "run", "plan.json", "--plain").end()
	if e.exit != 5 || !strings.Contains(e.stderr,
		"the claude CLI is not logged in: log in with `claude auth login`, or set ANTHROPIC_API_KEY\n") {
		t.Errorf("exit %d\n%s", e.exit, e.stderr)
	}
	if n := len(srv.Messages(nil)); n > 0 {
		t.Errorf("%d requests were made", n)
	}
	if _, err := os.Stat(string(loop.In(r.dir))); err == nil {
		t.Error("a .loop was made")
	}
}

// Logins that wavex does not see by itself: the CLI reports that they exist.
func TestRunWithUnseenLogin(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"helper of the user":    ".claude/settings.json",
		"helper of the project": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{writesA(1)}})
			env, r := anonymous(t, srv), newRepo(t, onePlan)
			const helper = `{"apiKeyHelper": "echo anything"}`
			if file == "" {
				r.write(".claude/settings.json", helper)
			} else if err := os.MkdirAll(configDir(env), 0o755); err != nil {
				t.Fatal(err)
			} else if err := os.WriteFile(filepath.Join(configDir(env), "settings.json"), []byte(helper), 0o600); err != nil {
				t.Fatal(err)
			}
			if e := r.wavexEnv(env, "run", "plan.json", "--plain").end(); e.exit != 0 {
				t.Errorf("exit %d\n%s", e.exit, e.stderr)
			}
		})
	}
}

// The programs with which version managers replace the CLI start it, and work like it.
func TestShims(t *testing.T) {
	t.Parallel()
	for name, shim := range map[string]string{
		"npm":  "#!/bin/sh\nbasedir=$(dirname \"$(echo \"$0\" | sed -e 's,\\\\,/,g')\")\nexec \"$basedir/real\" \"$@\"\n",
		"asdf": "#!/usr/bin/env bash\n# asdf-plugin: claude\nexec asdf exec \"claude\" \"$@\"\n",
		"mise": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{writesA(1)}})
			r, bin := newRepo(t, onePlan), t.TempDir()
			path := filepath.Join(bin, "claude")
			testrepo.Must(t, os.Symlink(shared.cli.path, filepath.Join(bin, "real")))
			manager := "#!/bin/sh\ncase \"$0\" in *asdf) shift 2 ;; *claude) ;; *) exit 64 ;; esac\nexec '" + shared.cli.path +
				"' \"$@\"\n"
			for file, text := range map[string]string{path: shim, filepath.Join(bin, "asdf"): manager,
				filepath.Join(bin, "mise"): manager} {
				if text == "" { // mise: a link to the manager, which acts by the name of the link
					testrepo.Must(t, os.Symlink("mise", file))
				} else if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			env := Env(t, srv, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "WAVEX_CLAUDE="+path)
			if e := r.wavexEnv(env, "run", "plan.json", "--plain").end(); e.exit != 0 {
				t.Errorf("exit %d\n%s", e.exit, e.stderr)
			}
		})
	}
}
