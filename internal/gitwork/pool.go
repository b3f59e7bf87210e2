package gitwork

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// This file gives worktrees to tasks and takes them back. A task keeps its worktree until the task
// is settled, that is, integrated or released, so that a continued session finds its directory.
// Then another task gets the worktree, because reuse is cheaper than a new one.

// maxTrees is the number of worktrees from which on a new task takes over the worktree of a task
// that is committed but not settled.
const maxTrees = 16

// acquireTree returns the worktree of a task, ready for an attempt: unchanged if goOn is set, else reset
// to the tip. kept reports whether it is unchanged. The result is the caller's copy until releaseTree.
func (m *Manager) acquireTree(ctx context.Context, task string, goOn bool) (own *tree, kept bool, err error) {
	m.mu.Lock()
	if m.busy[task] {
		m.mu.Unlock()
		return nil, false, errors.New("the task has an attempt in its worktree already")
	}
	m.busy[task] = true
	held := m.selectTree(task)
	had := held.Task == task
	t := *held
	held.Task, held.Done = task, "" // reserves it for this task
	m.mu.Unlock()

	kept, err = m.prepareTree(ctx, &t, task, goOn && had && !t.Stale)
	m.mu.Lock()
	defer m.mu.Unlock()
	t.Task, t.Done = task, ""
	t.Stale = err != nil
	if err == nil {
		t.Used = true
	}
	*held = t
	if serr := m.save(!had); err == nil {
		err = serr
	}
	if err != nil {
		delete(m.busy, task)
	}
	return &t, kept, err
}

// selectTree returns the task's worktree, or else a free one, or a new one. The caller must hold mu.
func (m *Manager) selectTree(task string) *tree {
	var free, idle *tree
	last := 0
	for _, t := range m.state.Trees {
		last = max(last, t.ID)
		switch {
		case t.ID == 0:
		case t.Task == task:
			return t
		case t.Task == "" && free == nil:
			free = t
		case t.Done != "" && !m.busy[t.Task] && idle == nil:
			idle = t
		}
	}
	if free == nil && len(m.state.Trees) >= maxTrees {
		free = idle // its work is in a commit
	}
	if free == nil {
		free = &tree{ID: last + 1}
		m.state.Trees = append(m.state.Trees, free)
	}
	return free
}

// prepareTree commits the contents of a worktree below refs/wavex and resets it. With goOn it leaves
// the worktree as it is, unless it is gone; kept reports whether it did.
func (m *Manager) prepareTree(ctx context.Context, t *tree, task string, goOn bool) (kept bool, err error) {
	if goOn && t.Admin != "" {
		if err := m.repairTree(ctx, t); !errors.Is(err, errTreeGone) {
			return true, err
		}
	}
	if _, err := m.preserveTree(ctx, t); err != nil {
		return false, err
	}
	return false, m.resetTree(ctx, t, taskBranch(m.opts.Run, task), m.tip())
}

// tip returns the commit of the integrated work on record, which agents cannot move as they can its ref.
func (m *Manager) tip() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.state.Waves); n > 0 {
		return m.state.Waves[n-1].Result.Commit
	}
	return m.state.Base
}

// releaseTree ends an attempt's use of a worktree.
func (m *Manager) releaseTree(t *tree, done string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, t.Task)
	t.Done = done
	if held := m.treeByID(t.ID); held != nil {
		t.Stale = held.Stale
		*held = *t
	}
	return m.save(false)
}

// treeByID returns the worktree with a number. The caller must hold mu.
func (m *Manager) treeByID(id int) *tree {
	for _, t := range m.state.Trees {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// freeTrees releases the worktrees of settled tasks for other tasks.
func (m *Manager) freeTrees(ctx context.Context, tasks []string) error {
	m.mu.Lock()
	var settled []tree
	for _, t := range m.state.Trees {
		if t.ID != 0 && t.Task != "" && slices.Contains(tasks, t.Task) && !m.busy[t.Task] {
			settled = append(settled, *t)
			m.busy[t.Task] = true
		}
	}
	m.mu.Unlock()
	var errs []error
	for _, t := range settled {
		_, err := m.preserveTree(ctx, &t)
		if err == nil {
			err = m.deleteTaskBranch(ctx, &t)
		}
		m.mu.Lock()
		delete(m.busy, t.Task)
		if err == nil {
			t.Task = ""
			t.Done = ""
			t.Used = false
			t.Stale = false
		}
		*m.treeByID(t.ID) = t
		m.mu.Unlock()
		errs = append(errs, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(append(errs, m.save(false))...)
}

// deleteTaskBranch removes a settled task's branch. Other refs contain its commits.
func (m *Manager) deleteTaskBranch(ctx context.Context, t *tree) error {
	if t.Admin != "" && t.Base != "" && m.repairTree(ctx, t) == nil { // else it is added again when it is needed
		if err := m.gitIn(t).run(ctx, "update-ref", "--no-deref", "HEAD", t.Base); err != nil {
			return err
		}
	}
	branch := taskBranch(m.opts.Run, t.Task)
	if isObjectID(t.Done) {
		err := m.g.refTransaction(ctx, "verify "+taskRef(m.opts.Run, t.Task)+" "+t.Done, "delete "+branch+" "+t.Done)
		if exitCode(err) <= 0 {
			return err
		}
	}
	// The branch is not at the task's commit: an agent has moved it.
	refs, err := m.g.readRefs(ctx, branch)
	id := refs[branch].id
	if err != nil || id == "" {
		return err
	}
	return m.g.updateRefs(ctx, preservedRef(m.opts.Run, t.Task, id), id, branch, "")
}

// Release settles a task that will not be tried again. Its work is kept below refs/wavex, and
// another task may get its worktree.
func (m *Manager) Release(ctx context.Context, task string) error {
	if m.state.Mode != Worktree {
		return nil
	}
	return m.freeTrees(ctx, []string{task})
}

// Reopen makes the next attempt of a task begin on the integrated work, even if the attempt
// continues a session. The task's commit is kept.
func (m *Manager) Reopen(ctx context.Context, task string) error {
	if m.state.Mode != Worktree {
		return nil
	}
	m.integrating.Lock()
	defer m.integrating.Unlock()
	if err := m.preserveTaskCommit(ctx, task); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.state.Trees {
		if t.Task == task {
			t.Stale = true
		}
	}
	return m.save(false)
}

// AttemptDir returns the directory in which the last attempt of a task worked, given dir of the project,
// and the commit that the attempt began on. If the task has no worktree, it returns dir and "".
func (m *Manager) AttemptDir(task, dir string) (in, base string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.state.Trees {
		if t.Task == task && t.ID != 0 && t.Base != "" {
			if in, err := m.treeDir(t, dir); err == nil {
				return in, t.Base
			}
		}
	}
	return dir, ""
}

// reopenTrees finds the worktrees of an earlier wavex. It does not check their files; take does so when
// a task gets one.
func (m *Manager) reopenTrees(ctx context.Context) error {
	if err := m.findCheckout(ctx); err != nil {
		return err
	}
	if err := m.prepareRepo(ctx); err != nil {
		return err
	}
	if err := m.restore(ctx); err != nil {
		return err
	}
	for _, t := range m.state.Trees {
		if t.Admin == "" {
			continue // its add was interrupted
		}
		if err := m.repairTree(ctx, t); errors.Is(err, errTreeGone) {
			t.Admin, t.Used = "", false
		} else if err != nil {
			return err
		}
	}
	if err := m.moveTip(ctx); err != nil {
		return err
	}
	return m.adoptPushed(ctx)
}

// removeStaleLocks removes the lock files of the run's own refs and worktrees. Their owners were killed,
// since this process holds the run's lock.
func (m *Manager) removeStaleLocks() error {
	var stale []string
	for _, pattern := range []string{
		"refs/heads/wavex/" + m.opts.Run + ".lock", "refs/heads/wavex/" + m.opts.Run + ".tasks/*.lock",
		"refs/wavex/" + m.opts.Run + "/*.lock", "refs/wavex/" + m.opts.Run + ".run/*.lock", "refs/wavex/" + m.opts.Run +
			".kept/*/*.lock",
	} {
		found, err := filepath.Glob(filepath.Join(m.checkout.common, filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		stale = append(stale, found...)
	}
	for _, t := range m.state.Trees {
		if t.Admin != "" {
			stale = append(stale, filepath.Join(t.Admin, "index.lock"), filepath.Join(t.Admin, "HEAD.lock"))
		}
	}
	for _, f := range stale {
		if err := os.Remove(f); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// removeUnusedTrees removes the worktrees that belong to no task. Those of unsettled tasks stay for a resume.
func (m *Manager) removeUnusedTrees(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var stay []*tree
	var errs []error
	for _, t := range m.state.Trees {
		if t.ID != 0 && t.Task != "" {
			stay = append(stay, t)
			continue
		}
		if err := m.lockAndRemoveTree(ctx, m.treePathOf(t)); err != nil {
			errs, stay = append(errs, err), append(stay, t)
		}
	}
	m.state.Trees = stay
	return errors.Join(append(errs, m.save(false))...)
}
