package gitwork

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"wavex/internal/safefile"
)

// This file records the work of a task when its attempt has ended: a commit has its files, and a later attempt or panel
// gets them back, also if its worktree was handed on to another task.
//
//   - A task that waits for its integration needs its files only for a panel. Its worktree stays at its path when it is
//     handed on, with what Setup made there.
//   - A task that has not ended may continue its session, which the CLI finds by the path of its directory. Its
//     worktree moves to another path, and a worktree moves back to the path before the session continues.
//
// Files that git ignores do not come back.

// workOf returns the record of a task, or nil. The caller must hold mu.
func (m *Manager) workOf(task string) *tree {
	if i := slices.IndexFunc(m.state.Work, func(t *tree) bool { return t.Task == task }); i >= 0 {
		return m.state.Work[i]
	}
	return nil
}

// setWork makes t the record of its task. The caller must hold mu.
func (m *Manager) setWork(t *tree) {
	m.dropWork(t.Task)
	m.state.Work = append(m.state.Work, t)
}

// dropWork removes the record of a task. The caller must hold mu.
func (m *Manager) dropWork(task string) {
	m.state.Work = slices.DeleteFunc(m.state.Work, func(t *tree) bool { return t.Task == task })
}

// takeOver gives the worktree of an unsettled task to another task. held is in use by the caller, and t is its copy. It
// commits the contents of the worktree again, since something may have changed them. The worktree must be reset before
// its use.
func (m *Manager) takeOver(ctx context.Context, held, t *tree, task string) error {
	left, err := m.preserveTree(ctx, t)
	if err != nil {
		return err
	}
	m.mu.Lock()
	was, from, to := m.workOf(t.Task), *t, t.ID
	if was != nil && was.ID == t.ID && was.Done == "" && !was.Stale {
		now := *was
		now.Commit, to = cmp.Or(left, was.Commit), m.unusedID()
		m.setWork(&now)
	}
	*t = tree{ID: t.ID, Task: task, Base: t.Base, Setup: t.Setup, Admin: t.Admin, inUse: true}
	*held = *t
	err = m.renumber(held, to)
	m.freed.Broadcast()
	m.mu.Unlock()
	if err == nil && to != t.ID {
		err = m.moveTree(ctx, t, to)
	}
	if err == nil && was == nil { // its task was settled meanwhile
		_, err = m.deleteTaskBranch(ctx, from.Task, from.Commit, nil)
	}
	return err
}

// renumber gives a worktree that the caller uses another number and saves the state. If the number has changed and err
// is nil, the caller must call moveTree: until it returns, no other worktree is made or moved to the old path. The
// caller must hold mu.
func (m *Manager) renumber(held *tree, id int) error {
	from := held.ID
	held.ID = id
	if err := m.save(); err != nil {
		return err
	}
	if from != id {
		m.left[from] = true
	}
	return nil
}

// moveTree moves a worktree to the path of its new number, see renumber. t has the old one.
func (m *Manager) moveTree(ctx context.Context, t *tree, id int) error {
	defer m.endMove(t.ID)
	from := m.treePathOf(t)
	t.ID, t.Setup = id, "" // what Setup made may contain the path
	if t.Admin == "" {
		return nil // it is added when it is reset
	}
	to := m.treePathOf(t)
	if _, err := os.Lstat(to); err == nil { // of a move that was interrupted
		if err := m.lockAndRemoveTree(ctx, to); err != nil {
			return err
		}
	}
	// Submodules know the path of their worktree.
	if _, err := os.Lstat(filepath.Join(t.Admin, "modules")); err == nil {
		t.Admin = ""
		return m.lockAndRemoveTree(ctx, from)
	}
	err := safefile.Rename(from, to)
	if errors.Is(err, os.ErrNotExist) {
		t.Admin = ""
		return m.lockAndRemoveTree(ctx, from)
	}
	if err != nil {
		return err
	}
	return m.namePath(t)
}

// endMove lets other worktrees have the path of a number.
func (m *Manager) endMove(from int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.left, from)
	m.freed.Broadcast()
}

// bringBack makes the files of a task appear in the worktree t, at the task's former path if that is possible.
// It reports false if the repository does not have them.
func (m *Manager) bringBack(ctx context.Context, t, work *tree) (bool, error) {
	missing, err := m.g.missingCommits(ctx, []string{work.Base, work.Commit})
	if err != nil || len(missing) > 0 {
		return false, err
	}
	if _, err := m.preserveTree(ctx, t); err != nil {
		return false, err
	}
	m.mu.Lock()
	for m.left[work.ID] {
		m.freed.Wait()
	}
	move := work.ID != 0 && t.ID != work.ID && m.treeByID(work.ID) == nil
	if move {
		held := m.treeByID(t.ID)
		held.Used = false
		err = m.renumber(held, work.ID)
	}
	m.mu.Unlock()
	if err == nil && move {
		err = m.moveTree(ctx, t, work.ID)
	}
	if err != nil {
		return false, err
	}
	branch := taskBranch(m.opts.Run, t.Task)
	if err := m.resetTree(ctx, t, branch, work.Base); err != nil {
		return false, err
	}
	t.Used = true
	if work.Commit == work.Base {
		return true, nil
	}
	g := m.gitIn(t)
	// The attempt finds its work as changes that are not committed.
	if err := g.runWithoutHooks(ctx, "checkout", "-q", "-f", "--ignore-other-worktrees", "--no-track", "-B",
		branchName(branch), work.Commit); err != nil {
		return false, err
	}
	return true, g.run(ctx, "reset", "-q", work.Base)
}

// AttemptDir returns the directory with the work of the last attempt of a task, given dir of the project, and the
// commit that the attempt began on; for a task without such work dir and "". The caller must call done, and until then
// no attempt uses the directory.
func (m *Manager) AttemptDir(ctx context.Context, task, dir string) (in, base string, done func()) {
	m.mu.Lock()
	m.awaitTree(task)
	if m.workOf(task) == nil || m.busy[task] {
		m.mu.Unlock()
		return dir, "", func() {}
	}
	t, kept, err := m.useTree(ctx, task, true, false)
	if err != nil {
		return dir, "", func() {}
	}
	done = func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		defer m.freed.Broadcast()
		delete(m.busy, task)
		m.treeByID(t.ID).inUse = false
	}
	if in, err = m.treeDir(t, dir); err != nil || !kept {
		done()
		return dir, "", func() {}
	}
	return in, t.Base, done
}
