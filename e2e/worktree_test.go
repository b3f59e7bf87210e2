//go:build unix

package e2e

// This file tests tasks in worktrees: four agents edit one package at the same time, and the
// delivered work contains all their edits.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
)

// oneOp is a task of the package: its function, and the line of the table that names it.
type oneOp struct{ id, name, sign, body, want string }

func ops() []oneOp {
	return []oneOp{
		{"T-001", "Add", "+", "a + b", "9"}, {"T-002", "Sub", "-", "a - b", "5"},
		{"T-003", "Mul", "*", "a * b", "14"}, {"T-004", "Div", "/", "a / b", "3"},
	}
}

// onePackage returns a module of one package with a table that every task edits, and a test for
// each task.
func onePackage() string {
	var table, tests, plan strings.Builder
	for i, o := range ops() {
		fmt.Fprintf(&table, "\t// %s is to be here.\n\t// It takes a and b.\n\n\t// End of %s.\n", o.name, o.name)
		fmt.Fprintf(&tests, "func Test%s(t *testing.T) {\n\tif f := table[%q]; f == nil || f(7, 2) != %s {\n\t\tt.Error(%q)\n\t}\n}\n\n", o.name, o.sign, o.want, o.name)
		if i > 0 {
			plan.WriteString(",")
		}
		fmt.Fprintf(&plan, `{"id": %q, "subject": "Write %s", "files": [{"path": %q, "action": "create"}], "verify": ["go vet . && go test -run Test%s ."]}`,
			o.id, o.name, strings.ToLower(o.name)+".go", o.name)
	}
	return "-- .gitignore --\n.loop\n-- go.mod --\nmodule ops\n\ngo 1.24\n" +
		"-- table.go --\npackage ops\n\nvar table = map[string]func(a, b int) int{\n" + table.String() + "}\n" +
		"-- table_test.go --\npackage ops\n\nimport \"testing\"\n\n" + tests.String() +
		"-- plan.json --\n" + `{"version": 1, "budget": {"usd": 4}, "parallel": 4, "isolation": "worktree", "defaults": {"model": "claude-sonnet-4-5"}, "tasks": [` + plan.String() + "]}\n"
}

// gitIn runs git like a user without configuration.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestFourTasksInOnePackage(t *testing.T) {
	t.Parallel()
	gate := fakeapi.NewLatch()
	script := fakeapi.Script{Prices: prices}
	for _, o := range ops() {
		// The table first: until the function is written the package does not build. All four
		// agents reach this point before any continues.
		script.Agents = append(script.Agents, &fakeapi.Agent{Name: o.id, When: task(o.id), Steps: []fakeapi.Reply{
			fakeapi.Use(fakeapi.Read("table.go")).WithUsage(use),
			fakeapi.Use(fakeapi.Edit("table.go", "\t// "+o.name+" is to be here.", fmt.Sprintf("\t%q: %s,", o.sign,
				o.name))).WithUsage(use),
			fakeapi.Use(fakeapi.Write(strings.ToLower(o.name)+".go",
				fmt.Sprintf("package ops\n\nfunc %s(a, b int) int { return %s }\n", o.name,
					o.body))).WithUsage(use).WaitingFor(gate),
			fakeapi.Use(fakeapi.Bash("go vet . && go test -run Test" + o.name + " .")).WithUsage(use),
			report("true"),
		}})
	}
	srv := fakeapi.New(t, script)
	r := newRepo(t, onePackage())
	gitIn(t, r.dir, "init", "-q", "-b", "main")
	gitIn(t, r.dir, "config", "user.name", "Some One")
	gitIn(t, r.dir, "config", "user.email", "one@example.com")
	gitIn(t, r.dir, "add", "-A")
	gitIn(t, r.dir, "commit", "-qm", "first")
	w := r.wavex(srv, "run", "plan.json", "--output", "json", "--counsel", "off")
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	for _, o := range ops() {
		third := func(m *fakeapi.Request) bool { return m.ToolTurns() == 2 }
		if _, err := srv.Wait(ctx, fakeapi.All(task(o.id), third)); err != nil {
			t.Errorf("%s beside the others: %v", o.id, err)
		}
	}
	if dirty := gitIn(t, r.dir, "status", "--porcelain"); dirty != "" {
		t.Errorf("the user's checkout has changes while the agents work: %s", dirty)
	}
	gate.Open()
	e := w.end()
	if e.exit != 0 {
		t.Fatalf("exit %d\nstdout: %s\nstderr: %s", e.exit, e.stdout, e.stderr)
	}
	all, last := e.events(t)
	if last.Status != "complete" || last.Tasks.Completed != 4 || last.Iterations != 4 {
		t.Errorf("%s", last.Data)
	}
	delivered := ""
	for _, v := range all {
		if v.Type == "delivery_ended" {
			delivered = string(v.Data)
		}
	}
	if !strings.Contains(delivered, `"how":"ff"`) {
		t.Errorf("the delivery is %q", delivered)
	}
	got := strings.Split(gitIn(t, r.dir, "log", "--format=%s", "main"), "\n")
	if slices.Sort(got[:len(got)-1]); strings.Join(got, ", ") != "Write Add, Write Div, Write Mul, Write Sub, first" {
		t.Errorf("the branch has %q", got)
	}
	if dirty := gitIn(t, r.dir, "status", "--porcelain"); dirty != "" {
		t.Errorf("after the delivery the checkout has changes: %s", dirty)
	}
	if left, _ := filepath.Glob(filepath.Join(r.dir, ".loop", "worktrees", "*.[0-9]*")); len(left) > 0 {
		t.Errorf("worktrees stay: %v", left)
	}
	test := exec.Command("go", "test", "./...")
	test.Env = append(os.Environ(), goFlags)
	test.Dir, test.Env = r.dir, Env(t, srv)
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("the package's own tests: %v\n%s", err, out)
	}
	if srv.Peak() != 4 {
		t.Errorf("%d requests at once, want 4", srv.Peak())
	}
}
