//go:build unix

package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/filetree"
	"wavex/internal/plan"
	"wavex/internal/policy"
	"wavex/internal/proc"
	"wavex/internal/proc/proctest"
)

// closedPaths lists the paths that decide on an attempt's work, also for a linked working tree in .loop. The policy
// denies calls that write them.
func TestClosedPaths(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	tree := filepath.Join(project, ".loop", "worktrees", "R.1")
	for name, text := range map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "", ".git/hooks/x": "", ".loop/journal.jsonl": "",
		".git/worktrees/R.1/HEAD": "ref: x\n", ".git/worktrees/R.1/commondir": "../..\n",
		".loop/worktrees/R.1/.git": "gitdir: " + project + "/.git/worktrees/R.1\n", ".loop/worktrees/R.1/prot/a/f": "",
		".loop/worktrees/R.1/sub/x": "", "plan.json": "", "prot/a/f": "", "sub/f": "", ".claude/settings.json": "",
		".claude/settings.local.json": "", ".claude/agents/a.md": "", ".claude/worktrees/w/f": "",
		"sub/.claude/settings.json": "", "sub/.claude/skills/s/SKILL.md": "", "sub/b/.claude/agents/a.md": "",
	} {
		path := filepath.Join(project, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	protect := []string{"prot", "none"}
	common := []string{".loop/journal.jsonl", ".git/hooks", ".git/config", ".git/config.worktree", ".mcp.json"}
	for name, c := range map[string]struct {
		req      Request
		has, not []string
	}{
		"project": {Request{Dir: project, Protect: protect, Guards: []Guard{{Path: "plan.json"}}},
			append(common, ".loop", "plan.json", "prot", ".claude/settings.json", ".claude/settings.local.json",
				".claude/agents", "sub/.claude/settings.json", "sub/.claude/skills", "sub/b/.claude/agents"),
			[]string{".", ".git", ".claude", ".claude/worktrees", "sub"}},
		"folder of it": {Request{Dir: filepath.Join(project, "sub"), Settings: plan.Settings{Dir: "sub"},
			Protect: []string{"prot"}},
			append(common, ".loop", "prot", ".claude/settings.json"), []string{"sub"}},
		"declared": {Request{Dir: project, Files: []plan.File{{Path: ".claude/agents/b.md", Action: "create"}}},
			append(common, ".claude/settings.json", ".claude/settings.local.json"), []string{".claude/agents", "prot"}},
		"declared below": {Request{Dir: project, Files: []plan.File{{Path: "sub/.claude/skills/s/x", Action: "create"}}},
			append(common, ".claude/agents", "sub/.claude/settings.json", "sub/b/.claude/agents"),
			[]string{"sub/.claude/skills"}},
		"its own tree": {Request{Dir: tree, Protect: protect},
			append(common, ".loop", ".loop/worktrees/R.1/.git", ".loop/worktrees/R.1/prot",
				".git/worktrees/R.1/config.worktree", ".git/worktrees/R.1/commondir", ".git/worktrees/R.1/gitdir"),
			[]string{".git"}}, // the wall opens the tree itself
		"folder of its own tree": {Request{Dir: filepath.Join(tree, "sub"), Settings: plan.Settings{Dir: "sub"},
			Protect: []string{"prot"}},
			append(common, ".loop", ".loop/worktrees/R.1/prot"), []string{".git"}},
	} {
		c.req.Closed = []string{filepath.Join(project, ".loop")}
		var got []string
		for _, p := range c.req.closedPaths("") {
			rel, err := filepath.Rel(project, p)
			must(t, err)
			got = append(got, rel)
		}
		rules := c.req.policy(nil)
		rules.Edits = policy.EditsOff
		judge := policy.New(rules)
		denied := func(p string) bool {
			input := fmt.Appendf(nil, `{"file_path":%q}`, filepath.Join(project, p, "f"))
			return judge.Before(policy.Call{Tool: "Write", Input: input}).Act == policy.Deny
		}
		isClosed := func(p string) bool {
			return slices.ContainsFunc(got, func(g string) bool { return p == g || strings.HasPrefix(p, g+"/") })
		}
		for _, p := range c.has {
			if p != ".mcp.json" && !isClosed(p) {
				t.Errorf("%s: %s is open: %v", name, p, got)
			}
			if (p != ".mcp.json" || !strings.HasSuffix(name, "its own tree")) && !denied(p) {
				t.Errorf("%s: the policy lets %s be written: %+v", name, p, rules)
			}
		}
		for _, p := range c.not {
			if isClosed(p) {
				t.Errorf("%s: %s is closed: %v", name, p, got)
			}
			if strings.Contains(p, "sub") && denied(p) {
				t.Errorf("%s: the policy denies writing %s: %+v", name, p, rules)
			}
		}
		if denied(filepath.ToSlash(strings.TrimPrefix(rules.Root, project)) + "/other") {
			t.Errorf("%s: the policy denies writing in %s: %+v", name, rules.Root, rules)
		}
	}
}

// A check behind a strict wall can write its own working tree, which may be a copy, but no closed path.
func TestCheckWrapper(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	proctest.Script(t, filepath.Join(top, "bwrap"), "#!/bin/sh\n") // the trial passes; nothing else starts
	strict, err := proc.TryStrictWall(t.Context(), top, []string{"PATH=" + top}, nil)
	if err != nil {
		t.Skip(err) // an ordinary user whose ssh has files of root
	}
	project, copied := filepath.Join(top, "project"), filepath.Join(top, "copy")
	for _, dir := range []string{project, copied} {
		projectFile(t, dir, ".git/HEAD", "ref: x")
		projectFile(t, dir, ".git/hooks/x", "")
		projectFile(t, dir, "plan.json", "")
	}
	run := filepath.Join(project, "run")
	projectFile(t, run, "x", "")
	a := &attempt{Local: &Local{Host: Host{Wall: strict}}, req: Request{Dir: project, Closed: []string{run},
		Guards: []Guard{{Path: "plan.json"}}}}
	for root, closed := range map[string][]string{project: {project + "/.git/hooks", run},
		copied: {copied + "/.git/hooks"}} {
		wrapper := strings.Join(CheckWrapper(strict, root, a.req.Closed), " ")
		for _, at := range closed {
			if !strings.Contains(wrapper, "--ro-bind-try "+at+" ") {
				t.Errorf("in %s, %s is open: %s", root, at, wrapper)
			}
		}
		if strings.Count(wrapper, " --bind ") != 1 || !strings.Contains(wrapper, " --bind "+root+" ") ||
			strings.Contains(wrapper, "plan.json") { // a guarded file is watched
			t.Errorf("in %s: %s", root, wrapper)
		}
		if root == project && strings.Join(a.place().Wrapper, " ") != wrapper {
			t.Errorf("in %s a check of the run has another wall", root)
		}
	}
	a.env = []string{"TMPDIR=/t"}
	if got := a.withoutPush()["GIT_CONFIG_VALUE_2"]; got != "/tmp/" { // an agent's own, behind it
		t.Errorf("an agent may push into %q", got)
	}
	for _, w := range []*proc.Wall{nil, {}} {
		if got := a.req.checkWrapper(w); got != nil {
			t.Errorf("%q", got)
		}
	}
}

// The settings of a task make its rules; those that are missing have the defaults.
func TestPolicySettings(t *testing.T) {
	t.Parallel()
	none := 0
	for _, c := range []struct {
		settings plan.Settings
		want     policy.Rules
	}{
		{plan.Settings{},
			policy.Rules{Edits: policy.EditsWorktree, Deny: plan.DefaultDeny(), Repeat: plan.DefaultRepeat}},
		{plan.Settings{PolicyEdits: policy.EditsFiles, PolicyDeny: []string{}, PolicyRepeat: &none,
			AllowedTools: []string{"x"}}, policy.Rules{Edits: policy.EditsFiles, Deny: []string{}, Allowed: []string{"x"}}},
	} {
		got := (&Request{Dir: "/p", Settings: c.settings}).policy(nil)
		if got.Edits != c.want.Edits || !slices.Equal(got.Deny, c.want.Deny) || got.Repeat != c.want.Repeat ||
			!slices.Equal(got.Allowed, c.want.Allowed) {
			t.Errorf("%+v gives %+v", c.settings, got)
		}
	}
}

// The policy lets editing tools write temporary files and the CLI's notes outside of the project, and nothing else.
func TestCommonDirs(t *testing.T) {
	t.Parallel()
	r := Request{Dir: "/p"}
	env := []string{"HOME=/h", "TMPDIR=/t/1", "TEMP=/t/1"}
	if dirs := commonDirs(append(env, "CLAUDE_CONFIG_DIR=relative")); slices.Contains(dirs, "relative/plans") ||
		slices.Contains(dirs[1:], "/t/1") {
		t.Errorf("the directories are %q", dirs)
	}
	judge := policy.New(r.policy(env))
	for path, want := range map[string]policy.Act{"/tmp/x": policy.Pass, "f": policy.Pass, "/t/1/f": policy.Pass,
		"/h/.claude/projects/p/memory/m.md": policy.Pass, "/h/.claude/plans/p.md": policy.Pass, "/h/.bashrc": policy.Deny,
		"/h/.claude/settings.json": policy.Deny, "/t/2": policy.Deny} {
		if d := judge.Before(policy.Call{Tool: "Write", Input: fmt.Appendf(nil, `{"file_path":%q}`, path)}); d.Act != want {
			t.Errorf("%s: %+v, want %s", path, d, want)
		}
	}
}

// What an earlier attempt changed is open, so that a retry can put it back. The first attempt puts nothing back.
func TestRetriesPutBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := baseline{Protected: filetree.Tree{}}
	r := Request{Dir: dir, Files: []plan.File{{Path: "a.go", Action: "create"}},
		Protect: []string{"prot"}}
	for _, name := range []string{"prot/kept", "prot/cut"} {
		projectFile(t, dir, name, "old")
		b.Protected[name] = filetree.State(FileDigest(dir, name))
	}
	for _, name := range []string{"prot/cut", "prot/new"} {
		projectFile(t, dir, name, "new")
	}
	for r.Attempt = 1; r.Attempt <= 3; r.Attempt++ {
		rules := r.policy(nil)
		r.openChanged(&rules, b)
		judge := policy.New(rules)
		for name, rule := range map[string][2]string{"prot/kept": {ruleProtect, ruleProtect},
			"prot/cut": {ruleProtect, ""}, "prot/new": {ruleProtect, ""},
			"prot/other": {ruleProtect, ruleProtect}} {
			want := rule[min(r.Attempt, 2)-1]
			input := fmt.Appendf(nil, `{"file_path":%q}`, filepath.Join(dir, name))
			if d := judge.Before(policy.Call{Tool: "Write", Input: input}); d.Rule != want {
				t.Errorf("attempt %d, %s: %+v, want %q", r.Attempt, name, d, want)
			}
		}
	}
}

// A .git file that names no directory closes nothing, and its directory is the working tree.
func TestGitPathsOfAStrangeFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	projectFile(t, dir, "a/.git", "something else")
	projectFile(t, dir, "a/b/c", "")
	root, repository, closed := gitPaths(filepath.Join(dir, "a", "b"))
	if root != filepath.Join(dir, "a") || repository != "" || closed != nil {
		t.Errorf("%s, %s, %q", root, repository, closed)
	}
	if root, _, _ := gitPaths(dir); root != dir {
		t.Errorf("without a repository the working tree is %s", root)
	}
}

// git's own files decide which repository is meant: a commondir that names another directory opens no directory, and
// the files that git would read there are closed.
func TestRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"main/.git/HEAD": "ref: x", "main/.git/worktrees/n/HEAD": "ref: y",
		"main/.git/worktrees/n/commondir": "../..\n", "linked/.git": "gitdir: ../main/.git/worktrees/n\n",
		"planted/.git/HEAD": "ref: x", "planted/.git/commondir": dir + "/home\n", "home/config": "",
		"astray/.git": "gitdir: n\n", "astray/n/HEAD": "ref: x", "astray/n/commondir": "../../home\n", "none/f": ""} {
		projectFile(t, dir, name, text)
	}
	for name, want := range map[string][]string{"main": {"main/.git", "main/.git/hooks", "main/.git/config"},
		"linked":  {"main/.git", "linked/.git", "main/.git/config", "main/.git/worktrees/n/commondir"},
		"planted": {"", "planted/.git/config", "planted/.git/commondir", "home/config"},
		"astray":  {"", "astray/.git", "astray/n/commondir", "home/hooks"}, "none": {""}} {
		repository, closed := Repository(filepath.Join(dir, name))
		if want[0] != "" {
			want[0] = filepath.Join(dir, want[0])
		}
		if repository != want[0] || len(want) == 1 && closed != nil {
			t.Errorf("%s: %q and %q", name, repository, closed)
		}
		for _, p := range want[1:] {
			if !slices.Contains(closed, filepath.Join(dir, p)) {
				t.Errorf("%s: %s is open: %q", name, p, closed)
			}
		}
	}
}

func projectFile(t *testing.T, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, name)
	must(t, os.MkdirAll(filepath.Dir(at), 0o755))
	must(t, os.WriteFile(at, []byte(text), 0o644))
}

// A wall gets the paths that exist. If a pattern names a directory and its entries, the wall gets the directory only.
func TestClosedDirectories(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "node_modules") // its own name tells nothing
	for _, name := range []string{".claude/settings.json", ".claude/.claude/x", ".claude/.git/x", ".claude/worktrees/w/x",
		".claude/a/x", ".claude/z", ".git/x/.claude/x", ".loop/x/.claude/x", "a/node_modules/x/.claude/x", "b/.git",
		"b/z/.claude/x", "c/.claude", "c/z/.claude/x"} {
		projectFile(t, dir, name, "")
	}
	closed := policy.Closed{Path: filepath.Join(dir, ".claude"), Patterns: []string{"*"},
		Except: []string{filepath.Join(dir, ".claude", "worktrees")}}
	for name, c := range map[string]struct{ got, want []string }{
		"named":   {dirsNamed(".claude", dir), []string{".claude", "b/z/.claude", "c/z/.claude"}},
		"matched": {matchingPaths(closed), []string{".claude/.claude", ".claude/a", ".claude/settings.json", ".claude/z"}},
		"gone":    {append(dirsNamed("x", dir+"/gone"), matchingPaths(policy.Closed{Path: dir + "/gone"})...), nil},
		"of a rule": {(&Request{Dir: dir, Closed: []string{"/run"}, Guards: []Guard{{Path: "plan.json"}}}).closedPaths(
			ruleRun), []string{"../../run", "plan.json"}},
	} {
		for i, at := range c.got {
			rel, err := filepath.Rel(dir, at)
			must(t, err)
			if c.got[i] = rel; at == "/run" {
				c.got[i] = "../../run"
			}
		}
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}
