//go:build unix

package e2e

// This file tests runs in which one task of four is in trouble of its own: the others are completed.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/proc"
)

func TestTroubleOfOneTask(t *testing.T) {
	t.Parallel()
	shell := fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
		if r.ToolTurns() == 0 {
			return fakeapi.Use(fakeapi.Bash("echo sheep > f1.txt")).WithUsage(use)
		}
		return fakeapi.Text("I could not.").WithUsage(use)
	})
	for _, c := range []struct {
		name     string
		rules    string        // the user's permissions
		reply    fakeapi.Reply // to each request of the task
		says     string        // the CLI's own words
		outcomes string        // of the task's attempts
	}{
		{"refusal", "", fakeapi.Reply{Text: "I cannot.", Stop: "refusal"}, "new session", "refused refused"},
		{"output limit", "", fakeapi.Reply{Text: "on and on", Stop: "max_tokens"}, "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
			"refused refused"},
		{"400", "", fakeapi.Fail(400, "messages.0: bad image"), "API Error: 400 messages.0: bad image", "refused"},
		{"413", "", fakeapi.Fail(413, "too large"), "Request too large", "refused"},
		{"long prompt", "", fakeapi.Fail(400, "prompt is too long: 300000 tokens > 200000 maximum"), "Prompt is too long",
			"refused"},
		{"unknown model", "", fakeapi.Fail(404, "model: "+model), "issue with the selected model", "refused"},
		{"a deny rule", `"deny": ["Bash(echo:*)"]`, shell, "Bash is denied by the rule Bash(echo:*) in ", "denied"},
		{"a denied tool", `"deny": ["Bash"]`, shell, "Bash is denied by the rule Bash in ", "denied"},
		{"an ask rule", `"allow": ["Bash"], "ask": ["Bash(echo:*)"]`, shell, "Bash is denied by the rule Bash(echo:*) in ",
			"denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			agents := fileWriters(4)
			agents[1].Then = &c.reply
			srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: agents})
			r, env := newRepo(t, manyTasks(4, 4)), Env(t, srv)
			permitByUser(t, env, c.rules)
			e := r.wavexEnv(env, "run", "plan.json", "--output", "json").end()
			all, last := e.events(t)
			if e.exit != 4 || last.Tasks.Completed != 3 || last.Tasks.Failed != 1 {
				t.Errorf("exit %d, %+v, want 4 with three tasks completed\n%s", e.exit, last.Tasks, e.stderr)
			}
			if got := outcomesOf(t, all, "T-002"); got != c.outcomes {
				t.Errorf("T-002 ended %q, want %q", got, c.outcomes)
			}
			sessions := map[string]bool{}
			for _, m := range srv.Messages(task("T-002")) {
				sessions[m.Session()] = true
			}
			if n := len(strings.Fields(c.outcomes)); len(sessions) != n {
				t.Errorf("%d sessions for %d attempts", len(sessions), n)
			}
			for _, format := range []string{"table", "junit", "html"} {
				if e := r.wavexEnv(env, "report", "--format", format).end(); !strings.Contains(e.stdout, c.says) {
					t.Errorf("the report as %s does not say %q:\n%s", format, c.says, e.stdout)
				}
			}
		})
	}
}

// permitByUser writes the settings of the user, if there are permissions.
func permitByUser(t *testing.T, env []string, rules string) {
	t.Helper()
	if rules == "" {
		return
	}
	at := filepath.Join(proc.Getenv(env, "CLAUDE_CONFIG_DIR"), "settings.json")
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, fmt.Appendf(nil, `{"permissions": {%s}}`, rules), 0o644); err != nil {
		t.Fatal(err)
	}
}

// outcomesOf returns the outcomes of the attempts at a task.
func outcomesOf(t *testing.T, all []event, id string) string {
	t.Helper()
	var out []string
	for _, e := range all {
		var data struct {
			Task   string
			Result struct{ Outcome string }
		}
		if e.Type == "attempt_ended" {
			if err := json.Unmarshal(e.Data, &data); err != nil {
				t.Fatal(err)
			}
		}
		if data.Task == id {
			out = append(out, data.Result.Outcome)
		}
	}
	return strings.Join(out, " ")
}

// The CLI's updater moves the link and removes the old version while an attempt works. The next one has the new version.
func TestUpdateOfTheCLI(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: fileWriters(2)})
	r := newRepo(t, manyTasksPlan{n: 2, parallel: 1, model: model, chained: true, isolation: "shared"}.String())
	bin := t.TempDir()
	version := func(name, update string) string {
		path := filepath.Join(bin, name)
		script := fmt.Sprintf("#!/bin/sh\n%s\nexec %s \"$@\"\n", update, r.cli.path)
		if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link, next := filepath.Join(bin, "claude"), version("new", "")
	before := version("old", fmt.Sprintf("test -z \"$WAVEX_TASK\" || { ln -sfn %s %s; rm -f %s/old; }", next, link, bin))
	if err := os.Symlink(before, link); err != nil {
		t.Fatal(err)
	}
	r.cli.path = link
	e := r.wavex(srv, "run", "plan.json").end()
	if _, err := os.Stat(before); e.exit != 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("exit %d, the old version: %v\n%s", e.exit, err, e.stderr)
	}
}
