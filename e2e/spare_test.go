//go:build unix

package e2e

// This file tests processes that are started ahead of their attempts: the CLI's behaviour before
// its prompt, and that wavex uses each once.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/fakeapi"
)

// A process without a prompt sends no request to the API and does not reserve its session id. It
// may read the project's instructions before or with its prompt: on an idle machine before it, on
// a busy one sometimes with it. So wavex drops a spare when they change (TestSpareFits in
// runner).
func TestProcessBeforeItsPrompt(t *testing.T) {
	t.Parallel()
	srv := serve(t, fakeapi.Text("one").WithUsage(use))
	dir, env := t.TempDir(), Env(t, srv)
	memory := filepath.Join(dir, "CLAUDE.md")
	write := func(text string) {
		if err := os.WriteFile(memory, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("Rule of before.\n")
	args := []string{"--session-id", session}
	ready := func() *cliProcess {
		p := startCLI(t, srv, setup{talk: true, dir: dir, env: env, args: args})
		p.send(map[string]any{"type": "control_request", "request_id": "r",
			"request": map[string]any{"subtype": "interrupt"}})
		p.await(0, ofType("control_response"))
		return p
	}
	if e := ready().end(); e.exit != 0 || len(e.lines) != 1 || len(srv.Messages(nil)) != 0 {
		t.Errorf("without a prompt: exit %d, %d requests\n%s", e.exit, len(srv.Messages(nil)), e.stderr)
	}
	p := ready()
	write("Rule of now.\n")
	p.send("hello")
	if e := p.end(); e.exit != 0 || e.result(t).SessionID != session {
		t.Errorf("exit %d, %s", e.exit, e.stderr)
	}
	if asked := srv.Messages(nil); len(asked) != 1 || !strings.Contains(asked[0].Users(), "Rule of ") {
		t.Error("the prompt goes without CLAUDE.md")
	}
}

// Eight tasks at two at a time, all with the same flags: further processes are started while the
// API works. Each task has its own process, session, variables and bill.
func TestSpares(t *testing.T) {
	t.Parallel()
	const n = 8
	var tasks []string
	var agents []*fakeapi.Agent
	for i := range n {
		id := fmt.Sprintf("T-%03d", i+1)
		tasks = append(tasks, fmt.Sprintf(`{"id": %q, "subject": "Write file %d", "files": [{"path": "f%d.txt", "action": "create"}],
 "verify": [{"file": "f%d.txt", "contains": "sheep"}, "test -n %s"]}`, id, i, i, i, id))
		first := fakeapi.Use(fakeapi.Write(fmt.Sprintf("f%d.txt", i), "sheep\n")).WithUsage(use)
		first.Delay = 1500 * time.Millisecond
		agents = append(agents, &fakeapi.Agent{Name: id, When: task(id), Steps: []fakeapi.Reply{first,
			fakeapi.Use(fakeapi.Bash("test -n "+id), fakeapi.Bash("printenv WAVEX_ATTEMPT WAVEX_SLOT")).WithUsage(use),
			report("true").WithUsage(use),
		}})
	}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: agents})
	r := newRepo(t, fmt.Sprintf(
		"-- plan.json --\n{\"version\": 1, \"name\": \"flock\", \"parallel\": 2, \"isolation\": \"shared\","+
			" \"defaults\": {\"model\": %q, \"allowedTools\": [\"Bash(printenv:*)\"]},\n\"tasks\": [\n%s\n]}\n",
		model, strings.Join(tasks, ",\n")))
	e := r.wavex(srv, "run", "plan.json", "--output", "json").end()
	all, last := e.events(t)
	if e.exit != 0 || last.Tasks.Completed != n || last.Iterations != n {
		t.Fatalf("exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	if spent := budget.FromFloat(last.CostUSD); spent != srv.Charged() || spent == 0 {
		t.Errorf("spent %s, the API charged %s", spent, srv.Charged())
	}
	spares, slots := 0, map[string]int{}
	for _, ev := range all {
		var b struct {
			Task    string
			Slot    int
			Session string
		}
		if err := json.Unmarshal(ev.Data, &b); err != nil {
			t.Fatal(err)
		}
		switch ev.Type {
		case "spare_started":
			spares++
		case "spare_ended":
			t.Errorf("a spare was not used: %s", ev.Data)
		case "attempt_started":
			slots[b.Task] = b.Slot
		}
	}
	if spares < n/4 {
		t.Errorf("%d spares for %d tasks", spares, n)
	}
	sessions := map[string]string{}
	for i := range n {
		id := fmt.Sprintf("T-%03d", i+1)
		asked := srv.Messages(task(id))
		if len(asked) != 3 {
			t.Fatalf("%s asked %d times", id, len(asked))
		}
		s := asked[0].Session()
		if other, seen := sessions[s]; seen || s == "" {
			t.Errorf("%s and %s share the session %q", id, other, s)
		}
		sessions[s] = id
		rs := asked[2].ToolResults()
		if want := fmt.Sprintf("/%s/1\n%d", id, slots[id]); len(rs) != 2 || rs[0].Error ||
			!strings.Contains(rs[1].Text, want) {
			t.Errorf("tools of %s, want %q: %+v", id, want, rs)
		}
	}
}
