package gitwork

import (
	"context"
	"errors"
	"os"
	"slices"

	"wavex/internal/safefile"
)

// This file hands a worktree on to another task before its own task is settled. The task is then parked: a record has
// the commit with its files, and a later attempt or panel gets them back.
//
//   - A task that waits for its integration needs its files only if wavex is killed before it has recorded the end of
//     the attempt, and for a panel. Its worktree stays at its path, with what Setup made there.
//   - A task that has not ended may continue its session, which the CLI finds by the path of its directory. Its
//     worktree moves to another path, and a worktree moves back to the path before the session continues.
//
// Files that git ignores do not come back.

// parkedTree returns the record of a parked task, or nil. The caller must hold mu.
func (m *Manager) parkedTree(task string) *tree {
	if i := slices.IndexFunc(m.state.Parked, func(t *tree) bool { return t.Task == task }); i >= 0 {
		return m.state.Parked[i]
	}
	return nil
}

// addParked adds the record of a task, unless the task's worktree was not ready when it was parked: then an earlier
// record has the files, or there are none. The caller must hold mu.
func (m *Manager) addParked(t *tree) {
	if m.parkedTree(t.Task) == nil && t.Base != "" {
		m.state.Parked = append(m.state.Parked, t)
	}
}

// replaceParked makes t the record of its task. The caller must hold mu.
func (m *Manager) replaceParked(t *tree) {
	m.unpark(t.Task)
	m.state.Parked = append(m.state.Parked, t)
}

// unpark removes the record of a task. The caller must hold mu.
func (m *Manager) unpark(task string) {
	m.state.Parked = slices.DeleteFunc(m.state.Parked, func(t *tree) bool { return t.Task == task })
}

// takeOver gives the worktree of an unsettled task to another task. held is in use by the caller, and t is its copy. It
// commits the contents of the worktree below refs/wavex and parks its task. The worktree must be reset before its use.
func (m *Manager) takeOver(ctx context.Context, held, t *tree, task string) error {
	parked, err := m.park(ctx, t)
	if err != nil {
		return err
	}
	m.mu.Lock()
	settled := held.settled
	if !settled {
		m.addParked(parked)
	}
	to := t.ID
	if !parked.Stale && parked.Done == "" {
		to = m.unusedID()
	}
	*t = tree{ID: t.ID, Task: task, Base: t.Base, Stale: true, Setup: t.Setup, Admin: t.Admin, inUse: true}
	*held = *t
	err = m.renumber(held, to) // from now on the files of the task are in its record
	m.freed.Broadcast()
	m.mu.Unlock()
	if err == nil && to != t.ID {
		err = m.moveTree(ctx, t, to)
	}
	if err == nil && settled {
		_, err = m.deleteTaskBranch(ctx, parked.Task, parked.Done, nil)
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

// park commits the contents of a worktree and returns the record of its task.
func (m *Manager) park(ctx context.Context, t *tree) (*tree, error) {
	gone := t.Admin == ""
	if !gone {
		err := m.repairTree(ctx, t)
		if gone = errors.Is(err, errTreeGone); err != nil && !gone {
			return nil, err
		}
	}
	left, err := m.preserveTree(ctx, t)
	if err != nil {
		return nil, err
	}
	parked := &tree{ID: t.ID, Task: t.Task, Base: t.Base, Done: t.Done, Stale: t.Stale, Used: true, Commit: left}
	switch {
	case t.Done != "" && t.Done != noWork:
		parked.Commit = t.Done // the files that checks and hooks left beside it are not work
	case t.Done == "" && gone:
		parked.Stale = true
	case left == "":
		parked.Commit = t.Base
	}
	if t.Done == "" && left != "" {
		if err := m.saveBundle(ctx); err != nil {
			return nil, err
		}
	}
	return parked, nil
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
	if t.hasModules() {
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

// bringBack makes the files of a parked task appear in the worktree t, at the task's former path if that is possible.
// It reports false if the repository does not have them.
func (m *Manager) bringBack(ctx context.Context, t, parked *tree) (bool, error) {
	missing, err := m.g.missingCommits(ctx, []string{parked.Base, parked.Commit})
	if err != nil || len(missing) > 0 {
		return false, err
	}
	if _, err := m.preserveTree(ctx, t); err != nil {
		return false, err
	}
	m.mu.Lock()
	for m.left[parked.ID] {
		m.freed.Wait()
	}
	move := parked.ID != 0 && t.ID != parked.ID && m.treeByID(parked.ID) == nil
	if move {
		held := m.treeByID(t.ID)
		held.Stale = true
		err = m.renumber(held, parked.ID)
	}
	m.mu.Unlock()
	if err == nil && move {
		err = m.moveTree(ctx, t, parked.ID)
	}
	if err != nil {
		return false, err
	}
	branch := taskBranch(m.opts.Run, t.Task)
	if err := m.resetTree(ctx, t, branch, parked.Base); err != nil {
		return false, err
	}
	t.Used = true
	if parked.Commit == parked.Base {
		return true, nil
	}
	g := m.gitIn(t)
	// The attempt finds its work as changes that are not committed.
	if err := g.runWithoutHooks(ctx, "checkout", "-q", "-f", "--ignore-other-worktrees", "--no-track", "-B",
		branchName(branch), parked.Commit); err != nil {
		return false, err
	}
	return true, g.run(ctx, "reset", "-q", parked.Base)
}

// AttemptDir returns the directory with the work of the last attempt of a task, given dir of the project, and the
// commit that the attempt began on; for a task without such work dir and "". The caller must call done, and until then
// no attempt uses the directory.
func (m *Manager) AttemptDir(ctx context.Context, task, dir string) (in, base string, done func()) {
	m.mu.Lock()
	m.awaitTree(task)
	was := m.lastTree(task)
	if was == nil || m.busy[task] || was.Base == "" {
		m.mu.Unlock()
		return dir, "", func() {}
	}
	before := *was
	t, kept, err := m.useTree(ctx, task, true)
	if err != nil {
		return dir, "", func() {}
	}
	done = func() {
		m.mu.Lock()
		m.treeByID(t.ID).Stale = before.Stale || !kept
		m.mu.Unlock()
		_ = m.releaseTree(t, before.Done) // the next save stores it
	}
	if in, err = m.treeDir(t, dir); err != nil || !kept {
		done()
		return dir, "", func() {}
	}
	return in, t.Base, done
}
