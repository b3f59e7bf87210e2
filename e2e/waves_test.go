//go:build unix

package e2e

// This file tests whole runs: real processes edit a small Go repository, wave by wave, until its
// tests pass.

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/fakeapi"
)

// calculator is a Go module whose tests fail for missing code, and the plan to write it.
const calculator = `
-- go.mod --
module calc

go 1.24
-- add/add_test.go --
package add

import "testing"

func TestAdd(t *testing.T) {
	if Add(2, 3) != 5 {
		t.Error("2 + 3 is not 5")
	}
}
-- sub/sub_test.go --
package sub

import "testing"

func TestSub(t *testing.T) {
	if Sub(7, 3) != 4 {
		t.Error("7 - 3 is not 4")
	}
}
-- eval/eval_test.go --
package eval

import "testing"

func TestEval(t *testing.T) {
	if Eval(1, "+", 2) != 3 || Eval(5, "-", 2) != 3 {
		t.Error("Eval is wrong")
	}
}
-- plan.json --
{
  "version": 1,
  "name": "calculator",
  "request": "Write the calculator that the tests describe.",
  "budget": {"usd": 2},
  "parallel": 2,
  "defaults": {"model": "claude-sonnet-4-5"},
  "tasks": [
    {"id": "T-001", "subject": "Write Add", "files": [{"path": "add/add.go", "action": "create"}],
     "verify": ["go test ./add"]},
    {"id": "T-002", "subject": "Write Sub", "files": [{"path": "sub/sub.go", "action": "create"}],
     "verify": ["go test ./sub"]},
    {"id": "T-003", "subject": "Write Eval", "blockedBy": ["T-001", "T-002"],
     "files": [{"path": "eval/eval.go", "action": "create"}], "verify": ["go test ./eval"]},
    {"id": "T-004", "subject": "Write the program", "blockedBy": ["T-003"],
     "files": [{"path": "main.go", "action": "create"}],
     "verify": ["go vet ./... && go test ./...", "test \"$(go run . 40 + 2)\" = 42"]}
  ]
}
`

const (
	addGo  = "package add\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n"
	subGo  = "package sub\n\n// Sub subtracts.\nfunc Sub(a, b int) int { return a - b }\n"
	evalGo = `package eval

import (
	"calc/add"
	"calc/sub"
)

// Eval works out a op b.
func Eval(a int, op string, b int) int {
	if op == "-" {
		return sub.Sub(a, b)
	}
	return add.Add(a, b)
}
`
	mainGo = `package main

import (
	"fmt"
	"os"
	"strconv"

	"calc/eval"
)

func main() {
	a, _ := strconv.Atoi(os.Args[1])
	b, _ := strconv.Atoi(os.Args[3])
	fmt.Println(eval.Eval(a, os.Args[2], b))
}
`
)

// author returns an agent that writes one file, runs the check and reports.
func author(id, path, content, check string, g *fakeapi.Latch) *fakeapi.Agent {
	first := fakeapi.Use(fakeapi.Write(path, content)).WithUsage(use)
	if g != nil {
		first = first.WaitingFor(g)
	}
	return &fakeapi.Agent{Name: id, When: task(id), Steps: []fakeapi.Reply{first,
		fakeapi.Use(fakeapi.Bash(check)).WithUsage(use), report("true")}}
}

// Three waves, the first with two tasks at once, the second with a retry.
func TestThreeWaves(t *testing.T) {
	t.Parallel()
	gate := fakeapi.NewLatch()
	wrong := strings.Replace(evalGo, `op == "-"`, `op == "minus"`, 1)
	eval := &fakeapi.Agent{Name: "T-003", When: task("T-003"), Steps: []fakeapi.Reply{
		fakeapi.Use(fakeapi.Write("eval/eval.go", wrong)).WithUsage(use), report("true"), // a false report
	}}
	again := &fakeapi.Agent{Name: "T-003 again", When: fakeapi.All(task("T-003"), func(r *fakeapi.Request) bool {
		return strings.Contains(r.Users(), "<previous_attempt>")
	}), Steps: []fakeapi.Reply{
		fakeapi.Use(fakeapi.Read("eval/eval.go")).WithUsage(use),
		fakeapi.Use(fakeapi.Edit("eval/eval.go", `op == "minus"`, `op == "-"`)).WithUsage(use),
		fakeapi.Use(fakeapi.Bash("go test ./eval")).WithUsage(use), report("true"),
	}}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{
		author("T-001", "add/add.go", addGo, "go test ./add", gate),
		author("T-002", "sub/sub.go", subGo, "go test ./sub", gate),
		again, eval,
		author("T-004", "main.go", mainGo, `test "$(go run . 40 + 2)" = 42`, nil),
	}})
	r := newRepo(t, calculator)
	w := r.wavex(srv, "run", "plan.json", "--output", "json", "--counsel", "off")
	// Both first tasks send their request to the API before either gets an answer.
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	for _, id := range []string{"T-001", "T-002"} {
		if _, err := srv.Wait(ctx, task(id)); err != nil {
			t.Errorf("%s beside the other: %v", id, err)
		}
	}
	if len(srv.Messages(task("T-003"))) > 0 {
		t.Error("the second wave began before the first was over")
	}
	gate.Open()
	e := w.end()
	if e.exit != 0 {
		t.Fatalf("exit %d\nstdout: %s\nstderr: %s", e.exit, e.stdout, e.stderr)
	}
	_, last := e.events(t)
	if last.Status != "complete" || last.ExitCode != 0 || last.Tasks.Completed != 4 || last.Iterations != 5 {
		t.Errorf("%s", last.Data)
	}
	if got := budget.FromFloat(last.CostUSD); got != srv.Charged() || got == 0 {
		t.Errorf("cost %s, the API charged %s", got, srv.Charged())
	}
	if srv.Peak() != 2 {
		t.Errorf("%d requests at once, want 2", srv.Peak())
	}
	// No tool was refused: the rules made from the checks work.
	for _, m := range srv.Messages(nil) {
		for _, res := range m.ToolResults() {
			if res.Error {
				t.Errorf("a tool call failed: %s", res.Text)
			}
		}
	}
	// The error reaches the second attempt.
	if second := srv.Messages(again.When)[0]; !strings.Contains(second.Users(), "Eval is wrong") {
		t.Error("the retry's prompt does not show the check's output")
	}
	test := exec.Command("go", "test", "./...")
	test.Env = append(os.Environ(), goFlags)
	test.Dir, test.Env = r.dir, Env(t, srv)
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("the repository's own tests: %v\n%s", err, out)
	}
}
