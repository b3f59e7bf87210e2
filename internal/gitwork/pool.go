package gitwork

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
)

// This file gives worktrees to tasks and integrations and takes them back. A task keeps its worktree until the task is
// settled, that is, integrated or released, or until another one needs the worktree: see park.go. Reuse is cheaper than
// a new worktree, and a large one is made alone: a worktree that becomes free meanwhile goes to the next that waits.

// acquireTree returns the worktree of a task, ready for an attempt: with goOn as the last attempt of the task left it,
// else reset to the tip. kept reports whether it is as the last attempt left it. The result is the caller's copy until
// releaseTree.
func (m *Manager) acquireTree(ctx context.Context, task string, goOn bool) (own *tree, kept bool, err error) {
	m.mu.Lock()
	m.awaitTree(task)
	if m.busy[task] {
		m.mu.Unlock()
		return nil, false, errors.New("the task has an attempt in its worktree already")
	}
	was := m.lastTree(task)
	goOn = goOn && was != nil && !was.Stale
	return m.useTree(ctx, task, goOn)
}

// awaitTree waits while another task takes over the worktree of a task, or while it is freed. The caller must hold mu.
func (m *Manager) awaitTree(task string) {
	for !m.busy[task] && slices.ContainsFunc(m.state.Trees, func(t *tree) bool { return t.Task == task && t.inUse }) {
		m.freed.Wait()
	}
}

// lastTree returns the worktree or the record of a task, or nil. The caller must hold mu.
func (m *Manager) lastTree(task string) *tree {
	if parked := m.parkedTree(task); parked != nil {
		return parked
	}
	if i := slices.IndexFunc(m.state.Trees, func(t *tree) bool { return t.Task == task }); i >= 0 {
		return m.state.Trees[i]
	}
	return nil
}

// useTree is acquireTree for a task that is not busy. The caller must hold mu, which it releases.
func (m *Manager) useTree(ctx context.Context, task string, goOn bool) (own *tree, kept bool, err error) {
	m.busy[task] = true
	held, err := m.awaitIdle(ctx, task)
	if err != nil {
		delete(m.busy, task)
		m.mu.Unlock()
		return nil, false, err
	}
	parked := m.parkedTree(task)
	had := held.Task == task
	t := *held
	m.mu.Unlock()

	if !had && t.Task != "" {
		err = m.takeOver(ctx, held, &t, task)
	}
	if err == nil {
		t.Task = task
		kept, err = m.prepareTree(ctx, &t, parked, goOn)
		t.Done, t.Stale, t.Used = "", err != nil, t.Used || err == nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.freed.Broadcast()
	m.endMaking(held)
	t.settled = held.settled
	*held = t
	if err == nil {
		m.unpark(task)
	}
	if serr := m.save(); err == nil {
		err = serr
	}
	if err != nil {
		held.inUse = false
		delete(m.busy, task)
	}
	return &t, kept, err
}

// The order in which idle worktrees are given to another task.
const (
	lastResort = iota + 1 // its task has not ended, and may continue with its files
	stale                 // its task begins anew on the tip
	committed             // its task waits for its integration, and its work is in a commit
	free                  // it belongs to no task
	former                // it is at the path where the task worked before
)

// awaitIdle marks a worktree as in use and returns it: the task's, or else the best idle one, or a new one. If another
// task is taking over the task's worktree, awaitIdle waits until it has. If a worktree is being made, awaitIdle waits
// for that worktree or for an idle one. The task "" is an integration. The caller must hold mu.
func (m *Manager) awaitIdle(ctx context.Context, task string) (*tree, error) {
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		t := m.selectTree(task, m.parkedTree(task))
		idle := t == nil || !t.inUse
		if idle && (t != nil && t.Admin != "" || m.making == nil || !m.isLarge()) {
			if t == nil {
				t = &tree{ID: m.unusedID(), Integrates: task == "" && m.opts.Setup.Run != ""}
				m.state.Trees = append(m.state.Trees, t)
			}
			if t.Admin == "" {
				m.making = t
			}
			t.inUse = true
			return t, nil
		}
		m.freed.Wait()
	}
}

// endMaking lets another worktree be made, if this one was. The caller must hold mu.
func (m *Manager) endMaking(t *tree) {
	if m.making != nil && m.making.ID == t.ID {
		m.making = nil
		m.freed.Broadcast()
	}
}

// selectTree returns the task's worktree, or else the best idle one, or nil. The caller must hold mu.
func (m *Manager) selectTree(task string, parked *tree) *tree {
	var best *tree
	rank := 0
	for _, t := range m.state.Trees {
		if t.Task == task && task != "" {
			return t
		}
		r := lastResort
		switch {
		case t.inUse, m.opts.Setup.Run != "" && t.Integrates != (task == ""):
			continue
		case t.Task == "":
			r = free
		case t.Done != "":
			r = committed
		case t.Stale:
			r = stale
		case task == "":
			continue
		}
		if r > stale && parked != nil && parked.ID == t.ID {
			r = former
		}
		if r > rank {
			best, rank = t, r
		}
	}
	return best
}

// unusedID returns the smallest number that no worktree has or had and whose path no worktree is being moved away from.
// The caller must hold mu.
func (m *Manager) unusedID() int {
	for id := 1; ; id++ {
		has := func(t *tree) bool { return t.ID == id }
		if !m.left[id] && !slices.ContainsFunc(m.state.Trees, has) && !slices.ContainsFunc(m.state.Parked, has) {
			return id
		}
	}
}

// prepareTree makes a worktree ready for an attempt of its task. If goOn is true, the worktree gets the files of the
// task's last attempt, and kept is true unless they are gone. parked is the record of the task or nil. If kept is
// false, prepareTree commits the contents of the worktree below refs/wavex and resets it.
func (m *Manager) prepareTree(ctx context.Context, t, parked *tree, goOn bool) (kept bool, err error) {
	switch {
	case goOn && parked != nil:
		if kept, err = m.bringBack(ctx, t, parked); kept || err != nil {
			return kept, err
		}
	case goOn && t.Admin != "":
		if err := m.repairTree(ctx, t); !errors.Is(err, errTreeGone) {
			return true, err
		}
	}
	if _, err := m.preserveTree(ctx, t); err != nil {
		return false, err
	}
	return false, m.resetTree(ctx, t, taskBranch(m.opts.Run, t.Task), m.tip())
}

// tip returns the commit of the integrated work on record, which agents cannot move as they can its ref.
func (m *Manager) tip() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tipLocked()
}

// tipLocked is tip for callers that hold mu.
func (m *Manager) tipLocked() string {
	if n := len(m.state.Waves); n > 0 {
		return m.state.Waves[n-1].Result.Commit
	}
	return m.state.Base
}

// releaseTree ends an attempt's use of a worktree.
func (m *Manager) releaseTree(t *tree, done string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.freed.Broadcast()
	delete(m.busy, t.Task)
	t.Done, t.inUse = done, false
	if held := m.treeByID(t.ID); held != nil {
		t.Stale = held.Stale
		*held = *t
	}
	return m.save()
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

// freeTrees releases the worktrees of settled tasks for other tasks, and executes also with the first of their
// transactions. It reports whether it did: not if that one failed.
func (m *Manager) freeTrees(ctx context.Context, tasks []string, also ...string) (did bool, err error) {
	m.mu.Lock()
	var settled, parked []*tree
	for _, t := range m.state.Trees {
		if t.Task == "" || !slices.Contains(tasks, t.Task) || m.busy[t.Task] {
			continue
		}
		if t.inUse { // another task is taking it over
			t.settled = true
			continue
		}
		t.inUse = true
		settled = append(settled, t)
	}
	for _, t := range m.state.Parked {
		if slices.Contains(tasks, t.Task) && !m.busy[t.Task] {
			parked = append(parked, t)
		}
	}
	m.mu.Unlock()
	var errs []error
	for _, t := range settled {
		with, err := m.freeTree(ctx, t, also)
		errs, did, also = append(errs, err), did || with, nil
	}
	for _, t := range parked {
		_, err := m.deleteTaskBranch(ctx, t.Task, t.Done, nil)
		if err == nil {
			m.mu.Lock()
			m.unpark(t.Task)
			m.mu.Unlock()
		}
		errs = append(errs, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return did, errors.Join(append(errs, m.save())...)
}

// freeTree releases a worktree that the caller has marked as in use. See deleteTaskBranch for also.
func (m *Manager) freeTree(ctx context.Context, held *tree, also []string) (did bool, err error) {
	m.mu.Lock()
	t := *held
	m.mu.Unlock()
	_, err = m.preserveTree(ctx, &t)
	var detach []string
	// If it cannot be repaired, the worktree is added again when it is needed.
	if err == nil && t.Admin != "" && t.Base != "" && m.repairTree(ctx, &t) == nil {
		detach = append(detach, "update worktrees/"+filepath.Base(t.Admin)+"/HEAD "+t.Base)
	}
	if err == nil {
		did, err = m.deleteTaskBranch(ctx, t.Task, t.Done, also, detach...)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.freed.Broadcast()
	t.inUse = false
	if err == nil {
		t = tree{ID: t.ID, Base: t.Base, Setup: t.Setup, Admin: t.Admin, Integrates: t.Integrates}
	}
	*held = t
	return did, err
}

// deleteTaskBranch removes the branch of a settled task, whose commit is done, if it has one. Other refs contain its
// commits. detach has further commands of the same transaction, and so has also unless that fails. It reports whether
// it executed also.
func (m *Manager) deleteTaskBranch(ctx context.Context, task, done string, also []string,
	detach ...string) (did bool, err error) {
	branch := taskBranch(m.opts.Run, task)
	if isObjectID(done) {
		own := []string{"verify " + taskRef(m.opts.Run, task) + " " + done, "delete " + branch + " " + done}
		err := m.g.refTransaction(ctx, slices.Concat(also, detach, own)...)
		if exitCode(err) <= 0 {
			return err == nil && also != nil, err
		}
	}
	// The branch is not at the task's commit: an agent has moved it.
	refs, err := m.g.refIDs(ctx, branch)
	if id := refs[branch]; err == nil && id != "" {
		detach = append(detach, "update "+preservedRef(m.opts.Run, task, id)+" "+id, "delete "+branch)
	}
	if err != nil {
		return false, err
	}
	return false, m.g.refTransaction(ctx, detach...)
}

// Release settles a task that will not be tried again. Its work is kept below refs/wavex, and
// another task may get its worktree.
func (m *Manager) Release(ctx context.Context, task string) error {
	if m.state.Mode != Worktree {
		return nil
	}
	_, err := m.freeTrees(ctx, []string{task})
	return err
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
	for _, t := range slices.Concat(m.state.Trees, m.state.Parked) {
		if t.Task == task {
			t.Stale = true
		}
	}
	return m.save()
}

// reopenTrees finds the worktrees of an earlier wavex. It does not check their files; take does so when
// a task gets one.
func (m *Manager) reopenTrees(ctx context.Context) error {
	if err := m.findCheckout(ctx); err != nil {
		return err
	}
	if err := m.mend(ctx); err != nil {
		return err
	}
	if err := m.prepareRepo(ctx); err != nil {
		return err
	}
	if err := m.restore(ctx); err != nil {
		return err
	}
	if m.state.FilesKey != m.filesKey() {
		m.state.FilesKey = ""
	}
	for _, t := range m.state.Trees {
		if t.Task == "" {
			t.Used = false
		}
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

// removeUnusedTrees removes the worktrees that belong to no task. Those of unsettled tasks stay for a resume.
func (m *Manager) removeUnusedTrees(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.removeTrees(ctx, func(t *tree) bool { return t.Task == "" })
}

// RemoveSurplus removes worktrees of settled tasks, so that no more than need remain if possible: as many as tasks that
// may still begin an attempt, and one for integrations. It does not if the next run gets them.
func (m *Manager) RemoveSurplus(ctx context.Context, need int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	surplus := len(m.state.Trees) - max(need, 1)
	if m.keepsTrees() {
		return nil
	}
	return m.removeTrees(ctx, func(t *tree) bool {
		if surplus <= 0 || t.Task != "" || t.inUse {
			return false
		}
		surplus--
		return true
	})
}

// removeTrees removes the worktrees that which chooses. The caller must hold mu.
func (m *Manager) removeTrees(ctx context.Context, which func(*tree) bool) error {
	var stay []*tree
	var errs []error
	for _, t := range m.state.Trees {
		if which(t) {
			err := m.lockAndRemoveTree(ctx, m.treePathOf(t))
			if err == nil {
				continue
			}
			errs = append(errs, err)
		}
		stay = append(stay, t)
	}
	if len(stay) == len(m.state.Trees) {
		return errors.Join(errs...)
	}
	m.state.Trees = stay
	return errors.Join(append(errs, m.save())...)
}
