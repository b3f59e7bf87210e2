package gitwork

import (
	"context"
	"maps"
	"strings"
	"sync"

	"wavex/internal/check"
	"wavex/internal/plan"
)

// This file remembers the results of checks on trees of git.

// result has the runs of a check on one tree. Two red ones are red, a green one is green, and both are flaky: then the
// check tells nothing about the tree. Its lock is held while the check runs.
type result struct {
	sync.Mutex
	green *check.Evidence
	red   []check.Evidence
}

// resultOf returns the result of a check on a tree.
func (m *Manager) resultOf(tree string, d requiredCheck) *result {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := tree + d.key()
	if m.results[name] == nil {
		m.results[name] = &result{}
	}
	return m.results[name]
}

func (r *result) note(e check.Evidence) {
	if e.Passed {
		r.green = &e
	} else {
		r.red = append(r.red, e)
	}
}

// known returns the result if a check has passed, or has failed so many times.
func (r *result) known(reds int) (e check.Evidence, known bool) {
	switch {
	case r.green != nil:
		return *r.green, true
	case len(r.red) >= reds:
		return r.red[0], true
	}
	return e, false
}

// forgetRed forgets the checks that never passed: what disturbed them may be over.
func (m *Manager) forgetRed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.results, func(_ string, r *result) bool {
		idle := r.TryLock()
		if idle {
			defer r.Unlock()
		}
		return idle && r.green == nil
	})
}

// checker returns a runner.Hooks.Check for checks in dir, in a worktree as it is made.
func (m *Manager) checker(t *tree, dir string) func(context.Context, check.Place,
	[]plan.Check) ([]check.Evidence, error) {
	return func(ctx context.Context, at check.Place, checks []plan.Check) (all []check.Evidence, err error) {
		id, _ := m.treeOf(ctx, t.Base) // "": it cannot be read
		for _, c := range checks {
			e, clean, cerr := m.checkOn(ctx, id, t, dir, at, c)
			if all, err = append(all, e), cerr; !clean {
				id = "" // the others may need the files that it made
			}
		}
		return all, err
	}
}

// checkOn returns the result of a check on a tree, and runs it in the worktree if that is not known. clean says that
// the worktree has the files of the tree and no others.
func (m *Manager) checkOn(ctx context.Context, id string, t *tree, dir string, at check.Place,
	c plan.Check) (e check.Evidence, clean bool, err error) {
	var r *result
	if id != "" && c.Run != "" && !strings.Contains(c.Run, "WAVEX_") { // these belong to their own task
		r = m.resultOf(id, requiredCheck{dir: dir, check: c})
		r.Lock()
		defer r.Unlock()
		if e, known := r.known(1); known {
			return e, true, nil
		}
	}
	seen, err := check.Run(ctx, at, []plan.Check{c})
	if c.Run == "" || id == "" {
		return seen[0], id != "", err
	}
	out, serr := m.gitIn(t).output(ctx, "status", "--porcelain")
	clean = serr == nil && out == ""
	if err == nil && clean && r != nil {
		r.note(seen[0])
	}
	return seen[0], clean, err
}

// noteAttempt remembers the checks that passed in the worktree of an attempt, with the commit id, for a task whose
// checks run in dir. It does not do so if the worktree has ignored files: the checks may need those.
func (m *Manager) noteAttempt(ctx context.Context, t *tree, id, dir string, checks []plan.Check,
	evidence []check.Evidence) {
	if len(checks) == 0 {
		return
	}
	ignored, err := m.gitIn(t).output(ctx, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil { // then they run again
		return
	}
	for _, path := range splitNUL(ignored) {
		if !m.inShare(path) {
			return
		}
	}
	of := t.judged
	if of == "" {
		of, err = m.treeOf(ctx, id)
	}
	if err != nil {
		return
	}
	for i, e := range evidence {
		if len(checks) == len(evidence) && e.Passed && !e.Flaky {
			r := m.resultOf(of, requiredCheck{dir: dir, check: checks[i]})
			r.Lock()
			r.note(e)
			r.Unlock()
		}
	}
}

// treeOf returns the id of a commit's tree.
func (m *Manager) treeOf(ctx context.Context, commit string) (string, error) {
	read, err := m.g.readObjects(ctx, commit)
	if err != nil {
		return "", err
	}
	return read[0].commit().tree, nil
}
