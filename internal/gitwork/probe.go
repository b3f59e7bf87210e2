package gitwork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"wavex/internal/safefile"
	"wavex/internal/textfmt"
)

// This file finds out before the first attempt what of the user's git does not work in worktrees: names, filters,
// hooks, signatures. It tries them as attempts use them.

// hookProbeTimeout limits the trial of one hook. After twice that time no further message is tried.
const hookProbeTimeout = time.Minute

var errHookProbeTimeout = fmt.Errorf("it took longer than %s", hookProbeTimeout)

// commitHooks are the hooks that can refuse a commit, in the order in which git runs them.
var commitHooks = []string{"pre-commit", "prepare-commit-msg", "commit-msg"}

// missingTool matches the messages of shells, loaders and hooks about a program, a module or a file that is missing.
// Red tests may say that anything else was not found.
var missingTool = textfmt.Pattern(`(?im)^.*(command not found|: (line )?\d+: [^\s:]+: not found|` +
	`^(sh: )?[\w./-]+: not found|not found in |pre-commit\W? not found|not installed|no such file|no module named|` +
	`(can't|cannot) find (module|package|the (file|path)|.* in path)).*$`)

// probe returns an *Error if worktrees, or commits in them, are not possible. It leaves nothing then.
func (m *Manager) probe(ctx context.Context) (err error) {
	m.state.Base, m.state.Mode = cmp.Or(m.opts.Base, m.checkout.head), Worktree // for Clean, if this process is killed
	for _, try := range []func(context.Context) error{m.probeNames, m.probeFilters, m.probeTree, m.probeSigning} {
		if err = try(ctx); err != nil {
			break
		}
	}
	if err != nil {
		clean := m.removeUnusedTrees(context.WithoutCancel(ctx))
		if gone := safefile.Remove(m.opts.Loop.Worktree(m.opts.Run, "json")); !errors.Is(gone, fs.ErrNotExist) {
			clean = errors.Join(clean, gone)
		}
		m.state.Base, m.state.Mode, m.notices = "", "", nil
		return errors.Join(err, clean)
	}
	return nil
}

// removeKilledProbes removes the remains of runs whose wavex was killed during the probe. Such a run has not begun, so
// it is never resumed.
func (m *Manager) removeKilledProbes(ctx context.Context) error {
	states, err := listStates(m.opts.Loop)
	for _, path := range states {
		s, unread := readState(path)
		if unread != nil || s == nil || s.Mode != Worktree || s.Why != "" {
			continue // it has begun, or is for wavex clean
		}
		killed := Options{Project: m.opts.Project, Loop: m.opts.Loop, Run: s.Run, Env: m.opts.Env}
		items, failed := cleanRun(ctx, killed, false)
		if failed == nil && !slices.ContainsFunc(items, func(it CleanupItem) bool { return !it.Removed }) {
			failed = safefile.Remove(path)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// probeNames finds names that git or the file system cannot have.
func (m *Manager) probeNames(ctx context.Context) error {
	if id, err := m.g.resolve(ctx, "refs/heads/wavex"); err != nil {
		return err
	} else if id != "" {
		return &Error{BadBranch, "there is a branch named wavex, and git allows none below it",
			"rename it with git branch -m wavex NAME, or run with --isolation shared"}
	}
	if !isTrue(m.settings.value("core.ignorecase")) {
		return nil
	}
	out, err := m.g.output(ctx, "ls-tree", "-r", "-z", "--name-only", m.state.Base)
	names := map[string]string{}
	for _, name := range splitNUL(out) {
		folded := strings.ToLower(name)
		if other := names[folded]; other != "" {
			return &Error{BadNames, other + " and " + name + " differ by case only, and core.ignoreCase is set",
				"rename one of them with git mv, or run with --isolation shared"}
		}
		names[folded] = name
	}
	return err
}

// probeFilters tries each filter on one file.
func (m *Manager) probeFilters(ctx context.Context) error {
	base, err := m.g.output(ctx, "ls-tree", "-r", "-z", "--name-only", m.state.Base)
	if err != nil || base == "" {
		return err
	}
	_, noInfo := os.Stat(filepath.Join(m.checkout.common, "info", "attributes"))
	if noInfo != nil && !strings.Contains(base, ".gitattributes") {
		return nil
	}
	index, err := m.g.output(ctx, "ls-files", "-z", "-t")
	if err != nil {
		return err
	}
	sparse := map[string]bool{} // names that worktrees have not, either
	for _, entry := range splitNUL(index) {
		if name, ok := strings.CutPrefix(entry, "S "); ok {
			sparse[name] = true
		}
	}
	names := slices.DeleteFunc(splitNUL(base), func(name string) bool { return sparse[name] })
	tracked := strings.Join(names, "\x00")
	out, err := m.g.outputOf(ctx, tracked, "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return err
	}
	known := []string{"unspecified", "unset", "set"}
	for facts := splitNUL(out); len(facts) >= 3; facts = facts[3:] {
		path, name := facts[0], facts[2]
		if slices.Contains(known, name) {
			continue
		}
		known = append(known, name)
		if !m.settings.matches("filter."+name+".", "") {
			m.notice("git does not know the filter %s of %s: attempts get what git has, and commits get whole files", name, path)
			continue
		}
		g := m.g
		g.most = 1 // only the exit code counts
		err = g.run(ctx, "cat-file", "--filters", m.state.Base+":"+path)
		if exitCode(err) > 0 {
			return &Error{BadFilter, fmt.Sprintf("the filter %s of %s fails: %v", name, path, err),
				"install its program, or run with --isolation shared"}
		} else if err != nil {
			return err
		}
	}
	return nil
}

// findHooks finds the hooks that git runs. Worktrees lack those that git does not track: then the hooks of the checkout
// run, else those of the worktree.
func (m *Manager) findHooks(ctx context.Context) error {
	path := m.settings.value("core.hookspath")
	if strings.HasPrefix(path, "~") || strings.HasPrefix(path, "%") { // git expands it
		var err error
		if path, err = m.g.config(ctx, "--type=path", "core.hooksPath"); err != nil {
			return err
		}
	}
	m.hooksDir = absolute(m.checkout.top, path)
	if path == "" {
		m.hooksDir = filepath.Join(m.checkout.common, "hooks")
	}
	m.hooks = m.hooksDir
	_, missing := os.Stat(m.hooksDir)
	switch {
	case path == "" || filepath.IsAbs(path):
	case missing != nil:
		m.hooks = path
	default:
		untracked, err := m.g.output(ctx, "ls-files", "-z", "--others", "--", m.hooksDir)
		inside, _ := filepath.Rel(m.checkout.common, m.hooksDir)
		if exitCode(err) < 0 {
			return err
		}
		if err == nil && untracked == "" && !filepath.IsLocal(inside) {
			m.hooks = path
		}
	}
	if missing != nil && path != "" && m.opts.Setup.Run == "" && !m.opts.NoVerify && m.state.Mode == "" {
		m.notice("core.hooksPath is %s, which does not exist: no hooks run", path)
	}
	if m.state.Mode == "" || m.lock == nil { // the probe does it, or nothing runs hooks
		return nil
	}
	return m.freeze(ctx, m.checkout.top)
}

// hookArgs returns the arguments before a git command that runs hooks of a commit.
func (m *Manager) hookArgs() []string {
	if m.opts.NoVerify {
		return []string{"-c", "core.hooksPath=" + os.DevNull}
	}
	return nil
}

// commitHooksHere returns the hooks that a commit runs, or may run in a later session. It says which hooks do not run.
func (m *Manager) commitHooksHere() (run []string) {
	if _, err := os.Stat(m.hooksDir); err != nil && m.opts.Setup.Run != "" {
		return commitHooks // setup may make them
	}
	if m.opts.NoVerify {
		return nil
	}
	for _, name := range append(slices.Clone(commitHooks), "post-checkout") {
		info, err := os.Stat(filepath.Join(m.hooksDir, name))
		switch {
		case err != nil:
		case runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
			m.notice("git ignores the hook %s, which is not executable", name)
		case name == "post-checkout":
			m.notice("the hook post-checkout does not run in worktrees; see setup in the plan")
		default:
			run = append(run, name)
		}
	}
	return run
}

// probeTree makes a worktree if it may lack something, and runs the hooks there.
func (m *Manager) probeTree(ctx context.Context) (err error) {
	hooks := m.commitHooksHere()
	if len(hooks) == 0 && !m.settings.matches("remote.", ".promisor") {
		return m.freeze(ctx, m.checkout.top)
	}
	t, done, err := m.integrationTree(ctx, m.state.Base)
	if exitCode(err) > 0 {
		return &Error{NoCheckout, "no worktree can be made: " + err.Error(),
			"let git fetch what it lacks, or run with --isolation shared"}
	}
	if err == nil {
		defer func() { err = errors.Join(err, done()) }()
		err = m.freeze(ctx, m.treePathOf(t))
	}
	if err != nil || len(hooks) == 0 {
		return err
	}
	if m.opts.NoVerify || slices.Compare(m.checkout.version[:], []int{2, 36}) < 0 { // without git hook
		return nil
	}
	return m.probeHooks(ctx, t, hooks)
}

// probeHooks runs the hooks as for commits without changes, on the branch of a task, with the messages of all tasks.
// It tries no hook while the user has a stash: a hook that stashes unstaged changes finds none there, and then pops the
// user's stash, which all worktrees share.
func (m *Manager) probeHooks(ctx context.Context, t *tree, hooks []string) (err error) {
	if stash, err := m.g.resolve(ctx, "refs/stash"); err != nil {
		return err
	} else if stash != "" {
		m.notice("the hooks were not tried, since there is a stash, which a hook could pop (see git stash list)")
		return nil
	}
	g, err := m.gitIn(t).withCommitEnv(ctx)
	if err != nil {
		return err
	}
	g.mark = m.mark() + "/wavex-hooks/1"
	tasks := m.opts.Tasks
	if len(tasks) == 0 {
		tasks = []string{"1"}
	}
	branch := taskBranch(m.opts.Run, tasks[0])
	if err := g.updateRefs(ctx, branch, m.state.Base); err != nil {
		return err
	}
	defer func() {
		always := context.WithoutCancel(ctx)
		err = errors.Join(err, g.updateRefs(always, "HEAD", m.state.Base), g.updateRefs(always, branch, ""))
	}()
	if err := g.run(ctx, "symbolic-ref", "HEAD", branch); err != nil {
		return err
	}
	message, until := filepath.Join(t.Admin, "COMMIT_EDITMSG"), time.Now().Add(2*hookProbeTimeout)
	for i, task := range tasks {
		if i > 0 && (slices.Equal(hooks, commitHooks[:1]) || time.Now().After(until)) {
			break
		}
		if err := os.WriteFile(message, []byte(m.taskMessage(task)), 0o600); err != nil {
			return err
		}
		for _, hook := range hooks {
			args := map[string][]string{"prepare-commit-msg": {message, "message"}, "commit-msg": {message}}[hook]
			if i > 0 && args == nil {
				continue // it knows no message
			}
			limited, cancel := context.WithTimeoutCause(ctx, hookProbeTimeout, errHookProbeTimeout)
			err := m.probeHook(limited, g, hook, task, args)
			cancel()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// withCommitEnv returns a git that gives hooks the environment that git commit gives them.
func (g git) withCommitEnv(ctx context.Context) (git, error) {
	ident, err := g.output(ctx, "var", "GIT_AUTHOR_IDENT")
	if err != nil {
		return g, err
	}
	author, date, _ := strings.Cut(ident, "> ")
	name, email, _ := strings.Cut(author, " <")
	index, err := g.output(ctx, "rev-parse", "--git-path", "index")
	return g.withEnv("GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+email, "GIT_AUTHOR_DATE=@"+date,
		"GIT_INDEX_FILE="+absolute(g.dir, index)), err
}

func (m *Manager) probeHook(ctx context.Context, g git, hook, task string, args []string) error {
	said := ""
	g.stderr = &said
	g, err := m.forHooks(g)
	if err != nil {
		return err
	}
	err = g.run(ctx, slices.Concat(m.hookArgs(), []string{"hook", "run", "--ignore-missing", hook, "--"}, args)...)
	var failed *gitError
	switch {
	case errors.Is(err, errHookProbeTimeout) && args == nil:
		m.notice("the hook %s took longer than %s without changes; each commit waits for it", hook, hookProbeTimeout)
		return nil
	case errors.Is(err, errHookProbeTimeout):
		return &Error{HookRefuses, fmt.Sprintf("the hook %s did not end within %s, as if it waited for a person", hook,
			hookProbeTimeout), "set WAVEX_OPT_NO_VERIFY=1, or --isolation shared"}
	case !errors.As(err, &failed):
		if err != nil {
			return err
		}
	case args != nil:
		return &Error{HookRefuses, fmt.Sprintf("the hook %s refuses the commit message of task %s: %s", hook, task,
			failed.said(300)), "change the subject of the task, or set WAVEX_OPT_NO_VERIFY=1, or --isolation shared"}
	case failed.code == 126 || failed.code == 127 || missingTool().MatchString(failed.stderr):
		return &Error{HookRefuses, fmt.Sprintf("the hook %s lacks something in a worktree (see share and setup in the plan "+
			"for what it lacks): %s", hook, failed.said(300)), "mend it, or set WAVEX_OPT_NO_VERIFY=1, or --isolation shared"}
	default: // the hook may need changes, or a task may mend its failure
		m.notice("the hook %s fails without changes in a worktree: %s", hook, failed.said(300))
	}
	if line := missingTool().FindString(said); line != "" {
		m.notice("the hook %s says in a worktree: %s", hook, textfmt.OneLine(line, 200))
	}
	return nil
}
