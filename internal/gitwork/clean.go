package gitwork

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// This file removes the worktrees, branches and folders of past runs, after it has checked that git
// holds the work elsewhere. The refs below refs/wavex are not removed.

// Clean lists the worktrees, branches and folders of one run of a project, or with run "" of all
// runs that are not running, and removes them unless dry is set. It keeps a branch wavex/RUN until
// another branch contains its work. It commits the contents of a worktree below refs/wavex before
// it removes the worktree.
func Clean(ctx context.Context, project, run string, dry bool) ([]CleanupItem, error) {
	return CleanIn(ctx, project, loop.In(project), run, dry)
}

// CleanIn is Clean for the runs in dir, which is .loop or a backup of it.
func CleanIn(ctx context.Context, project string, dir loop.Dir, run string, dry bool) ([]CleanupItem, error) {
	states, err := listStates(dir)
	if err != nil {
		return nil, err
	}
	left := trashOf(dir)
	listed := len(left.names()) > 0
	var items []CleanupItem
	for _, path := range states {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if run != "" && name != run {
			continue
		}
		found, err := cleanRun(ctx, Options{Project: project, Loop: dir, Run: name, Env: os.Environ()}, dry)
		items = append(items, found...)
		if err != nil {
			return items, err
		}
	}
	if !dry {
		err = left.empty(ctx)
	}
	if !listed && err == nil {
		return items, nil
	}
	it := CleanupItem{Kind: "folder", Name: left.dir, Run: run, Removed: err == nil}
	if err != nil {
		it.Why = err.Error()
	}
	return append(items, it), context.Cause(ctx)
}

// escapeGlob escapes a path for use in a glob pattern.
func escapeGlob(path string) string {
	if filepath.Separator != '\\' {
		path = strings.ReplaceAll(path, `\`, `\\`)
	}
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// Lock locks a run, so that no wavex begins to work on it. unlock is nil if one does.
func Lock(dir loop.Dir, run string) (unlock func() error, err error) {
	lock := flock.New(dir.Worktree(run, "lock"))
	if err := safefile.CheckPath(lock.Path()); err != nil {
		return nil, err
	}
	got, err := lock.TryLock()
	if !got && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return lock.Unlock, nil // without a folder of worktrees there is nothing to lock
}

func cleanRun(ctx context.Context, o Options, dry bool) (items []CleanupItem, err error) {
	m := newManager(o)
	unlock, err := Lock(o.Loop, o.Run)
	if err != nil {
		return nil, err
	}
	if unlock == nil {
		return []CleanupItem{{Kind: "folder", Name: o.Loop.Worktree(o.Run, "json"), Run: o.Run,
			Why: "the run is under way"}}, nil
	}
	defer func() { err = errors.Join(err, unlock()) }()
	path := o.Loop.Worktree(o.Run, "json")
	old, err := readState(path)
	if err != nil {
		return []CleanupItem{{Kind: "folder", Name: path, Run: o.Run, Why: err.Error()}}, nil
	}
	if old == nil {
		return nil, nil
	}
	m.state = *old
	if err := newManager(Options{Project: o.Project}).notePrograms(old, false); err != nil { // old runs need no warnings
		return nil, err
	}
	m.g, m.repository = newGit(o.Project, o.Env).inRepository(o.Project)
	if m.state.Mode == Worktree {
		if err := m.findCheckout(ctx); err != nil {
			return nil, err
		}
		if err := m.prepareRepo(ctx); err != nil {
			return nil, err
		}
		trees, err := m.cleanTrees(ctx, dry)
		items = append(items, trees...)
		if err != nil {
			return items, err
		}
		branches, err := m.cleanBranches(ctx, dry)
		items = append(items, branches...)
		if err != nil {
			return items, err
		}
	}
	if isTemp(m.state.Temp) {
		items = append(items, CleanupItem{Kind: "folder", Name: m.state.Temp, Run: o.Run, Removed: true})
		if !dry {
			if err := os.RemoveAll(m.state.Temp); err != nil {
				return items, err
			}
		}
	}
	bundles, err := m.cleanBundles(ctx, dry, items)
	items = append(items, bundles...)
	if err != nil || dry {
		return items, err
	}
	return items, errors.Join(safefile.RemoveAll(o.Loop.Worktree(o.Run, "git")), m.save())
}

// cleanBundles removes the bundles of a run of which nothing else stays, if other refs of the repository than branches
// of wavex contain their commits.
func (m *Manager) cleanBundles(ctx context.Context, dry bool, others []CleanupItem) ([]CleanupItem, error) {
	dir := m.opts.Loop.Worktree(m.opts.Run, "bundles")
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	saved, err := openBundles(dir, "refs/")
	if err != nil {
		return nil, err
	}
	it := CleanupItem{Kind: "folder", Name: dir, Run: m.opts.Run}
	if slices.ContainsFunc(others, func(it CleanupItem) bool { return !it.Removed }) {
		it.Why = "another part of the run stays"
		return []CleanupItem{it}, nil
	}
	if i := slices.IndexFunc(saved.files, func(f bundle) bool { return f.refs == nil }); i >= 0 {
		it.Why = saved.files[i].path + " cannot be read"
		return []CleanupItem{it}, nil
	}
	alone, err := m.g.output(ctx, slices.Concat([]string{"rev-list", "-n", "1"}, saved.commits(),
		[]string{"--not", "--exclude=refs/heads/wavex/*", "--glob=refs/"})...)
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err != nil { // a commit is missing, or .loop was copied to a folder without a repository
		it.Why = err.Error()
		return []CleanupItem{it}, nil
	}
	if alone != "" {
		it.Why = "it has commits that no other ref of the repository contains"
		return []CleanupItem{it}, nil
	}
	if it.Removed = true; !dry {
		err = safefile.RemoveAll(dir)
	}
	return []CleanupItem{it}, err
}

// cleanTrees removes worktrees.
func (m *Manager) cleanTrees(ctx context.Context, dry bool) ([]CleanupItem, error) {
	var items []CleanupItem
	known := map[string]bool{}
	var stay []*tree
	for _, t := range m.state.Trees {
		path := m.treePathOf(t)
		known[filepath.Base(path)] = true
		it := CleanupItem{Kind: "worktree", Name: path, Run: m.opts.Run, Removed: true}
		if t.Task != "" {
			it.Kept = taskRef(m.opts.Run, t.Task)
			id, err := m.g.resolve(ctx, it.Kept)
			if err != nil {
				return items, err
			}
			it.Commit = id
		}
		if !dry {
			if err := m.saveAndRemoveTree(ctx, t, &it); err != nil {
				it.Removed, it.Why = false, err.Error()
				stay = append(stay, t)
			}
		}
		items = append(items, it)
	}
	if !dry {
		m.state.Trees, m.state.Parked = stay, nil
	}
	// Other folders are left by an interrupted add, or are repositories that agents made. The
	// latter are not removed.
	all, err := safefile.ReadDir(m.opts.Loop.Path(loop.Worktrees))
	if err != nil {
		return items, err
	}
	for _, e := range all {
		rest, ours := strings.CutPrefix(e.Name(), m.opts.Run+".")
		number, _, more := strings.Cut(rest, ".")
		if _, err := strconv.Atoi(number); !ours || err != nil || known[e.Name()] || !e.IsDir() {
			continue
		}
		path := m.opts.Loop.Path(loop.Worktrees, e.Name())
		it := CleanupItem{Kind: "folder", Name: path, Run: m.opts.Run, Removed: true}
		if more && strings.Contains(rest, ".git-") {
			it.Removed, it.Why = false, "a git repository that an agent made inside its worktree"
		} else if !dry {
			if err := m.lockAndRemoveTree(ctx, path); err != nil {
				return items, err
			}
		}
		items = append(items, it)
	}
	return items, nil
}

func (m *Manager) lockAndRemoveTree(ctx context.Context, path string) error {
	unlock, err := lockRepo(ctx, m.checkout.common)
	if err != nil {
		return err
	}
	defer unlock()
	return m.removeTree(ctx, path)
}

// saveAndRemoveTree removes the worktree of an item, and notes in it where the content is kept.
func (m *Manager) saveAndRemoveTree(ctx context.Context, t *tree, it *CleanupItem) error {
	if t.Task == "" {
		_ = m.repairTree(ctx, t) // after a move of .loop, git would keep its name
	}
	left, err := m.preserveTree(ctx, t)
	if err != nil {
		return err
	}
	if left != "" {
		it.Commit, it.Kept = left, preservedRef(m.opts.Run, t.Task, left)
	}
	return m.lockAndRemoveTree(ctx, it.Name)
}

// cleanBranches removes branches whose commits another ref contains.
func (m *Manager) cleanBranches(ctx context.Context, dry bool) ([]CleanupItem, error) {
	out, err := m.g.output(ctx, "for-each-ref", "--format=%(objectname) %(refname)", runBranch(m.opts.Run),
		runBranch(m.opts.Run)+".tasks/")
	if err != nil {
		return nil, err
	}
	taken, err := m.g.output(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return nil, err
	}
	var items []CleanupItem
	for _, line := range splitLines(out) {
		id, ref, _ := strings.Cut(line, " ")
		it := CleanupItem{Kind: "branch", Name: branchName(ref), Run: m.opts.Run, Commit: id}
		where := []string{"refs/wavex/"}
		if ref == runBranch(m.opts.Run) {
			where = []string{"refs/heads/", "refs/remotes/"}
		}
		if it.Kept, err = m.findReachingRef(ctx, id, where); err != nil {
			return items, err
		}
		if it.Kept == "" && ref != runBranch(m.opts.Run) {
			it.Kept = "refs/wavex/" + m.opts.Run + ".kept/" + filepath.Base(ref) + "/" + id[:12]
			if !dry {
				if err := m.g.updateRefs(ctx, it.Kept, id); err != nil {
					return items, err
				}
			}
		}
		switch {
		case it.Kept == "":
			it.Why = "its work is in no other branch yet"
		case !dry && strings.Contains(taken+"\n", "\nbranch "+ref+"\n"):
			it.Why = "it is checked out"
		default:
			it.Removed = true
			if !dry {
				if err := m.g.updateRefs(ctx, ref, ""); err != nil {
					return items, err
				}
			}
		}
		items = append(items, it)
	}
	return items, nil
}

// findReachingRef returns a ref that reaches a commit and is not a branch of wavex, or "" if there is none.
func (m *Manager) findReachingRef(ctx context.Context, id string, where []string) (string, error) {
	out, err := m.g.output(ctx, append([]string{"for-each-ref", "--format=%(refname)", "--contains", id}, where...)...)
	for _, ref := range splitLines(out) {
		if !strings.HasPrefix(ref, "refs/heads/wavex/") {
			return ref, nil
		}
	}
	return "", err
}
