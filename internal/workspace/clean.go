package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// This file removes the worktrees, branches and folders of past runs, after it has checked that git
// holds the work elsewhere. The refs below refs/wavex are not removed.

// Clean lists the worktrees, branches and folders of one run of a project, or with run "" of all
// runs that are not running, and removes them unless dry is set. It keeps a branch wavex/RUN until
// another branch contains its work. It commits the contents of a worktree below refs/wavex before
// it removes the worktree.
func Clean(ctx context.Context, project, run string, dry bool) ([]Item, error) {
	loop := filepath.Join(project, ".loop")
	states, err := filepath.Glob(filepath.Join(globbed(worktrees(loop)), "*.json"))
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, path := range states {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if run != "" && name != run {
			continue
		}
		found, err := cleanRun(ctx, Options{Project: project, Loop: loop, Run: name, Env: os.Environ()}, dry)
		items = append(items, found...)
		if err != nil {
			return items, err
		}
	}
	return items, nil
}

// globbed escapes a path for use in a glob pattern.
func globbed(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

func cleanRun(ctx context.Context, o Options, dry bool) (items []Item, err error) {
	m := &Manager{o: o, busy: map[string]bool{}, lock: flock.New(filepath.Join(worktrees(o.Loop), o.Run+".lock"))}
	got, err := m.lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !got {
		return []Item{{Kind: "folder", Name: statePath(o.Loop, o.Run), Run: o.Run, Why: "the run is under way"}}, nil
	}
	defer func() { err = errors.Join(err, m.lock.Unlock()) }()
	old, err := readState(statePath(o.Loop, o.Run))
	if err != nil || old == nil {
		return nil, err
	}
	m.s = *old
	if m.s.Mode == Worktree {
		m.g = newGit(o.Project, o.Env)
		if m.c, err = look(ctx, m.g, o.Project); err != nil {
			return nil, err
		}
		if err := m.ready(ctx); err != nil {
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
	if m.s.Temp != "" {
		if _, err := os.Lstat(m.s.Temp); err == nil {
			items = append(items, Item{Kind: "folder", Name: m.s.Temp, Run: o.Run, Removed: true})
			if !dry {
				if err := os.RemoveAll(m.s.Temp); err != nil {
					return items, err
				}
			}
		}
	}
	if dry {
		return items, nil
	}
	return items, m.save(true)
}

// cleanTrees removes worktrees.
func (m *Manager) cleanTrees(ctx context.Context, dry bool) ([]Item, error) {
	var items []Item
	known := map[string]bool{}
	var stay []*tree
	for _, t := range m.s.Trees {
		path := m.path(t)
		known[filepath.Base(path)] = true
		it := Item{Kind: "worktree", Name: path, Run: m.o.Run, Removed: true}
		if t.Task != "" {
			it.Kept = taskRef(m.o.Run, t.Task)
			id, err := m.g.resolve(ctx, it.Kept)
			if err != nil {
				return items, err
			}
			it.Commit = id
		}
		if !dry {
			left, err := m.keep(ctx, t)
			if err == nil {
				if left != "" {
					it.Commit, it.Kept = left, keptRef(m.o.Run, t.Task, left)
				}
				err = m.drop(ctx, path)
			}
			if err != nil {
				it.Removed, it.Why = false, err.Error()
				stay = append(stay, t)
			}
		}
		items = append(items, it)
	}
	if !dry {
		m.s.Trees = stay
	}
	// Other folders are left by an interrupted add, or are repositories that agents made. The
	// latter are not removed.
	all, err := os.ReadDir(worktrees(m.o.Loop))
	if err != nil {
		return items, err
	}
	for _, e := range all {
		rest, ours := strings.CutPrefix(e.Name(), m.o.Run+".")
		number, _, more := strings.Cut(rest, ".")
		if _, err := strconv.Atoi(number); !ours || err != nil || known[e.Name()] || !e.IsDir() {
			continue
		}
		path := filepath.Join(worktrees(m.o.Loop), e.Name())
		it := Item{Kind: "folder", Name: path, Run: m.o.Run, Removed: true}
		if more && strings.Contains(rest, ".git-") {
			it.Removed, it.Why = false, "a git repository that an agent made inside its worktree"
		} else if !dry {
			if err := m.drop(ctx, path); err != nil {
				return items, err
			}
		}
		items = append(items, it)
	}
	return items, nil
}

func (m *Manager) drop(ctx context.Context, path string) error {
	unlock, err := structural(ctx, m.c.common)
	if err != nil {
		return err
	}
	defer unlock()
	return m.forget(ctx, path)
}

// cleanBranches removes branches whose commits another ref contains.
func (m *Manager) cleanBranches(ctx context.Context, dry bool) ([]Item, error) {
	out, err := m.g.out(ctx, "for-each-ref", "--format=%(objectname) %(refname)", runBranch(m.o.Run),
		runBranch(m.o.Run)+".tasks/")
	if err != nil {
		return nil, err
	}
	taken, err := m.g.out(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, line := range lines(out) {
		id, ref, _ := strings.Cut(line, " ")
		it := Item{Kind: "branch", Name: branchName(ref), Run: m.o.Run, Commit: id}
		where := []string{"refs/wavex/"}
		if ref == runBranch(m.o.Run) {
			where = []string{"refs/heads/", "refs/remotes/"}
		}
		if it.Kept, err = m.keeper(ctx, id, where); err != nil {
			return items, err
		}
		if it.Kept == "" && ref != runBranch(m.o.Run) {
			it.Kept = "refs/wavex/" + m.o.Run + ".kept/" + filepath.Base(ref) + "/" + id[:12]
			if !dry {
				if err := m.g.setRefs(ctx, it.Kept, id); err != nil {
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
				if err := m.g.setRefs(ctx, ref, ""); err != nil {
					return items, err
				}
			}
		}
		items = append(items, it)
	}
	return items, nil
}

// keeper returns a ref that reaches a commit and is not a branch of wavex, or "" if there is none.
func (m *Manager) keeper(ctx context.Context, id string, where []string) (string, error) {
	out, err := m.g.out(ctx, append([]string{"for-each-ref", "--format=%(refname)", "--contains", id}, where...)...)
	for _, ref := range lines(out) {
		if !strings.HasPrefix(ref, "refs/heads/wavex/") {
			return ref, nil
		}
	}
	return "", err
}
