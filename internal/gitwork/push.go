package gitwork

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wavex/internal/plan"
)

// This file pushes the branch of a run to the remote.

// pushTimeout limits a push between integrations, because the next integration waits for it.
const pushTimeout = time.Minute

var errPushTimeout = fmt.Errorf("it took longer than %s", pushTimeout)

// Push pushes the integrated work, so that it is on the remote before the run ends. A failure is
// shown once; the next call and the delivery try again. In shared mode it does nothing.
func (m *Manager) Push(ctx context.Context) {
	if m.state.Mode != Worktree {
		return
	}
	limited, cancel := context.WithTimeoutCause(ctx, pushTimeout, errPushTimeout)
	defer cancel()
	var err error
	if tip := m.tip(); tip != m.state.Base && tip != m.pushed.commit {
		_, err = m.pushBranch(limited, Delivery{Ref: branchName(runBranch(m.opts.Run)), Commit: tip})
	}
	switch {
	case context.Cause(ctx) != nil: // the run is being stopped
	case err != nil && !m.pushed.failed:
		m.pushed.failed = true
		m.warn(fmt.Errorf("the integrated work is not pushed, the next integration tries again: %w", err))
	case err == nil:
		m.pushed.failed = false
	}
}

// deliverPushed pushes the branch, and says how another clone gets the work.
func (m *Manager) deliverPushed(ctx context.Context, d Delivery) (Delivery, error) {
	c, err := m.readCheckout(ctx)
	if err == nil {
		err = m.suggestCommand(ctx, &d, c, nil)
	}
	if err != nil {
		return d, err
	}
	remote, err := m.pushBranch(ctx, d)
	if err != nil {
		return d, err
	}
	head := branchName(runBranch(m.opts.Run))
	straight, err := m.isAncestor(ctx, c.head, d.Commit)
	way := "--no-rebase"
	if straight {
		way = "--ff-only"
	}
	d.How, d.Ref = "push", remote+"/"+head
	d.Command = fmt.Sprintf("git pull %s %s %s", way, plan.ShellQuote(remote), plan.ShellQuote(head))
	return d, err
}

// pushBranch pushes the commit of d as the branch of the run, and returns the remote. An *Error says that it cannot.
func (m *Manager) pushBranch(ctx context.Context, d Delivery) (remote string, err error) {
	remote, err = m.pushRemote(ctx)
	if err != nil {
		return "", err
	}
	if remote == "" {
		return "", &Error{NoRemote, "there is no remote to push to",
			"add one with git remote add origin URL; the work is on " + d.Ref}
	}
	g, err := m.forHooks(m.g)
	if err != nil {
		return "", &Error{PushFailed, err.Error(), "the work is on " + d.Ref}
	}
	err = g.withBatchSSH(ctx).run(ctx, "push", "-q", remote, d.Commit+":"+runBranch(m.opts.Run))
	var failed *gitError
	if errors.As(err, &failed) {
		return "", &Error{PushFailed, err.Error(), "the work is on " + d.Ref}
	}
	if err == nil {
		m.pushed.commit = d.Commit
	}
	return remote, err
}

// pushRemote returns the remote that the branch of the run's start is pushed to.
func (m *Manager) pushRemote(ctx context.Context) (string, error) {
	for _, key := range []string{"branch." + branchName(m.state.Branch) + ".pushRemote", "remote.pushDefault", "branch." +
		branchName(m.state.Branch) + ".remote"} {
		if name, err := m.g.config(ctx, key); err != nil || name != "" && name != "." {
			return name, err
		}
	}
	out, err := m.g.output(ctx, "remote")
	all := splitLines(out)
	for _, name := range all {
		if name == "origin" || len(all) == 1 {
			return name, err
		}
	}
	return "", err
}
