//go:build unix

package e2e

// This file tests a task list that real sessions and wavex use at the same time.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

func create(subject, description string) fakeapi.Reply {
	return fakeapi.Use(taskCreate(subject, description))
}

// change returns a TaskUpdate; the fields alternate: name, value.
func change(id string, fields ...any) fakeapi.Reply {
	in := map[string]any{"taskId": id}
	for i := 0; i+1 < len(fields); i += 2 {
		in[fields[i].(string)] = fields[i+1]
	}
	return fakeapi.Use(fakeapi.Tool{Name: "TaskUpdate", Input: in})
}

func showList() fakeapi.Reply {
	return fakeapi.Use(fakeapi.Tool{Name: "TaskList", Input: map[string]any{}})
}

// listTask is the content of a task's file.
type listTask struct {
	ID, Subject, Status, Owner string
	Blocks, BlockedBy          []string
	Metadata                   map[string]any
}

// configDir returns the CLI's own folder in an environment of Env.
func configDir(env []string) (dir string) {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "CLAUDE_CONFIG_DIR="); ok {
			dir = v
		}
	}
	return dir
}

// readList reads the files of a list; each must be whole.
func readList(t *testing.T, dir string) map[string]listTask {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	testrepo.Must(t, err)
	all := map[string]listTask{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		var task listTask
		if err != nil || json.Unmarshal(data, &task) != nil {
			t.Fatalf("%s: %v\n%s", name, err, data)
		}
		all[strings.TrimSuffix(filepath.Base(name), ".json")] = task
	}
	return all
}

// checkMirrored checks that blocks and blockedBy agree.
func checkMirrored(t *testing.T, tasks map[string]listTask) {
	t.Helper()
	for id, task := range tasks {
		for _, b := range task.BlockedBy {
			if !slices.Contains(tasks[b].Blocks, id) {
				t.Errorf("%s is blocked by %s, which blocks %v", id, b, tasks[b].Blocks)
			}
		}
		for _, b := range task.Blocks {
			if !slices.Contains(tasks[b].BlockedBy, id) {
				t.Errorf("%s blocks %s, which is blocked by %v", id, b, tasks[b].BlockedBy)
			}
		}
	}
}

// results returns the texts of all tool results of a session, in order.
func results(srv *fakeapi.Server, m fakeapi.Match) (texts []string) {
	for _, r := range srv.Messages(m) {
		for _, res := range r.ToolResults() {
			texts = append(texts, res.Text)
		}
	}
	return texts
}

// plainResult returns a tool's result without the reminder of the remaining tokens that 2.1.330
// adds.
func plainResult(result string) string {
	text, _, _ := strings.Cut(result, "\n\n<system-reminder>\n<total_tokens>")
	return text
}

// One session plans, wavex runs the list, and another session works on the list at the same time:
// nothing is lost, edges stay mirrored, and the CLI reads the files that wavex wrote.
func TestListIsSharedWithSessions(t *testing.T) {
	t.Parallel()
	release := reserveProcesses(t, runProcesses)
	gate, noted, ended := fakeapi.NewLatch(), fakeapi.NewLatch(), fakeapi.NewLatch()
	planner, other, reader := fakeapi.Prompt("make a plan"), fakeapi.Prompt("look after the list"),
		fakeapi.Prompt("how does it stand")
	// The other session changes the tasks that wavex works on, before, during and after their
	// attempts, and adds its own.
	busy := []fakeapi.Reply{showList(), create("Mine", "of the other session"), change("4", "addBlockedBy", []string{"3"},
		"status", "in_progress")}
	const rounds, before = 12, 9
	for k := range rounds {
		step := change(fmt.Sprint(k%3+1), "metadata", map[string]any{fmt.Sprintf("note%d", k): k})
		switch k {
		case 2:
			step = step.WaitingFor(gate)
		case before:
			// Claude Code reads the metadata of a task before it locks the file: what wavex writes at its end
			// must not come in between.
			step = step.WaitingFor(ended)
		}
		busy = append(busy, step)
	}
	busy = append(busy, showList(), create("Mine too", "of the other session"), fakeapi.Text("done"))
	nosy := author("1", "add/add.go", addGo, "go test ./add", gate)
	// An agent has its own list: its notes are not in the shared one.
	nosy.Steps = slices.Insert(nosy.Steps, 0, create("a note of the agent", "for itself"))
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{
		{Name: "planner", When: planner, Steps: []fakeapi.Reply{
			fakeapi.Use(
				taskCreate("Write Add", "In add/add.go. Verify: go test ./add"),
				taskCreate("Write Sub", "In sub/sub.go.\nVerify: go test ./sub"),
				taskCreate("Write Eval", "In eval/eval.go.\nVerify: go test ./eval")),
			change("3", "addBlockedBy", []string{"1", "2"}), fakeapi.Text("planned"),
		}},
		{Name: "other", When: other, Steps: busy},
		{Name: "reader", When: reader, Steps: []fakeapi.Reply{showList(), fakeapi.Text("seen")}},
		nosy,
		author("2", "sub/sub.go", subGo, "go test ./sub", gate),
		author("3", "eval/eval.go", evalGo, "go test ./eval", noted),
	}})
	env := Env(t, srv)
	joined := append(slices.Clone(env), "CLAUDE_CODE_TASK_LIST_ID=team")
	dir := filepath.Join(configDir(env), "tasks", "team")
	if e := call(t, srv, setup{stdin: "make a plan", env: joined, room: true}); e.exit != 0 {
		t.Fatalf("the planner: exit %d %s", e.exit, e.stderr)
	}
	checkMirrored(t, readList(t, dir))

	r := newRepo(t, calculator)
	w := r.wavexIn(release, env, "run", "--task-list", "team", "-j", "2", "--output", "json", "--counsel", "off")
	p := startCLI(t, srv, setup{stdin: "look after the list", env: joined, room: true})
	for _, m := range []fakeapi.Match{task("2"),
		fakeapi.All(other, func(r *fakeapi.Request) bool { return r.ToolTurns() == 5 })} {
		if _, err := srv.Wait(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	gate.Open()
	if _, err := srv.Wait(t.Context(), fakeapi.All(other, func(r *fakeapi.Request) bool {
		return r.ToolTurns() == 3+before
	})); err != nil {
		t.Fatal(err)
	}
	noted.Open()
	e := w.end()
	ended.Open()
	if e.exit != 0 {
		t.Fatalf("exit %d\nstdout: %s\nstderr: %s", e.exit, e.stdout, e.stderr)
	}
	if e := p.end(); e.exit != 0 {
		t.Errorf("the other session: exit %d %s", e.exit, e.stderr)
	}
	if _, last := e.events(t); last.Tasks.Completed != 3 {
		t.Errorf("%s", last.Data)
	}
	if strings.Contains(e.stderr, "warning: the list") {
		t.Error(e.stderr)
	}

	tasks := readList(t, dir)
	checkMirrored(t, tasks)
	if len(tasks) != 5 || tasks["4"].Subject != "Mine" || tasks["5"].Subject != "Mine too" ||
		!slices.Equal(tasks["4"].BlockedBy, []string{"3"}) {
		t.Errorf("the tasks are %+v", tasks)
	}
	notes := 0
	for i, wave := range []float64{1, 1, 2} {
		task := tasks[fmt.Sprint(i+1)]
		m := task.Metadata
		if task.Status != "completed" || task.Owner != "wavex" || m["wave"] != wave ||
			m["verification"] != "execution output" || m["stuckCount"] != 0.0 || m["loopId"] == nil {
			t.Errorf("%+v", task)
		}
		for name := range m {
			if strings.HasPrefix(name, "note") {
				notes++
			}
		}
	}
	if notes != rounds {
		t.Errorf("%d of %d notes are there", notes, rounds)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.lock*")); len(left) != 1 {
		t.Errorf("locks left: %v", left)
	}
	for _, text := range results(srv, other) {
		if strings.Contains(text, "held") || strings.Contains(text, "not found") {
			t.Errorf("a session was held up: %s", text)
		}
	}
	// A third session sees all changes.
	call(t, srv, setup{stdin: "how does it stand", env: joined, room: true})
	want := "#1 [completed] Write Add (wavex)\n#2 [completed] Write Sub (wavex)\n#3 [completed] Write Eval (wavex)\n#4 [in_progress] Mine\n#5 [pending] Mine too"
	if got := results(srv, reader); len(got) != 1 || plainResult(got[0]) != want {
		t.Errorf("the CLI shows %q", got)
	}
}
