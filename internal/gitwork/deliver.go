package gitwork

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"wavex/internal/plan"
)

// This file delivers the integrated work to the user. It is the only place where wavex writes to
// the user's checkout, and it only fast-forwards a clean one.

// Deliver delivers the integrated work. how is one of:
//
//	"", "auto"     fast-forward the branch that the run began on if the run is complete
//	               and nothing prevents it, else like "branch"
//	"branch"       leave the work on the branch wavex/RUN
//	"ff"           fast-forward, or return an error
//	"push"         push the branch
//	"pr"           push the branch and open a pull request
//	"none"         leave it below refs/wavex, without a branch: a rehearsal made it up
//
// A second call finds the work delivered. Deliver returns an *Error if an explicitly requested
// delivery is not possible.
func (m *Manager) Deliver(ctx context.Context, how string, complete bool) (Delivery, error) {
	if m.state.Mode != Worktree {
		return deliverShared(how)
	}
	m.integrating.Lock()
	defer m.integrating.Unlock()
	branch := runBranch(m.opts.Run)
	if err := m.recoverForward(ctx); err != nil {
		return Delivery{}, err
	}
	refs, err := m.g.refIDs(ctx, branch)
	if err != nil {
		return Delivery{}, err
	}
	tip := m.tip()
	d := Delivery{How: "branch", Ref: branchName(branch), Commit: tip}
	if tip == m.state.Base {
		return Delivery{How: "none", Commit: tip, Why: "nothing was integrated"}, nil
	}
	if how == "none" {
		if complete && refs[branch] == tip {
			err = m.g.updateRefs(ctx, branch, "")
		}
		return Delivery{How: "none", Commit: tip, Why: "the work was made up"}, err
	}
	if refs[branch] != tip {
		why, err := m.branchObstacle(ctx, refs[branch], tip)
		if err == nil && why == "" {
			err = m.g.updateRefs(ctx, branch, tip)
		}
		if err != nil {
			return d, err
		}
		if why != "" { // the branch could not be moved: name the tip's ref
			d.Ref, d.Why = tipRef(m.opts.Run), why
		}
	}
	switch how {
	case "", Auto, "ff":
		return m.fastForward(ctx, d, how == "ff", complete)
	case "branch":
		c, err := m.readCheckout(ctx)
		if err != nil {
			return d, err
		}
		return d, m.suggestCommand(ctx, &d, c, nil)
	case "push":
		return m.deliverPushed(ctx, d)
	case "pr":
		return m.openPullRequest(ctx, d)
	}
	return d, &Error{BadMode, fmt.Sprintf("there is no delivery %q", how),
		"it is auto, branch, ff, push or pr; resume the run with --deliver auto"}
}

// deliverShared says where the work of a run in the project's directory is.
func deliverShared(how string) (Delivery, error) {
	d := Delivery{How: "shared", Why: "the work is in the project's directory"}
	if how == "push" { // of each job in CI
		d.Why += ", and nothing is pushed"
	}
	return d, CheckShared(how)
}

// CheckShared returns an *Error if a run without commits, in the project's directory, cannot be delivered in this way.
func CheckShared(how string) error {
	if how != "pr" {
		return nil
	}
	return &Error{BadMode, "no pull request can be opened: tasks work in the project's directory, and make no commits",
		"run with --isolation worktree; to resume, --deliver auto leaves the work where it is"}
}

// readCheckout reads the current state of the user's checkout.
func (m *Manager) readCheckout(ctx context.Context) (checkout, error) {
	old := &m.checkout
	c := checkout{top: old.top, common: old.common, dir: old.dir, prefix: old.prefix, version: old.version}
	return c, c.readStatus(ctx, m.g, append([]string{string(m.opts.Loop)}, m.opts.Own...))
}

// obstacle returns the reason why the checkout must not be fast-forwarded, or nil.
func (m *Manager) obstacle(ctx context.Context, c checkout, tip string, asked, complete bool) (*Error, error) {
	is := func(problem, format string, args ...any) (*Error, error) {
		return &Error{Problem: problem, Text: fmt.Sprintf(format, args...)}, nil
	}
	_, other := m.forHooks(m.g)
	switch {
	case other != nil:
		return is(NotForward, "%v", other)
	case !complete && !asked:
		return is(Incomplete, "the run is not complete")
	case c.branch == "":
		return is(NotForward, "the checkout is on no branch")
	case c.branch != m.state.Branch:
		return is(NotForward, "the checkout is on %s now, and the run began on %s", branchName(c.branch),
			orDetached(m.state.Branch))
	case m.isProtected(c.branch):
		return is(Protected, "%s is protected", branchName(c.branch))
	case c.inProgress != "":
		return is(NotForward, "a %s is under way in the checkout", c.inProgress)
	}
	if inTheWay, err := m.changesInTheWay(ctx, c, tip); err != nil {
		return nil, err
	} else if len(inTheWay) > 0 {
		return is(NotForward, "the checkout has changes that are not committed: %s", firstFew(inTheWay))
	}
	if ok, err := m.isAncestor(ctx, c.head, tip); err != nil {
		return nil, err
	} else if !ok {
		return is(NotForward, "%s has moved since the run began", branchName(c.branch))
	}
	if ok, err := m.isSigned(ctx, tip); err != nil || ok || asked {
		return nil, err
	}
	return is(NotSigned, "the commits are not signed")
}

// changesInTheWay returns the uncommitted changes, without untracked files to which the work does nothing.
func (m *Manager) changesInTheWay(ctx context.Context, c checkout, tip string) ([]string, error) {
	if len(c.dirty) == 0 {
		return nil, nil
	}
	work, err := m.g.diff(ctx, c.head, tip)
	return slices.DeleteFunc(c.dirty, func(path string) bool {
		if !slices.Contains(c.untracked, path) {
			return false
		}
		path = strings.TrimSuffix(path, "/") + "/"
		for file := range work {
			if strings.HasPrefix(file+"/", path) || strings.HasPrefix(path, file+"/") {
				return false
			}
		}
		return true
	}), err
}

func orDetached(ref string) string {
	if ref == "" {
		return "no branch"
	}
	return branchName(ref)
}

// suggestCommand leaves the work on its branch and sets the command that merges it.
func (m *Manager) suggestCommand(ctx context.Context, d *Delivery, c checkout, obstacle *Error) error {
	if obstacle != nil {
		d.Why = strings.TrimPrefix(d.Why+"; "+obstacle.Text, "; ")
	}
	straight, err := m.isAncestor(ctx, c.head, d.Commit)
	if err != nil {
		return err
	}
	rebase := "git rebase"
	if ok, err := m.isSigned(ctx, d.Commit); err != nil {
		return err
	} else if !ok {
		straight, rebase = false, "git rebase --force-rebase --gpg-sign"
	}
	switch {
	case straight:
		d.Command = "git merge --ff-only " + plan.ShellQuote(d.Ref)
	case c.branch != "" && d.Ref == branchName(runBranch(m.opts.Run)):
		// The user has new commits meanwhile: rebase the run's commits on them.
		on := plan.ShellQuote(branchName(c.branch))
		d.Command = fmt.Sprintf("%s %s %s && git switch %s && git merge --ff-only %s", rebase, on, plan.ShellQuote(d.Ref), on,
			plan.ShellQuote(d.Ref))
	default:
		d.Command = "git merge " + plan.ShellQuote(d.Ref)
	}
	return nil
}
