package gitwork

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file undoes a delivery by fast-forward: it moves the user's branch and checkout back, if no work builds on the
// delivered commit. The delivered work stays on the branch wavex/RUN.

// Undelivery is the undoing of a delivery.
type Undelivery struct {
	Branch   string // name of the user's branch
	From, To string // the delivered commit, and the commit before the delivery
	Ref      string // the branch that keeps the work
	Changes  []Change
}

// PlanUndelivery computes how the last delivery is undone, without changes. It returns an *Error if nothing was
// delivered by a fast-forward, or if other work builds on it.
func (m *Manager) PlanUndelivery(ctx context.Context) (*Undelivery, error) {
	if _, _, err := m.findForward(ctx); err != nil {
		return nil, err
	}
	if m.state.Delivered == "" {
		return nil, &Error{Problem: BuiltOn, Text: "wavex did not move your branch in run " + m.opts.Run,
			Fix: "its work is on " + branchName(runBranch(m.opts.Run))}
	}
	u := &Undelivery{Branch: branchName(m.state.Branch), From: m.state.Delivered,
		To: cmp.Or(m.state.DeliveredOn, m.state.Base), Ref: branchName(runBranch(m.opts.Run))}
	cut, err := m.checkNothingBuiltOn(ctx, u)
	if err != nil {
		return nil, err
	}
	changes, err := (&Checkpoints{g: m.g}).diff(ctx, u.From, u.To)
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		c := Change{path, changes[path].action()}
		// Git looks into a folder itself, which has taken the place of a file.
		if info, err := os.Lstat(filepath.Join(m.checkout.top, filepath.FromSlash(path))); err == nil && !cut &&
			changes[path].status == 'A' && !info.IsDir() {
			return nil, &Error{Problem: BuiltOn, Text: path + ", which git ignores, is in the way", Fix: "move it away"}
		}
		u.Changes = append(u.Changes, c)
	}
	return u, nil
}

// checkNothingBuiltOn returns an *Error if the checkout is not as the delivery left it, or if another branch or tag
// has commits on top of it. cut reports that an earlier call restored the files and was cut off before it moved the
// branch.
func (m *Manager) checkNothingBuiltOn(ctx context.Context, u *Undelivery) (cut bool, err error) {
	is := func(fix, format string, args ...any) (bool, error) {
		return false, &Error{Problem: BuiltOn, Text: fmt.Sprintf(format, args...), Fix: fix}
	}
	revert := fmt.Sprintf("git revert --no-edit %.10s..%.10s undoes it with new commits", u.To, u.From)
	c, err := m.readCheckout(ctx)
	if err != nil {
		return false, err
	}
	if c.head == u.From && len(c.dirty) > 0 {
		err := m.g.run(ctx, "diff", "--quiet", u.To)
		if cut = err == nil; exitCode(err) < 0 {
			return false, err
		}
	}
	switch {
	case c.branch != m.state.Branch:
		return is("switch to "+u.Branch, "the checkout is on %s now, and %s was delivered to", orDetached(c.branch), u.Branch)
	case c.inProgress != "":
		return is("finish it first", "a %s is under way in the checkout", c.inProgress)
	case c.head == u.To:
		return is("", "%s is at the commit before the delivery already", u.Branch)
	case c.head != u.From:
		return is(revert, "%s has moved since the delivery", u.Branch)
	case len(c.dirty) > 0 && !cut:
		return is("commit or stash them", "the checkout has changes that are not committed: %s", firstFew(c.dirty))
	}
	on, err := m.refsOnTop(ctx, u)
	if err != nil || len(on) == 0 {
		return cut, err
	}
	return is(revert, "the delivered commit is also in %s", firstFew(on))
}

// refsOnTop returns the other branches and tags that have commits on top of the delivered one, and the branches of
// remotes that have it.
func (m *Manager) refsOnTop(ctx context.Context, u *Undelivery) ([]string, error) {
	out, err := m.g.output(ctx, "for-each-ref", "--contains", u.From, "--format=%(objectname) %(*objectname) %(refname)",
		"refs/heads", "refs/tags", "refs/remotes")
	if err != nil {
		return nil, err
	}
	var on []string
	for _, line := range splitLines(out) {
		words := strings.Fields(line)
		ref := words[len(words)-1]
		remote := strings.HasPrefix(ref, "refs/remotes/")
		if ref == m.state.Branch || strings.HasSuffix(ref, "/"+u.Ref) || !remote && slices.Contains(words, u.From) {
			continue
		}
		on = append(on, strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/tags/"),
			"refs/remotes/"))
	}
	return on, nil
}

// Undeliver undoes a delivery. After an interruption a new PlanUndelivery and Undeliver do the rest.
func (m *Manager) Undeliver(ctx context.Context, u *Undelivery) error {
	if err := m.g.runWithoutHooks(ctx, "read-tree", "-m", "-u", u.From, u.To); err != nil {
		if exitCode(err) > 0 {
			return &Error{Problem: BuiltOn, Text: err.Error()}
		}
		return err
	}
	if err := m.g.run(ctx, "update-ref", "-m", "wavex: undo the delivery of "+m.opts.Run, "HEAD", u.To,
		u.From); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.Delivered, m.state.DeliveredOn = "", ""
	return m.save(true)
}
