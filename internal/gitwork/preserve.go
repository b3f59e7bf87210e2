package gitwork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"wavex/internal/safefile"
)

// This file commits the contents of a worktree below refs/wavex before the worktree is changed. It
// does not judge the work.

// preserveTree makes everything in a worktree reachable: the commit that its HEAD is on, and the
// uncommitted changes. It returns the newest of those commits, or "" if there is nothing to keep.
func (m *Manager) preserveTree(ctx context.Context, t *tree) (string, error) {
	if !t.Used || t.Admin == "" {
		return "", nil
	}
	if err := m.repairTree(ctx, t); errors.Is(err, errTreeGone) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	g := m.gitIn(t)
	now, err := g.status(ctx)
	if err != nil {
		return "", err
	}
	if now.head != "" && m.isOwnCommit(t, now.head) && m.isUnchanged(now) {
		return "", nil
	}
	left, err := m.preserveHead(ctx, t, now.head)
	if err != nil {
		return "", err
	}
	if err := clearOperations(t); err != nil {
		return "", err
	}
	diff, err := m.stageAll(ctx, t)
	if err != nil {
		return left, fmt.Errorf("keeping what is in %s: %w", m.treePathOf(t), err)
	}
	if nested := nestedRepos(diff); len(nested) > 0 {
		if err := m.flattenNested(ctx, t, nested); err != nil {
			return left, err
		}
	}
	files, err := g.output(ctx, "write-tree")
	if err != nil {
		return left, err
	}
	parent := cmp.Or(now.head, t.Base)
	before, err := g.output(ctx, "rev-parse", parent+"^{tree}")
	if err != nil || files == before {
		return left, err
	}
	text := commitMessage("Left by task "+t.Task, m.opts.Run, t.Task)
	id, err := g.outputOf(ctx, text, "commit-tree", "-p", parent, files)
	if err != nil {
		return left, err
	}
	return id, g.updateRefs(ctx, preservedRef(m.opts.Run, t.Task, id), id)
}

// isUnchanged reports whether a worktree has the files of its HEAD, except shares. It returns false if git cannot tell:
// before 2.37 git status does not show changed files outside of a sparse checkout.
func (m *Manager) isUnchanged(now status) bool {
	return slices.Compare(m.checkout.version[:], []int{2, 37}) >= 0 && !slices.ContainsFunc(now.changes,
		func(path string) bool { return !m.inShare(path) })
}

// isOwnCommit reports whether a commit is one of wavex's own, which other refs contain.
func (m *Manager) isOwnCommit(t *tree, id string) bool { return id == t.Base || id == t.Done }

// preserveHead makes the commit of the worktree's HEAD reachable, unless it is one of wavex's own. It returns the
// commit then.
func (m *Manager) preserveHead(ctx context.Context, t *tree, head string) (string, error) {
	if head == "" || m.isOwnCommit(t, head) {
		return "", nil
	}
	return head, m.gitIn(t).updateRefs(ctx, preservedRef(m.opts.Run, t.Task, head), head)
}

// preserveTaskCommit gives the task's commit a ref of its own before another commit replaces it.
func (m *Manager) preserveTaskCommit(ctx context.Context, task string) error {
	refs, err := m.g.refIDs(ctx, taskRef(m.opts.Run, task))
	old := refs[taskRef(m.opts.Run, task)]
	if err != nil || old == "" {
		return err
	}
	return m.g.updateRefs(ctx, preservedRef(m.opts.Run, task, old), old)
}

// flattenNested turns repositories inside a worktree into plain files, and keeps each repository beside
// it. Git would store only the id of its commit.
func (m *Manager) flattenNested(ctx context.Context, t *tree, nested []string) error {
	path := m.treePathOf(t)
	for _, n := range nested {
		dot := filepath.Join(path, filepath.FromSlash(n), ".git")
		if _, err := os.Lstat(dot); err == nil {
			if err := safefile.Rename(dot, unusedName(path+".git")); err != nil {
				return err
			}
		}
		if err := m.gitIn(t).run(ctx, "rm", "-q", "-f", "-r", "--cached", "--ignore-unmatch", "--", n); err != nil {
			return err
		}
	}
	_, err := m.stageAll(ctx, t)
	return err
}

// nestedRepos returns the paths that are commits of other repositories.
func nestedRepos(diff []change) []string {
	var out []string
	for _, c := range diff {
		if c.mode == nestedMode {
			out = append(out, c.path)
		}
	}
	return out
}
