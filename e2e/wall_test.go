//go:build unix

package e2e

// This file tests the wall around agents. Where bubblewrap is missing, the same agents get through and are found out.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/wall"
)

// An agent writes a protected file by a command whose text does not show it. The wall stops it, and the task is done;
// without one the attempt is wrong. The report says which it was. Git works behind it, also in a linked working tree.
func TestWall(t *testing.T) {
	t.Parallel()
	for _, c := range shared.clis {
		for _, isolation := range []string{"shared", "worktree"} {
			for _, sandbox := range []string{"auto", "off"} {
				t.Run(c.name+" "+isolation+" "+sandbox, func(t *testing.T) {
					t.Parallel()
					testWall(t, c, isolation, sandbox)
				})
			}
		}
	}
}

func testWall(t *testing.T, c cli, isolation, sandbox string) {
	const command = "p=pr; echo new > ${p}ot/f; echo new > .claude/settings.json; echo x >> .git/hooks/pre-push; " +
		"git config core.pager evil; echo work > work.txt && git add work.txt && git commit -qm work && echo committed"
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{{When: task("T-001"),
		Steps: []fakeapi.Reply{fakeapi.Use(fakeapi.Bash(command)).WithUsage(use), report("true")}}}})
	r := newRepo(t, "-- .gitignore --\n.loop\nplan.json\n-- prot/f --\nold\n-- .claude/settings.json --\n{}\n"+
		"-- plan.json --\n"+`{"protect": ["prot"], "budget": {"usd": 4}, "isolation": "`+isolation+
		`", "defaults": {"model": "claude-sonnet-4-5", "allowedTools": ["Bash"], "maxRetries": 0}, `+
		`"tasks": [{"id": "T-001", "subject": "Work", "files": [{"path": "work.txt", "action": "create"}]}]}`+"\n").on(c)
	gitIn(t, r.dir, "init", "-q", "-b", "main")
	gitIn(t, r.dir, "config", "user.name", "Some One")
	gitIn(t, r.dir, "config", "user.email", "one@example.com")
	gitIn(t, r.dir, "add", "-A")
	gitIn(t, r.dir, "commit", "-qm", "first")
	config, err := os.ReadFile(filepath.Join(r.dir, ".git", "config"))
	if err != nil {
		t.Fatal(err)
	}
	env := Env(t, srv)
	_, none := wall.Try(t.Context(), r.dir, env)
	if sandbox == "off" {
		none = wall.ErrMissing
	}
	e := r.wavexEnv(env, "run", "plan.json", "--output", "json", "--counsel", "off", "--accept-assumptions",
		"--sandbox", sandbox, "--report", "md=report.md").end()
	if none != nil {
		if e.exit != 1 || !strings.Contains(e.stdout, "changed what the plan protects: prot/f") {
			t.Errorf("exit %d without a wall\n%s\n%s", e.exit, e.stdout, e.stderr)
		}
		return
	}
	said, err := os.ReadFile(filepath.Join(r.dir, "report.md"))
	if e.exit != 0 || err != nil || !strings.Contains(string(said), "Wall: up") ||
		!strings.Contains(e.stdout, `"wall":true`) {
		t.Errorf("exit %d, %v\n%s\n%s\n%s", e.exit, err, said, e.stdout, e.stderr)
	}
	if now, err := os.ReadFile(filepath.Join(r.dir, ".git", "config")); err != nil || string(now) != string(config) {
		t.Errorf("the configuration of git is %q (%v), was %q", now, err, config)
	}
	if got := gitIn(t, r.dir, "log", "--format=%s", "main", "--", "work.txt"); got == "" {
		t.Errorf("the agent's commit is not on main\n%s", e.stdout)
	}
	if _, err := os.Stat(filepath.Join(r.dir, ".git", "hooks", "pre-push")); err == nil {
		t.Error("the agent made a hook")
	}
}
