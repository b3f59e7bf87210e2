//go:build unix

package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/plan"
)

// closedPaths lists the paths that decide on an attempt's work, also for a linked working tree in .loop.
func TestClosedPaths(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	tree := filepath.Join(project, ".loop", "worktrees", "R.1")
	for name, text := range map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "", ".git/hooks/x": "", ".loop/journal.jsonl": "",
		".git/worktrees/R.1/HEAD": "ref: x\n", ".git/worktrees/R.1/commondir": "../..\n",
		".loop/worktrees/R.1/.git": "gitdir: " + project + "/.git/worktrees/R.1\n", ".loop/worktrees/R.1/prot/a/f": "",
		".loop/worktrees/R.1/sub/x": "", "plan.json": "", "prot/a/f": "", "sub/f": "", ".claude/settings.json": "",
		".claude/agents/a.md": "", ".claude/worktrees/w/f": "",
	} {
		path := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	protect := &Protect{Patterns: []string{"prot", "none"}}
	common := []string{".loop/journal.jsonl", ".git/hooks", ".git/config", ".mcp.json"}
	for name, c := range map[string]struct {
		req      Request
		has, not []string
	}{
		"project": {Request{Dir: project, Protect: protect, Guards: []Guard{{Path: "plan.json"}}},
			append(common, ".loop", "plan.json", "prot", ".claude/settings.json", ".claude/agents"),
			[]string{".", ".git", ".claude", ".claude/worktrees", "sub"}},
		"folder of it": {Request{Dir: filepath.Join(project, "sub"), Protect: &Protect{Patterns: []string{"prot"}, Under: "sub"}},
			append(common, ".loop", "prot", ".claude/settings.json"), []string{"sub"}},
		"declared": {Request{Dir: project, Files: []plan.File{{Path: ".claude/agents/b.md", Action: "create"}}},
			append(common, ".claude/settings.json"), []string{".claude/agents", "prot"}},
		"its own tree": {Request{Dir: tree, Protect: protect},
			append(common, ".loop", ".loop/worktrees/R.1/.git", ".loop/worktrees/R.1/prot",
				".git/worktrees/R.1/config.worktree"), []string{".git"}}, // the wall opens the tree itself
	} {
		c.req.Closed = []string{filepath.Join(project, ".loop")}
		var got []string
		for _, p := range c.req.closedPaths() {
			rel, err := filepath.Rel(project, p)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rel)
		}
		isClosed := func(p string) bool {
			return slices.ContainsFunc(got, func(g string) bool { return p == g || strings.HasPrefix(p, g+"/") })
		}
		for _, p := range c.has {
			if p != ".mcp.json" && !isClosed(p) {
				t.Errorf("%s: %s is open: %v", name, p, got)
			}
		}
		for _, p := range c.not {
			if isClosed(p) {
				t.Errorf("%s: %s is closed: %v", name, p, got)
			}
		}
	}
}
