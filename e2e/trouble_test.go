//go:build unix

package e2e

// This file tests runs in which one task of two is in trouble of its own: the other is completed.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/fakeapi"
	"wavex/internal/jsonobject"
	"wavex/internal/testrepo"
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
			agents := fileWriters(2)
			agents[1].Then = &c.reply
			srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: agents})
			r, env := newRepo(t, manyTasks(2, 2)), Env(t, srv)
			if c.rules != "" {
				settingsOfUser(t, env, `{"permissions": {`+c.rules+`}}`)
			}
			e := r.wavexEnv(env, "run", "plan.json", "--output", "json").end()
			all, last := e.events(t)
			if e.exit != 4 || last.Tasks.Completed != 1 || last.Tasks.Failed != 1 {
				t.Errorf("exit %d, %+v, want 4 with one task completed\n%s", e.exit, last.Tasks, e.stderr)
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

// A Stop hook of the user that holds agents is named once in a run, with its file and its price.
func TestStopHookOfTheUser(t *testing.T) {
	t.Parallel()
	done := fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
		if strings.Contains(r.Users(), "Stop hook feedback:") {
			return fakeapi.Text("Still done.").WithUsage(use)
		}
		return fakeapi.Text("Done.").WithUsage(use)
	})
	for name, holds := range map[string]string{
		"by its exit code": "echo again >&2; exit 2",
		"by its decision":  `echo '{"decision": "block", "reason": "again"}'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{{Then: &done}}})
			r, env := newRepo(t, `-- plan.json --
{"name": "held", "parallel": 1, "defaults": {"model": "`+model+`"}, "tasks": [
  {"id": "a", "subject": "One"}, {"id": "b", "subject": "Two", "blockedBy": "a"}
]}
`), Env(t, srv)
			const twice = `test "$WAVEX_TASK" || exit 0
f=$HOME/$WAVEX_TASK; echo x >> $f; test $(wc -l < $f) -gt 2 || `
			hook, err := json.Marshal(twice + "{ " + holds + "; }")
			testrepo.Must(t, err)
			at := settingsOfUser(t, env, `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": `+string(hook)+`}]}]}}`)
			e := r.wavexEnv(env, "run", "plan.json", "--accept-assumptions", "--output", "json").end()
			all, _ := e.events(t)
			if n := len(srv.Messages(nil)); e.exit != 0 || n != 6 {
				t.Errorf("exit %d after %d requests, want three for each task\n%s", e.exit, n, e.stderr)
			}
			var said []string
			for _, e := range all {
				if text := jsonobject.Value(e.Data).Get("text").Text(); e.Type == "notice" && strings.Contains(text, "Stop hook") {
					said = append(said, text)
				}
			}
			for _, part := range []string{"(test \"$WAVEX_TASK\"", "in " + at + ")", " after 2 of its responses",
				" price of " + budget.USD(2*7_650).Spent() + ":", "WAVEX_TASK is set"} {
				if len(said) != 1 || !strings.Contains(said[0], part) {
					t.Errorf("not said once %q: %q", part, said)
				}
			}
		})
	}
}

// settingsOfUser writes the settings of the user and returns their path.
func settingsOfUser(t *testing.T, env []string, text string) string {
	t.Helper()
	at := filepath.Join(configDir(env), "settings.json")
	testrepo.Must(t, os.MkdirAll(filepath.Dir(at), 0o755))
	testrepo.Must(t, os.WriteFile(at, []byte(text), 0o644))
	return at
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
			testrepo.Must(t, json.Unmarshal(e.Data, &data))
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
		testrepo.Must(t, os.WriteFile(path, []byte(script), 0o755))
		return path
	}
	link, next := filepath.Join(bin, "claude"), version("new", "")
	before := version("old", fmt.Sprintf("test -z \"$WAVEX_TASK\" || { ln -sfn %s %s; rm -f %s/old; }", next, link, bin))
	testrepo.Must(t, os.Symlink(before, link))
	r.cli.path = link
	e := r.wavex(srv, "run", "plan.json").end()
	if _, err := os.Stat(before); e.exit != 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("exit %d, the old version: %v\n%s", e.exit, err, e.stderr)
	}
}
