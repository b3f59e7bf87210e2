package gitwork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"wavex/internal/textfmt"
	"wavex/runner"
)

// This file connects the worktrees of two machines. On the machine of the run, attempts have no worktree: requests and
// results have commits, and the record of a parked task has the files that such an attempt left. On the other machine,
// an attempt with a Request.Commit begins on that commit. The file does not know how commits travel.

// enterElsewhere is Enter for an attempt that is made on another machine. The request has then the commits on which the
// attempt begins, a directory relative to the top of the repository, with slashes, and no environment of a slot. The
// commits of a result, and those of a turn before TurnEnded, must be in this repository.
func (m *Manager) enterElsewhere(ctx context.Context, req *runner.Request, hooks *runner.Hooks) (
	leave func(*runner.Result), err error) {
	if err := m.requestElsewhere(ctx, req); err != nil {
		return nil, err
	}
	task, base, attempt := req.Task, req.Commit, req.Attempt
	if ended := hooks.TurnEnded; ended != nil {
		hooks.TurnEnded = func(t runner.Turn) error {
			if err := m.adoptWIP(ctx, task, base, t.Result.WIP); err != nil {
				return err
			}
			return ended(t)
		}
	}
	return func(res *runner.Result) {
		defer m.endElsewhere(task)
		always := context.WithoutCancel(ctx) // its work is on this machine already
		if res.Outcome != runner.Done {
			if err := m.adoptWIP(always, task, base, res.WIP); err != nil {
				m.warn(fmt.Errorf("the next attempt at %s begins without the files of attempt %d: %w", task, attempt, err))
			}
			return
		}
		if err := m.adopt(always, task, base, res.Commit); err != nil {
			reason := "taking over its work: " + err.Error()
			res.Outcome, res.Commit = runner.Broken, ""
			var bad *rejection
			if errors.As(err, &bad) {
				res.Outcome, reason = runner.Wrong, bad.reason
			}
			res.Reason = textfmt.OneLine(reason, runner.ReasonMax)
			res.Signature = runner.Signature(res.Reason, "")
		}
	}, nil
}

// requestElsewhere rewrites a request as another machine needs it. If err is nil the caller must call endElsewhere.
func (m *Manager) requestElsewhere(ctx context.Context, req *runner.Request) error {
	from := req.Dir
	rel, err := filepath.Rel(resolveLinks(m.checkout.top), resolveLinks(from))
	if err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("%s is not in the repository %s", from, m.checkout.top)
	}
	req.Dir = filepath.ToSlash(rel)
	req.Files, req.Checks = m.relativeFiles(from, req.Files), m.relativeChecks(from, req.Checks)
	req.Settings.MCPConfig = m.relativePath(from, req.Settings.MCPConfig)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.awaitTree(req.Task)
	if m.busy[req.Task] {
		return errors.New("the task has an attempt already")
	}
	if err := m.parkTask(ctx, req.Task); err != nil {
		return err
	}
	req.Commit = m.tipLocked()
	if was := m.parkedTree(req.Task); was != nil && !was.Stale && (req.Resume || req.Turn != nil) {
		req.Commit, req.WIP = was.Base, was.Commit
	}
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return cause
	case req.Turn != nil && req.WIP == "":
		return errTurnGone
	}
	m.busy[req.Task] = true
	return nil
}

func (m *Manager) endElsewhere(task string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, task)
	m.freed.Broadcast()
}

// parkTask parks a task that has a worktree, such as one in which a panel looked at its files. The caller must hold mu.
func (m *Manager) parkTask(ctx context.Context, task string) error {
	held := m.lastTree(task)
	if held == nil || held == m.parkedTree(task) {
		return nil
	}
	held.inUse = true
	t := *held
	m.mu.Unlock()
	parked, err := m.park(ctx, &t)
	m.mu.Lock()
	defer m.freed.Broadcast()
	held.inUse = false
	if err != nil {
		return err
	}
	*held = tree{ID: t.ID, Base: t.Base, Setup: t.Setup, Admin: t.Admin, Used: t.Used}
	m.replaceParked(parked)
	return m.save()
}

// adopt makes a commit on base the work of a task; "" is a success without changes. An attempt of an earlier session
// began on a former tip, which is as good as base. A *rejection says that the commit is on neither.
func (m *Manager) adopt(ctx context.Context, task, base, commit string) error {
	if commit != "" {
		parents, err := m.g.output(ctx, "rev-list", "--parents", "-n", "1", commit)
		parent := strings.TrimSpace(strings.TrimPrefix(parents, commit))
		if err != nil || parent != base && m.tipNumber(parent) < 0 {
			return cmp.Or(err, notOn(base, commit))
		}
		base = parent
	}
	if err := m.preserveTaskCommit(ctx, task); err != nil {
		return err
	}
	id := cmp.Or(commit, base)
	parked := &tree{Task: task, Base: base, Used: true, Done: cmp.Or(commit, noWork), Commit: id}
	return m.parkElsewhere(ctx, parked, taskRef(m.opts.Run, task), id)
}

// adoptWIP makes a commit that follows base the files that the last attempt of a task left. "" changes nothing.
func (m *Manager) adoptWIP(ctx context.Context, task, base, commit string) error {
	if commit == "" {
		return nil
	}
	follows, err := m.isAncestor(ctx, base, commit)
	if err == nil && !follows {
		base, err = m.g.output(ctx, "merge-base", m.tip(), commit)
		follows = m.tipNumber(base) >= 0
	}
	if err != nil || !follows {
		return cmp.Or(err, notOn(base, commit))
	}
	return m.parkElsewhere(ctx, &tree{Task: task, Base: base, Used: true, Commit: commit},
		preservedRef(m.opts.Run, task, commit), commit)
}

// parkElsewhere updates refs and replaces the record of a task.
func (m *Manager) parkElsewhere(ctx context.Context, parked *tree, refs ...string) error {
	if err := m.g.updateRefs(ctx, refs...); err != nil {
		return err
	}
	if err := m.saveBundle(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replaceParked(parked)
	return m.save()
}

// notOn returns the rejection of a commit that does not follow base.
func notOn(base, commit string) error {
	return &rejection{reason: fmt.Sprintf("the commit %s of its work is not on %s, where it began", shortID(commit),
		shortID(base))}
}

// place makes the next attempt of a task begin on the commits of a request from another machine.
func (m *Manager) place(req runner.Request) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.awaitTree(req.Task)
	if m.busy[req.Task] {
		return errors.New("the task has an attempt in its worktree already")
	}
	parked := &tree{Task: req.Task, Base: req.Commit, Used: true, Commit: cmp.Or(req.WIP, req.Commit)}
	if was := m.lastTree(req.Task); was != nil {
		parked.ID = was.ID // the CLI finds a session by the path of its directory
	}
	m.replaceParked(parked)
	return m.save()
}

// contents returns the commit with the files in the worktree of an attempt from another machine, which has ended or
// whose turn has. If there is none, the work stays in the worktree, and "" is returned.
func (m *Manager) contents(ctx context.Context, t *tree) string {
	id, err := m.preserveTree(ctx, t)
	if err != nil {
		m.warn(fmt.Errorf("keeping the work of task %s: %w", t.Task, err))
		return ""
	}
	return cmp.Or(id, t.Base)
}
