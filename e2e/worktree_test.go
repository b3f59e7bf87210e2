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

// oneOp is a task of the program: its function, and the line of the table that names it.
type oneOp struct{ id, name, sign, want string }

func ops() []oneOp {
	return []oneOp{
		{"T-001", "Add", "+", "9"}, {"T-002", "Sub", "-", "5"}, {"T-003", "Mul", "*", "14"}, {"T-004", "Div", "/", "3"},
	}
}

// onePackage returns a shell program with a table that every task edits, and a check for each task. Like a
// package, it loads every function that the table names, or nothing.
func onePackage() string {
	var table, plan strings.Builder
	for i, o := range ops() {
		fmt.Fprintf(&table, "# %s is to be here.\n# It takes a and b.\n\n# End of %s.\n", o.name, o.name)
		if i > 0 {
			plan.WriteString(",")
		}
		fmt.Fprintf(&plan, `{"id": %q, "subject": "Write %s", "files": [{"path": %q, "action": "create"}], "verify": [%q]}`,
			o.id, o.name, o.file(), o.check())
	}
	return "-- .gitignore --\n.loop\n-- table --\n" + table.String() +
		"-- check.sh --\nset -e\nfor name in $(sed -n 's/^op //p' table); do . \"./$name.sh\"; done\n" +
		"test \"$($1 7 2)\" = $2\n" +
		"-- plan.json --\n" + `{"version": 1, "budget": {"usd": 4}, "parallel": 4, "isolation": "worktree",
  "defaults": {"model": "claude-sonnet-4-5"}, "tasks": [` + plan.String() + "]}\n"
}

func (o oneOp) file() string { return o.name + ".sh" }

// check returns the command that loads the program and calls the function.
func (o oneOp) check() string { return "sh check.sh " + o.name + " " + o.want }

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
		// The table first: until the function is written the program cannot be loaded. All four
		// agents reach this point before any continues.
		script.Agents = append(script.Agents, &fakeapi.Agent{Name: o.id, When: task(o.id), Steps: []fakeapi.Reply{
			fakeapi.Use(fakeapi.Read("table")).WithUsage(use),
			fakeapi.Use(fakeapi.Edit("table", "# "+o.name+" is to be here.", "op "+o.name)).WithUsage(use),
			fakeapi.Use(fakeapi.Write(o.file(), fmt.Sprintf("%s() { echo $(($1 %s $2)); }\n", o.name,
				o.sign))).WithUsage(use).WaitingFor(gate),
			fakeapi.Use(fakeapi.Bash(o.check())).WithUsage(use),
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
	for _, o := range ops() {
		check := exec.Command("sh", strings.Fields(o.check())[1:]...)
		check.Dir = r.dir
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s in the delivered work: %v\n%s", o.check(), err, out)
		}
	}
	if srv.Peak() != 4 {
		t.Errorf("%d requests at once, want 4", srv.Peak())
	}
}
