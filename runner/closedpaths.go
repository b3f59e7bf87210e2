package runner

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/policy"
	"wavex/internal/proc"
	"wavex/internal/safefile"
)

// This file lists the paths that are closed to the agent of an attempt, for the policy and for a wall, and makes the
// policy of the attempt.

// These are the rules of closed paths.
const (
	ruleRun     = "run"     // the run's own files
	ruleProtect = "protect" // of the plan
	ruleCLI     = "project" // files from which git and the CLI run programs
)

// closed returns the paths that the agent must not write, the most important first. Some do not exist.
func (r *Request) closed() (list []policy.Closed) {
	add := func(rule, why string, paths ...string) {
		for _, at := range paths {
			list = append(list, policy.Closed{Path: at, Rule: rule, Why: why})
		}
	}
	for _, at := range r.Closed {
		add(ruleRun, "the run depends on it", at)
		if rel, err := filepath.Rel(at, r.root()); err == nil && rel != "." && filepath.IsLocal(rel) {
			list[len(list)-1].Except = []string{r.root()} // a working tree is in .loop
		}
	}
	for _, g := range r.Guards {
		if g.Why == WhyCLI {
			continue // below, with their folders
		}
		add(ruleRun, g.Why, filepath.Join(r.Dir, filepath.FromSlash(g.Path)))
	}
	root, _, git := gitPaths(r.Dir)
	add(ruleCLI, "git runs programs that it names; git -c sets a value for one command", git...)
	for _, dir := range slices.Compact([]string{r.Dir, root}) {
		add(ruleCLI, "the CLI runs programs that it names", filepath.Join(dir, ".mcp.json"))
		at := filepath.Join(dir, claudeDir)
		list = append(list, policy.Closed{Path: at, Patterns: []string{"settings*"}, Rule: ruleCLI,
			Why: WhyCLI})
		if !r.writesIn(claudeDir) {
			// The CLI itself makes the trees of its own agents in the last one.
			list = append(list, policy.Closed{Path: at, Patterns: []string{"*"}, Rule: ruleCLI,
				Why: "the task does not declare it", Except: []string{filepath.Join(at, "worktrees")}})
		}
	}
	if project := r.root(); len(r.Protect) > 0 {
		list = append(list, policy.Closed{Path: project, Patterns: r.Protect, Rule: ruleProtect, Why: "the plan protects it",
			Except: []string{filepath.Join(project, ".git"), filepath.Join(project, loop.Name)}})
	}
	return append(list, r.closedBelow(root)...)
}

// closedBelow closes the CLI's directories at any depth of the working tree root, as closed does in the root: the CLI
// reads those of the folders that it works in.
func (r *Request) closedBelow(root string) []policy.Closed {
	open := []string{filepath.Join(root, claudeDir), filepath.Join(r.Dir, claudeDir)} // closed has them
	for _, p := range plan.Written(r.Files) {
		parts := strings.Split(filepath.ToSlash(filepath.Clean(p)), "/")
		if i := slices.Index(parts, claudeDir); i >= 0 {
			open = append(open, filepath.Join(r.Dir, filepath.Join(parts[:i+1]...)))
		}
	}
	return []policy.Closed{
		{Path: root, In: claudeDir, Patterns: []string{"settings*"}, Rule: ruleCLI, Why: WhyCLI},
		{Path: root, In: claudeDir, Patterns: []string{"*"}, Except: open, Rule: ruleCLI,
			Why: "the task does not declare it"},
	}
}

// closedPaths returns the paths of closed for a wall: those that exist, where patterns name them, and of one rule if it
// is not "". The working tree may be in one of them, .loop.
func (r *Request) closedPaths(rule string) (paths []string) {
	var below func() []string
	for _, c := range r.closed() {
		if rule != "" && c.Rule != rule {
			continue
		}
		if c.In != "" {
			if below == nil {
				below = sync.OnceValue(func() []string { return dirsNamed(c.In, c.Path) })
			}
			for _, dir := range below() {
				if !slices.Contains(c.Except, dir) {
					paths = append(paths, matchingPaths(policy.Closed{Path: dir, Patterns: c.Patterns})...)
				}
			}
		} else if len(c.Patterns) > 0 {
			paths = append(paths, matchingPaths(c)...)
		} else {
			paths = append(paths, c.Path)
		}
	}
	return paths
}

// dirsNamed returns the directories of a name in dir, at any depth but not within each other.
func dirsNamed(name, dir string) (out []string) {
	_ = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir() || at == dir:
			return nil
		case d.Name() == name:
			out = append(out, at)
			return fs.SkipDir
		case d.Name() == ".git" || d.Name() == loop.Name || d.Name() == "node_modules":
			return fs.SkipDir
		}
		return nil
	})
	return out
}

// matchingPaths returns the existing files and folders that the patterns of a closed path match.
func matchingPaths(c policy.Closed) (out []string) {
	_ = filepath.WalkDir(c.Path, func(at string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(c.Path, at)
		switch {
		case err != nil || rerr != nil || rel == ".":
			return nil
		case d.IsDir() && (d.Name() == ".git" || slices.Contains(c.Except, at)):
			return fs.SkipDir
		case !policy.Matches(c.Patterns, filepath.ToSlash(rel)):
			return nil
		}
		if out = append(out, at); d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return out
}

// policy returns the rules for the tool calls of the agent. env is its environment.
func (r *Request) policy(env []string) policy.Rules {
	rules := policy.Rules{Dir: r.Dir, Root: r.root(), Home: proc.Getenv(env, "HOME"),
		Edits: cmp.Or(r.Settings.PolicyEdits, policy.EditsWorktree), Deny: r.Settings.PolicyDeny,
		Ask: r.Settings.PolicyAsk, Allowed: r.Settings.AllowedTools, Repeat: plan.DefaultRepeat, Closed: r.closed(),
		Temp: commonDirs(env)}
	if rules.Deny == nil {
		rules.Deny = plan.DefaultDeny()
	}
	if n := r.Settings.PolicyRepeat; n != nil {
		rules.Repeat = *n
	}
	for _, p := range plan.Written(r.Files) {
		rules.Files = append(rules.Files, filepath.Join(r.Dir, filepath.FromSlash(p)))
	}
	for _, c := range r.Checks {
		if c.Run != "" {
			rules.Checks = append(rules.Checks, strings.TrimSpace(c.Run))
		}
	}
	return rules
}

// commonDirs returns directories outside of the project that editing tools may write: those for temporary files, and
// the CLI's for its plans and memory.
func commonDirs(env []string) (dirs []string) {
	config := cmp.Or(proc.Getenv(env, "CLAUDE_CONFIG_DIR"), filepath.Join(proc.Getenv(env, "HOME"), claudeDir))
	for _, dir := range []string{proc.Getenv(env, "TMPDIR"), proc.Getenv(env, "TEMP"), os.TempDir(), "/tmp", "/var/tmp",
		filepath.Join(config, "plans"), filepath.Join(config, "projects")} {
		if filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// openChanged opens the protected files that an earlier attempt changed, so that this one can put them back.
func (r *Request) openChanged(rules *policy.Rules, b baseline) {
	if r.Attempt < 2 {
		return
	}
	changed := b.changedProtected(r)
	for i, c := range rules.Closed {
		for _, file := range changed {
			if c.Rule == ruleProtect {
				rules.Closed[i].Except = append(rules.Closed[i].Except, filepath.Join(c.Path, filepath.FromSlash(file)))
			}
		}
	}
}

// CheckWrapper returns the proc.Spec.Wrapper of checks in a working tree: nil unless the wall is strict. They do not
// write closed, nor the files from which git and the CLI run programs.
func CheckWrapper(w *proc.Wall, root string, closed []string) []string {
	return (&Request{Dir: root, Closed: closed}).checkWrapper(w)
}

// checkWrapper returns the proc.Spec.Wrapper of the attempt's checks and its command. See CheckWrapper.
func (r *Request) checkWrapper(w *proc.Wall) []string {
	if !w.Strict() {
		return nil
	}
	return w.Offline(append(slices.Clone(r.Closed), r.closedPaths(ruleCLI)...), r.root())
}

// claudeDir is the CLI's directory in a project.
const claudeDir = ".claude"

// writesIn reports whether the task declares that it writes a directory, or files in it.
func (r *Request) writesIn(dir string) bool {
	return slices.ContainsFunc(plan.Written(r.Files), func(p string) bool {
		return Declares([]string{dir}, filepath.ToSlash(filepath.Clean(p)))
	})
}

// maxGitFile bounds the files that name a directory of git, in bytes.
const maxGitFile = 1 << 16

// Repository returns the directory of the repository that dir is in, or "", and the paths in which git finds programs
// to run. A wall opens the first: it must be found before an agent can change the files that name it.
func Repository(dir string) (repository string, closed []string) {
	_, repository, closed = gitPaths(dir)
	return repository, closed
}

// gitPaths returns the working tree that dir is in, or dir if it is in none, the directory of its repository, which may
// be "", and the paths in which git finds programs to run: its hooks and configuration, and the files that name them.
func gitPaths(dir string) (root, repository string, closed []string) {
	for root = dir; ; root = filepath.Dir(root) {
		at := filepath.Join(root, ".git")
		text, err := safefile.Read(at, maxGitFile)
		gitDir := at
		if err == nil { // a working tree of its own
			rest, is := bytes.CutPrefix(text, []byte("gitdir:"))
			if !is {
				return root, "", nil
			}
			gitDir = absolute(root, strings.TrimSpace(string(rest)))
			closed = append(closed, at)
		}
		if _, err := safefile.Read(filepath.Join(gitDir, "HEAD"), maxGitFile); err == nil {
			common := filepath.Clean(gitDir)
			in := []string{common}
			if text, err := safefile.Read(filepath.Join(gitDir, "commondir"), maxGitFile); err == nil {
				// In a linked tree that git made, commondir is "../.." in a directory worktrees. git writes no other text.
				common = absolute(gitDir, strings.TrimSpace(string(text)))
				if filepath.Dir(in[0]) == filepath.Join(common, "worktrees") {
					repository = common
				}
				in = append(in, common)
			} else {
				repository = common
			}
			for _, dir := range in {
				for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "gitdir"} {
					closed = append(closed, filepath.Join(dir, name))
				}
			}
			return root, repository, closed
		}
		if filepath.Dir(root) == root {
			return dir, "", nil
		}
	}
}
