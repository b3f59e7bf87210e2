//go:build unix

package e2e

// One process of the CLI after the other attempt: what it forgets, and what it does not.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/fakeapi"
)

// What wavex rests on when a process serves more than one attempt: /clear begins a new session
// without the model, settings replace those given before, and money is counted on.
func TestHowTheCLIBeginsAnew(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	settings := func(task string, rules ...string) object {
		return object{"type": "control_request", "request_id": "s-" + task, "request": object{"subtype": "apply_flag_settings",
			"settings": object{"permissions": object{"allow": rules}, "env": object{"WAVEX_TASK": task}}}}
	}
	echo := func() fakeapi.Reply {
		return fakeapi.Use(fakeapi.Bash("printenv WAVEX_TASK"), fakeapi.Bash("perl -e 1")).Costing(use)
	}
	srv := serve(t, echo(), fakeapi.Text("one").Costing(use), echo(), fakeapi.Text("two").Costing(use))
	dir := t.TempDir()
	memory := filepath.Join(dir, "CLAUDE.md")
	if err := os.WriteFile(memory, []byte("Rule of before.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := begin(t, srv, setup{talk: true, dir: dir})
	// Before the first prompt.
	p.say(settings("T-1", "Bash(perl *)", "Bash(printenv *)"))
	_, at := p.await(0, ofType("control_response"))
	p.say("pineapple")
	_, at = p.await(at+1, ofType("result"))
	if err := os.WriteFile(memory, []byte("Rule of now.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.say(settings("T-2", "Bash(printenv *)"))
	_, at = p.await(at+1, ofType("control_response"))
	p.say("/clear")
	_, at = p.await(at+1, ofType("result"))
	p.say("second")
	p.await(at+1, ofType("result"))
	e := p.end()
	rs := e.results(t)
	if e.exit != 0 || len(rs) != 3 {
		t.Fatalf("exit %d, %d results\n%s", e.exit, len(rs), e.stderr)
	}
	if rs[1].NumTurns != 0 || rs[1].SessionID == rs[0].SessionID || rs[2].SessionID != rs[1].SessionID || rs[1].TotalCostUSD != rs[0].TotalCostUSD {
		t.Errorf("/clear: %d turns, session %s after %s, %v dollars after %v", rs[1].NumTurns, rs[1].SessionID, rs[0].SessionID, rs[1].TotalCostUSD, rs[0].TotalCostUSD)
	}
	if got := budget.FromFloat(rs[2].TotalCostUSD); got != srv.Charged() {
		t.Errorf("cost %s, charged %s", got, srv.Charged())
	}
	asked := srv.Messages(nil)
	if len(asked) != 4 {
		t.Fatalf("%d requests", len(asked))
	}
	if strings.Contains(asked[2].Users(), "pineapple") || asked[2].Turn() != 0 {
		t.Error("the second session knows the first")
	}
	if was, is := asked[0].Users(), asked[2].Users(); !strings.Contains(was, "Rule of before") || !strings.Contains(is, "Rule of now") || strings.Contains(is, "Rule of before") {
		t.Error("CLAUDE.md is not read again")
	}
	for i, want := range []struct {
		task   string
		denied bool
	}{{"T-1", false}, {"T-2", true}} {
		rs := asked[2*i+1].ToolResults()
		if len(rs) != 2 || !strings.Contains(rs[0].Text, want.task) || rs[1].Error != want.denied {
			t.Errorf("tools of %s: %+v", want.task, rs)
		}
	}
	if !strings.Contains(string(e.of("system", "init")[0].raw), `"clear"`) {
		t.Error("the init line does not list the command")
	}
}

// Twelve tasks at four at a time have at most four processes, and each task its own session,
// permissions, variables and bill.
func TestProcessesServeManyTasks(t *testing.T) {
	t.Parallel()
	const n = 12
	var tasks []string
	var agents []*fakeapi.Agent
	for i := range n {
		id := fmt.Sprintf("T-%03d", i+1)
		tasks = append(tasks, fmt.Sprintf(`{"id": %q, "subject": "Write file %d", "files": [{"path": "f%d.txt", "action": "create"}],
 "verify": [{"file": "f%d.txt", "contains": "sheep"}, "test -n %s"]}`, id, i, i, i, id))
		agents = append(agents, &fakeapi.Agent{Name: id, When: task(id), Steps: []fakeapi.Reply{
			fakeapi.Use(fakeapi.Write(fmt.Sprintf("f%d.txt", i), "sheep\n")).Costing(use),
			fakeapi.Use(fakeapi.Bash("test -n "+id), fakeapi.Bash("printenv WAVEX_ATTEMPT WAVEX_TASK")).Costing(use),
			report("true").Costing(use),
		}})
	}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: agents})
	r := newRepo(t, fmt.Sprintf("-- plan.json --\n{\"version\": 1, \"name\": \"flock\", \"parallel\": 3, \"defaults\": {\"model\": %q, \"allowedTools\": [\"Bash(printenv:*)\"]},\n\"tasks\": [\n%s\n]}\n",
		model, strings.Join(tasks, ",\n")))
	e := r.wavex(srv, "run", "plan.json", "--output", "json").end()
	_, last := e.events(t)
	if e.exit != 0 || last.Tasks.Completed != n || last.Iterations != n {
		t.Fatalf("exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	if spent := budget.FromFloat(last.CostUSD); spent != srv.Charged() || spent == 0 {
		t.Errorf("spent %s, the API charged %s", spent, srv.Charged())
	}
	logs, err := filepath.Glob(filepath.Join(r.dir, ".loop", "runs", "*", "tasks", "*", "attempt-1", "stream.jsonl"))
	if err != nil || len(logs) != n {
		t.Fatalf("%d streams, %v", len(logs), err)
	}
	cold := 0
	for _, path := range logs {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(data), `{"type":"wavex"`) {
			cold++
		}
	}
	if cold > 3 {
		t.Errorf("%d processes for %d tasks at three at a time", cold, n)
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
		if got := strings.Count(asked[2].Users(), "# Your task: "); got != 1 {
			t.Errorf("%s was told of %d tasks", id, got)
		}
		rs := asked[2].ToolResults()
		if len(rs) != 2 || rs[0].Error || !strings.Contains(rs[1].Text, "/"+id+"/1\n"+id) {
			t.Errorf("tools of %s: %+v", id, rs)
		}
	}
}

// What /clear does not end, and no child process shows: an agent in the background, and another
// working directory. Both are of their own task alone, with the further turn and its cost.
func TestWhatLastsIsNotShared(t *testing.T) {
	t.Parallel()
	write := func(i int) fakeapi.Reply {
		return fakeapi.Use(fakeapi.Write(fmt.Sprintf("f%d.txt", i), "sheep\n")).Costing(use)
	}
	aside := func(tool string, input map[string]any) fakeapi.Reply {
		return fakeapi.Use(fakeapi.Tool{Name: tool, Input: input}).Costing(use)
	}
	more := fakeapi.Text("Heard.").Costing(use)
	seven := fakeapi.Text("Seven.").Costing(use)
	seven.Delay = 500 * time.Millisecond // it ends after the turn that began it
	agents := []*fakeapi.Agent{
		{Name: "beside", When: fakeapi.Prompt("Count the sheep"), Steps: []fakeapi.Reply{seven}},
		{Name: "T-001", When: task("T-001"), Then: &more, Steps: []fakeapi.Reply{write(1),
			aside("Agent", map[string]any{"description": "Count", "prompt": "Count the sheep", "run_in_background": true}), report("true").Costing(use)}},
		{Name: "T-002", When: task("T-002"), Steps: []fakeapi.Reply{write(2), aside("EnterWorktree", map[string]any{"name": "fold"}), report("true").Costing(use)}},
		{Name: "T-003", When: task("T-003"), Steps: []fakeapi.Reply{write(3), report("true").Costing(use)}},
		{Name: "T-004", When: task("T-004"), Steps: []fakeapi.Reply{write(4), report("true").Costing(use)}},
	}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: agents})
	var tasks []string
	for i := 1; i <= 4; i++ {
		tasks = append(tasks, fmt.Sprintf(`{"id": "T-%03d", "subject": "Write file %d", "files": [{"path": "f%d.txt", "action": "create"}], "verify": [{"file": "f%d.txt", "contains": "sheep"}]}`, i, i, i, i))
	}
	r := newRepo(t, fmt.Sprintf("-- plan.json --\n{\"version\": 1, \"name\": \"flock\", \"parallel\": 1, \"defaults\": {\"model\": %q, \"allowedTools\": [\"Bash\", \"Agent\", \"EnterWorktree\"]},\n\"tasks\": [\n%s\n]}\n",
		model, strings.Join(tasks, ",\n")))
	e := r.wavex(srv, "run", "plan.json", "--output", "json").end()
	_, last := e.events(t)
	if e.exit != 0 || last.Tasks.Completed != 4 || last.Iterations != 4 {
		t.Fatalf("exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	if spent := budget.FromFloat(last.CostUSD); spent != srv.Charged() || spent == 0 {
		t.Errorf("spent %s, the API charged %s", spent, srv.Charged())
	}
	for i := 1; i <= 4; i++ {
		id := fmt.Sprintf("T-%03d", i)
		if _, err := os.Stat(filepath.Join(r.dir, fmt.Sprintf("f%d.txt", i))); err != nil {
			t.Error(err)
		}
		logs, err := filepath.Glob(filepath.Join(r.dir, ".loop", "runs", "*", "tasks", id, "attempt-1", "stream.jsonl"))
		if err != nil || len(logs) != 1 {
			t.Fatalf("%v, %v", logs, err)
		}
		data, err := os.ReadFile(logs[0])
		if warm := strings.HasPrefix(string(data), `{"type":"wavex"`); err != nil || warm != (i == 4) {
			t.Errorf("%s shares the process of the task before it: %v, %v", id, warm, err)
		}
	}
}

// A retry in the same session goes on in the process that has it.
func TestRetryStaysInItsProcess(t *testing.T) {
	t.Parallel()
	first := &fakeapi.Agent{Name: "first", When: task("T-001"), Steps: []fakeapi.Reply{report("true").Costing(use)}}
	again := &fakeapi.Agent{Name: "again", When: fakeapi.All(task("T-001"), func(r *fakeapi.Request) bool {
		return strings.Contains(r.Users(), "<previous_attempt>")
	}), Steps: []fakeapi.Reply{fakeapi.Use(fakeapi.Write("f0.txt", "sheep\n")).Costing(use), report("true").Costing(use)}}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{again, first}})
	r := newRepo(t, sheep(1, 1))
	e := r.wavex(srv, "run", "plan.json", "--output", "json", "--counsel", "off", "--retry-session", "same").end()
	_, last := e.events(t)
	if spent := budget.FromFloat(last.CostUSD); e.exit != 0 || last.Iterations != 2 || spent != srv.Charged() {
		t.Fatalf("exit %d, %d iterations, spent %s of %s\n%s", e.exit, last.Iterations, spent, srv.Charged(), e.stderr)
	}
	asked := srv.Messages(nil)
	if len(asked) != 3 || asked[0].Session() != asked[1].Session() || asked[1].Turn() != 1 {
		t.Errorf("%d requests, session %s then %s", len(asked), asked[0].Session(), asked[1].Session())
	}
	logs, err := filepath.Glob(filepath.Join(r.dir, ".loop", "runs", "*", "tasks", "T-001", "attempt-2", "stream.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v, %v", logs, err)
	}
	if data, err := os.ReadFile(logs[0]); err != nil || !strings.HasPrefix(string(data), `{"type":"wavex","served":1,`) {
		t.Errorf("the retry's stream begins with %.200s, %v", data, err)
	}
}
