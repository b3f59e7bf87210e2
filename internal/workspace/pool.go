package workspace

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

// manyTrees is the number of worktrees from which on a new task takes over the worktree of a task
// that is committed but not settled.
const manyTrees = 16

// take returns the worktree of a task, ready for an attempt: unchanged if goOn is set, else reset
// to the tip. The result is the caller's copy until putBack.
func (m *Manager) take(ctx context.Context, task string, goOn bool) (*tree, error) {
	m.mu.Lock()
	if m.busy[task] {
		m.mu.Unlock()
		return nil, errors.New("the task has an attempt in its worktree already")
	}
	m.busy[task] = true
	held := m.choose(task)
	had := held.Task == task
	t := *held
	held.Task, held.Done = task, "" // reserves it for this task
	m.mu.Unlock()

	err := m.makeReady(ctx, &t, task, goOn && had && !t.Stale)
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
	return &t, err
}

// choose returns the task's worktree, or else a free one, or a new one. The caller must hold mu.
func (m *Manager) choose(task string) *tree {
	var free, idle *tree
	last := 0
	for _, t := range m.s.Trees {
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
	if free == nil && len(m.s.Trees) >= manyTrees {
		free = idle // its work is in a commit
	}
	if free == nil {
		free = &tree{ID: last + 1}
		m.s.Trees = append(m.s.Trees, free)
	}
	return free
}

// makeReady commits the contents of a worktree below refs/wavex and resets it. With goOn it leaves
// the worktree as it is.
func (m *Manager) makeReady(ctx context.Context, t *tree, task string, goOn bool) error {
	if goOn && t.Admin != "" {
		if err := m.heal(ctx, t); !errors.Is(err, errGone) {
			return err
		}
	}
	if _, err := m.keep(ctx, t); err != nil {
		return err
	}
	tip, err := m.tip(ctx)
	if err != nil {
		return err
	}
	return m.reset(ctx, t, taskBranch(m.o.Run, task), tip)
}

// tip returns the commit of the integrated work.
func (m *Manager) tip(ctx context.Context) (string, error) {
	id, err := m.g.resolve(ctx, tipRef(m.o.Run))
	if err == nil && id == "" {
		err = errors.New("the ref " + tipRef(m.o.Run) + " is gone")
	}
	return id, err
}

// putBack ends an attempt's use of a worktree.
func (m *Manager) putBack(t *tree, done string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, t.Task)
	t.Done = done
	if held := m.held(t.ID); held != nil {
		t.Stale = held.Stale
		*held = *t
	}
	return m.save(false)
}

// held returns the worktree with a number. The caller must hold mu.
func (m *Manager) held(id int) *tree {
	for _, t := range m.s.Trees {
		if t.ID == id {
			return t
		}
	}
	return nil
}

// free releases the worktrees of settled tasks for other tasks.
func (m *Manager) free(ctx context.Context, tasks []string) error {
	m.mu.Lock()
	var settled []tree
	for _, t := range m.s.Trees {
		if t.ID != 0 && t.Task != "" && slices.Contains(tasks, t.Task) && !m.busy[t.Task] {
			settled = append(settled, *t)
			m.busy[t.Task] = true
		}
	}
	m.mu.Unlock()
	var errs []error
	for _, t := range settled {
		_, err := m.keep(ctx, &t)
		if err == nil {
			err = m.unbranch(ctx, &t)
		}
		m.mu.Lock()
		delete(m.busy, t.Task)
		if err == nil {
			t.Task = ""
			t.Done = ""
			t.Used = false
			t.Stale = false
		}
		*m.held(t.ID) = t
		m.mu.Unlock()
		errs = append(errs, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(append(errs, m.save(false))...)
}

// unbranch removes a settled task's branch. Other refs contain its commits.
func (m *Manager) unbranch(ctx context.Context, t *tree) error {
	ref := taskBranch(m.o.Run, t.Task)
	id, err := m.g.resolve(ctx, ref)
	if err != nil || id == "" {
		return err
	}
	if err := m.heal(ctx, t); err == nil { // if heal fails, the worktree is added again when it is needed
		if err := m.in(t).run(ctx, "update-ref", "--no-deref", "HEAD", t.Base); err != nil {
			return err
		}
	}
	return m.g.setRefs(ctx, keptRef(m.o.Run, t.Task, id), id, ref, "")
}

// Release settles a task that will not be tried again. Its work is kept below refs/wavex, and
// another task may get its worktree.
func (m *Manager) Release(ctx context.Context, task string) error {
	if m.s.Mode != Worktree {
		return nil
	}
	return m.free(ctx, []string{task})
}

// Reopen makes the next attempt of a task begin on the integrated work, even if the attempt
// continues a session. The task's commit is kept.
func (m *Manager) Reopen(ctx context.Context, task string) error {
	if m.s.Mode != Worktree {
		return nil
	}
	m.integrating.Lock()
	defer m.integrating.Unlock()
	if err := m.keepTask(ctx, task); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.s.Trees {
		if t.Task == task {
			t.Stale = true
		}
	}
	return m.save(false)
}

// Place returns the directory in which the last attempt of a task worked, given dir of the project,
// and the commit that the attempt began on. If the task has no worktree, it returns dir and "".
func (m *Manager) Place(task, dir string) (in, base string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.s.Trees {
		if t.Task == task && t.ID != 0 && t.Base != "" {
			if in, err := m.mapped(t, dir); err == nil {
				return in, t.Base
			}
		}
	}
	return dir, ""
}

// recover finds the worktrees of an earlier wavex. It does not check their files; take does so when
// a task gets one.
func (m *Manager) recover(ctx context.Context) error {
	var err error
	if m.c, err = look(ctx, m.g, m.o.Project); err != nil {
		return err
	}
	if err := m.ready(ctx); err != nil {
		return err
	}
	for _, t := range m.s.Trees {
		if t.Admin == "" {
			continue // its add was interrupted
		}
		if err := m.heal(ctx, t); errors.Is(err, errGone) {
			t.Admin, t.Used = "", false
		} else if err != nil {
			return err
		}
	}
	if id, err := m.g.resolve(ctx, baseRef(m.o.Run)); err != nil {
		return err
	} else if id == "" {
		if err := m.g.setRefs(ctx, baseRef(m.o.Run), m.s.Base); err != nil {
			return err
		}
	}
	return m.catchUp(ctx)
}

// sweepLocks removes the lock files of the run's own refs and worktrees. Their owners were killed,
// since this process holds the run's lock.
func (m *Manager) sweepLocks() error {
	var stale []string
	for _, pattern := range []string{
		"refs/heads/wavex/" + m.o.Run + ".lock", "refs/heads/wavex/" + m.o.Run + ".tasks/*.lock",
		"refs/wavex/" + m.o.Run + "/*.lock", "refs/wavex/" + m.o.Run + ".run/*.lock", "refs/wavex/" + m.o.Run +
			".kept/*/*.lock",
	} {
		found, err := filepath.Glob(filepath.Join(m.c.common, filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		stale = append(stale, found...)
	}
	for _, t := range m.s.Trees {
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

// retire removes the worktrees that belong to no task. Those of unsettled tasks stay for a resume.
func (m *Manager) retire(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var stay []*tree
	var errs []error
	for _, t := range m.s.Trees {
		if t.ID != 0 && t.Task != "" {
			stay = append(stay, t)
			continue
		}
		unlock, err := structural(ctx, m.c.common)
		if err == nil {
			err = m.forget(ctx, m.path(t))
			unlock()
		}
		if err != nil {
			errs, stay = append(errs, err), append(stay, t)
		}
	}
	m.s.Trees = stay
	return errors.Join(append(errs, m.save(false))...)
}
