//go:build unix

package e2e

// This file tests the tools of wavex in the real CLI, which starts the server of the plugin.

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/jsonobject"
	"wavex/internal/testrepo"
)

// A session checks a plan, rehearses it, follows it, answers its question, reads a log, and cancels a run. A run goes
// on when the session ends.
func TestMCP(t *testing.T) {
	t.Parallel()
	plugin, err := filepath.Abs("../plugin")
	testrepo.Must(t, err)
	r := newRepo(t, `-- plan.json --
{"name": "hello", "isolation": "shared", "defaults": {"policy": {"ask": "touch"}}, "tasks": [
  {"id": "T-000", "subject": "Wait for the client",
   "command": "until ls .loop/runs/*/questions/watchers; do sleep 0.1; done"},
  {"id": "T-001", "subject": "Say hello", "blockedBy": "T-000", "files": ["hello"],
   "verify": ["test -f hello", "test -f asked"],
   "rehearse": {"duration": "0s", "runs": ["touch asked"], "writes": [{"path": "hello", "content": "hello\n"}],
    "report": "I said hello."}}]}
-- slow.json --
{"name": "slow", "tasks": [{"id": "T-001", "subject": "Wait", "command": "until test -e go; do sleep 0.1; done"}]}
`)
	const prefix = "mcp__plugin_wavex_wavex__"
	use := func(tool string, input map[string]any) fakeapi.Reply {
		return fakeapi.Use(fakeapi.Tool{Name: prefix + tool, Input: input})
	}
	slow := map[string]any{"plan": "slow.json", "agent": "rehearse"}
	srv := fakeapi.New(t, fakeapi.Script{Agents: []*fakeapi.Agent{{When: fakeapi.Prompt("Rehearse it."),
		Steps: []fakeapi.Reply{
			use("check", map[string]any{"plan": "plan.json"}),
			use("run", map[string]any{"plan": "plan.json", "agent": "rehearse"}),
			use("status", map[string]any{"wait_seconds": 900}),
			use("answer", map[string]any{"id": "q1", "answer": "once"}),
			use("status", map[string]any{"wait_seconds": 900}),
			use("logs", map[string]any{"task": "T-001"}),
			use("run", slow), use("cancel", map[string]any{}), use("run", slow),
			fakeapi.Text("It is under way."),
		}}}})
	e := call(t, srv, setup{stdin: "Rehearse it.", dir: r.dir, env: withWavex(t, srv),
		args: []string{"--plugin-dir", plugin, "--allowedTools", strings.TrimSuffix(prefix, "__")}})
	if got := e.result(t); e.exit != 0 || got.Result != "It is under way." {
		t.Fatalf("exit %d, result %q\n%s", e.exit, got.Result, e.stderr)
	}
	var init struct {
		Tools []string `json:"tools"`
	}
	for _, l := range e.of("system", "init") {
		testrepo.Must(t, json.Unmarshal(l.raw, &init))
	}
	for _, tool := range []string{"check", "run", "status", "logs", "answer", "cancel"} {
		if !slices.Contains(init.Tools, prefix+tool) {
			t.Errorf("the tool %s is not among %v", tool, init.Tools)
		}
	}
	answers := results(srv, fakeapi.Prompt("Rehearse it."))
	for n, want := range []string{`"waves":[["T-000"],["T-001"]]`, "is under way in process",
		"may the agent of task T-001 call Bash: touch asked", "q1: once", "complete", "I said hello.",
		"is under way in process", "cancelled run", "is under way in process"} {
		if n >= len(answers) || !strings.Contains(answers[n], want) {
			t.Errorf("answer %d lacks %q: %q", n+1, want, answers)
			break
		}
	}
	now := r.wavex(srv, "status", "--output", "json").end()
	if jsonobject.Value(now.stdout).Get("status").Text() != "running" {
		t.Errorf("the run ended with the session that started it: %s%s", now.stdout, now.stderr)
	}
	r.tool("cancel")
}
