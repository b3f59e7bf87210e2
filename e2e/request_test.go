//go:build unix

package e2e

// This file goes from a sentence to a verified result with real processes: every stage is a real
// call of the CLI, and real agents run the resulting plan. Killed at each boundary between stages
// and continued, no stage is asked twice.

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"wavex/budget"
	"wavex/internal/fakeapi"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// packages returns a repository that lacks two packages: the start of calculator.
func packages() string {
	files, _, _ := strings.Cut(calculator, "-- eval/")
	return files
}

const requestText = "Write the packages that the tests describe; only the standard library; all tests pass and vet is clean; done when they pass"

// stages lists the stages that ask the API, in order, each with a part of its system prompt.
var stages = []struct{ step, system string }{
	{"score/1", "You score how clear a request"},
	{"shape/1", "You say what a request for software work must come to"},
	{"phase/plan", "You prepare software work"},
	{"decompose/1", "You plan work for engineers"},
}

func mark(points int) map[string]any { return map[string]any{"points": points, "reason": "r"} }

// planners returns agents that answer the stages; the planner reads a file first, which is
// allowed.
func planners() []*fakeapi.Agent {
	answers := []fakeapi.Reply{
		fakeapi.Use(fakeapi.StructuredOutput(map[string]any{"outcome": mark(1), "scope": mark(1), "constraints": mark(2),
			"success": mark(2), "done": mark(2)})),
		fakeapi.Use(fakeapi.StructuredOutput(map[string]any{
			"criteria": []any{map[string]any{"text": "all tests pass", "verification": "execution output",
				"run": "go test ./..."}},
			"mustNot": []any{map[string]any{"text": "a dependency is added", "run": "test -e go.sum"}}})),
		fakeapi.Text("# The code\n\nTwo packages have tests and no code."),
		fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
			if r.ToolTurns() == 0 {
				return fakeapi.Use(fakeapi.Read("go.mod")).WithUsage(use)
			}
			return fakeapi.Use(fakeapi.StructuredOutput(map[string]any{"name": "calc", "tasks": []any{
				part("T-001", "Write Add", "add"), part("T-002", "Write Sub", "sub")}})).WithUsage(use)
		}),
	}
	var agents []*fakeapi.Agent
	for i, s := range stages {
		reply := answers[i].WithUsage(use)
		agents = append(agents, &fakeapi.Agent{Name: s.step, When: fakeapi.System(s.system), Then: &reply})
	}
	return append(agents, author("T-001", "add/add.go", addGo, "go test ./add", nil), author("T-002", "sub/sub.go", subGo,
		"go test ./sub", nil))
}

func part(id, subject, pkg string) map[string]any {
	return map[string]any{"id": id, "subject": subject, "description": "Write " + pkg + "/" + pkg +
		".go; its test says what.",
		"files":  []any{map[string]any{"path": pkg + "/" + pkg + ".go", "action": "create"}},
		"verify": []any{map[string]any{"run": "go test ./" + pkg}}, "estimate": map[string]any{"seconds": 30, "usd": 0.05}}
}

// calls returns the number of conversations that a stage opened.
func calls(srv *fakeapi.Server, system string) int {
	n := 0
	for _, r := range srv.Messages(fakeapi.System(system)) {
		if r.Turn() == 0 {
			n++
		}
	}
	return n
}

// planned checks the API's requests and the result.
func planned(t *testing.T, r repo, srv *fakeapi.Server, e wavexEnd) {
	t.Helper()
	_, last := e.events(t)
	var end struct {
		Status     string
		Iterations int
		Tasks      struct{ Completed int }
		Cost       budget.USD
	}
	testrepo.Must(t, json.Unmarshal(last.Data, &end))
	if e.exit != 0 || end.Status != "complete" || end.Tasks.Completed != 2 || end.Iterations != 2 {
		t.Fatalf("exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	for _, s := range stages {
		if n := calls(srv, s.system); n != 1 {
			t.Errorf("%s was asked %d times", s.step, n)
		}
	}
	if charged := srv.Charged(); end.Cost != charged {
		t.Errorf("the ledger says %d, the API charged %d", end.Cost, charged)
	}
	c := exec.CommandContext(t.Context(), "go", "test", "./...")
	c.Env = append(os.Environ(), goFlags)
	c.Dir = r.dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("go test in the finished project: %v\n%s", err, out)
	}
}

func TestRequestToResult(t *testing.T) {
	t.Parallel()
	reviewers := answers("reviewers", asks("thorough review of a whole run"), func(*fakeapi.Request) map[string]any {
		return map[string]any{"score": 9, "findings": []any{}}
	})
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: append([]*fakeapi.Agent{reviewers}, planners()...)})
	r := newRepo(t, packages())
	e := r.wavex(srv, "start", requestText, "--yes").end()
	if n := len(srv.Messages(asks("thorough review of a whole run"))); n < 3 {
		t.Errorf("%d questions of the thorough review, want three experts at least", n)
	}
	if !strings.Contains(e.stdout+e.stderr, "<loop-complete>\nAll tasks verified:\n") {
		t.Errorf("not a word of completion: %s\n%s", e.stdout, e.stderr)
	}
	// The journal holds the events that a program would have received.
	journal, err := os.ReadFile(loop.In(r.dir).Path(loop.Journal))
	testrepo.Must(t, err)
	_, e.stdout, _ = strings.Cut(string(journal), "\n") // without the header
	planned(t, r, srv, e)
	// The planner can read and cannot write; a stage that needs no tools has none.
	for i, s := range stages {
		for _, q := range srv.Messages(fakeapi.System(s.system)) {
			tools := offered(q)
			slices.Sort(tools)
			want := []string{"Glob", "Grep", "Read", "StructuredOutput"}
			switch {
			case i == 0:
				want = []string{"StructuredOutput"}
			case s.step == "phase/plan":
				want = want[:3]
			}
			if !slices.Equal(tools, want) {
				t.Errorf("%s has the tools %v, want %v", s.step, tools, want)
			}
		}
	}
	work := srv.Messages(task("T-001"))
	if len(work) == 0 || !strings.Contains(work[0].System(), "Library search first") {
		t.Error("the gate of the workflow is not in the agent's prompt")
	}
}

// killedAfter runs wavex until it has printed an event that matches, and kills it.
func (r repo) killedAfter(env []string, last func(event) bool, args ...string) {
	t := r.t
	t.Helper()
	release := reserveProcesses(t, runProcesses)
	defer release()
	ctx, cancel := context.WithTimeout(t.Context(), 2*testLimit)
	defer cancel()
	c := exec.CommandContext(ctx, shared.wavex, args...)
	c.Dir, c.Env = r.dir, append(slices.Clone(env), "WAVEX_CLAUDE="+r.cli.path)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said strings.Builder
	c.Stderr = &said
	out, err := c.StdoutPipe()
	testrepo.Must(t, err)
	testrepo.Must(t, c.Start())
	found := false
	in := bufio.NewScanner(out)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var v event
		if json.Unmarshal(in.Bytes(), &v) == nil && last(v) {
			found = true
			break
		}
	}
	_ = c.Process.Kill()
	_ = c.Wait() // it was killed
	// A child that it was about to start may still hold a copy of its lock for a moment.
	lock, err := os.Open(filepath.Join(r.dir, ".loop", "lock"))
	testrepo.Must(t, err)
	testrepo.Must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	testrepo.Must(t, lock.Close())
	if !found {
		t.Fatalf("wavex %v ended before the event it was to be killed at\n%s", args, said.String())
	}
}

// stepped matches an event by its type and a part of its data.
func stepped(kind, part string) func(event) bool {
	return func(v event) bool { return v.Type == kind && strings.Contains(string(v.Data), part) }
}

func TestRequestKilledAtEachBoundary(t *testing.T) {
	t.Parallel()
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: planners()})
	env := Env(t, srv)
	r := newRepo(t, packages())
	first := []string{"start", requestText, "--output", "json", "--review", "off"}
	again := []string{"start", "--output", "json", "--review", "off"}
	args := first
	// Each answer as soon as it is recorded (the next call takes a while to start), and the start
	// of the run, which may already be there when the last answer is printed.
	boundaries := []func(event) bool{stepped("request_opened", "")}
	for _, s := range stages {
		boundaries = append(boundaries, stepped("call_ended", `"`+s.step+`"`))
	}
	boundaries = append(boundaries, func(v event) bool { return v.Type == "run_started" || v.Type == "run_resumed" })
	for i, b := range boundaries {
		if i == len(boundaries)-1 { // run or plan, whichever can be continued
			again = []string{"resume", "--output", "json", "--review", "off"}
		}
		r.killedAfter(env, b, args...)
		args = again
	}
	planned(t, r, srv, r.wavexEnv(env, args...).end())
}
