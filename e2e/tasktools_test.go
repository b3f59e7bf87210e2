//go:build unix

package e2e

// This file tests that agents that share a task list get the tools for it, on the CLI's default
// model.

import (
	"path/filepath"
	"slices"
	"testing"

	"wavex/internal/fakeapi"
)

var listTools = []string{"TaskCreate", "TaskGet", "TaskList", "TaskUpdate"}

func TestAgentsThatShareAListHaveItsTools(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices,
		Agents: []*fakeapi.Agent{{Name: "1", When: task("1"), Steps: []fakeapi.Reply{
			change("1", "metadata", map[string]any{"seen": "by the agent"}), create("Found on the way", "by the agent"),
			fakeapi.Use(fakeapi.Write("note", "done")), report("true"),
		}}}})
	env := Env(t, srv, "WAVEX_OPT_SHARE_TASK_LIST=true")
	dir := filepath.Join(configDir(env), "tasks", "team")
	r := newRepo(t, "")
	r.write("plan.json", `{"version": 1, "tasks": [{"id": "1", "subject": "Do it", "verify": ["test -f note"]}]}`)
	if e := r.wavexEnv(env, "export", "--task-list", "team", "plan.json").end(); e.exit != 0 {
		t.Fatalf("exit %d: %s", e.exit, e.stderr)
	}
	e := r.wavexEnv(env, "run", "--task-list", "team", "--plain").end()
	if e.exit != 0 {
		t.Fatalf("exit %d: %s", e.exit, e.stderr)
	}
	if got := offers(t, srv, task("1"), listTools); !slices.Equal(got, listTools) {
		t.Errorf("the agent is offered %v", got)
	}
	tasks := readList(t, dir)
	if tasks["1"].Metadata["seen"] != "by the agent" || tasks["2"].Subject != "Found on the way" {
		t.Errorf("the agent's changes did not arrive: %+v\n%q", tasks, results(srv, task("1")))
	}
}
