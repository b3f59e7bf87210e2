//go:build unix

package e2e

// This file tests which sessions get the CLI's peer tools. Agents of one home directory see each
// other: the CLI has tools that list the sessions there and write to them.

import (
	"slices"
	"testing"

	"wavex/internal/fakeapi"
)

var peerTools = []string{"ListAgents", "SendMessage"}

// offers returns those of the tools that the first request of a conversation offers.
func offers(t *testing.T, srv *fakeapi.Server, m fakeapi.Match, tools []string) []string {
	t.Helper()
	all := srv.Messages(m)
	if len(all) == 0 {
		t.Fatal("no request came")
	}
	var out []string
	for _, tool := range tools {
		if all[0].Offers(tool) {
			out = append(out, tool)
		}
	}
	return out
}

func TestPeerToolsAreWithheld(t *testing.T) {
	t.Parallel()
	release := reserveProcesses(t, runProcesses)
	bare := serve(t, fakeapi.Text("done"))
	if e := call(t, bare, setup{stdin: "go", room: true}); e.exit != 0 {
		t.Fatalf("exit %d: %s", e.exit, e.stderr)
	}
	has := offers(t, bare, nil, peerTools)
	done := func(id string) *fakeapi.Agent {
		return &fakeapi.Agent{Name: id, When: task(id), Steps: []fakeapi.Reply{
			fakeapi.Use(fakeapi.Write(id, "done")).WithUsage(use), report("true")}}
	}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{done("plain"), done("own"),
		done("asks")}})
	r := newRepo(t, `
-- plan.json --
{"version": 1, "defaults": {"model": "`+model+`"}, "tasks": [
  {"id": "plain", "subject": "Do it", "verify": [{"file": "plain"}]},
  {"id": "own", "subject": "Do it", "disallowedTools": ["WebSearch"], "allowedTools": ["Read"], "verify": [{"file": "own"}]},
  {"id": "asks", "subject": "Do it", "allowedTools": ["ListAgents", "SendMessage"],
    "verify": [{"file": "asks"}]}]}
`)
	if e := r.wavexIn(release, Env(t, srv), "run", "plan.json", "--plain", "-j", "1").end(); e.exit != 0 {
		t.Fatalf("exit %d: %s", e.exit, e.stderr)
	}
	for id, want := range map[string][]string{"plain": nil, "own": nil, "asks": has} {
		if got := offers(t, srv, task(id), peerTools); !slices.Equal(got, want) {
			t.Errorf("task %s is offered %v, want %v", id, got, want)
		}
	}
	if got := offers(t, srv, task("own"), []string{"WebSearch"}); got != nil {
		t.Error("the plan's own disallowedTools are gone")
	}
}

// Calls that name their tools get no others.
func TestOnlyNamedToolsAreOffered(t *testing.T) {
	t.Parallel()
	for _, tools := range []string{"", "Read,Grep,Glob"} {
		srv := serve(t, fakeapi.Text("done"))
		if e := call(t, srv, setup{stdin: "go", args: []string{"--tools", tools, "--system-prompt", "Answer.",
			"--strict-mcp-config"}}); e.exit != 0 {
			t.Fatalf("exit %d: %s", e.exit, e.stderr)
		}
		if got := offers(t, srv, nil, append(peerTools, "TaskCreate", "TaskUpdate")); got != nil {
			t.Errorf("--tools %q: offered %v", tools, got)
		}
	}
}
