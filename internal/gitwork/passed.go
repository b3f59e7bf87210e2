package gitwork

import (
	"context"

	"wavex/internal/check"
	"wavex/internal/plan"
)

// This file remembers which checks have passed on which tree of git, so that none runs there again. It runs none.

// hasPassed reports whether a check has passed on a tree.
func (m *Manager) hasPassed(tree string, d requiredCheck) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.passed[tree+d.key()]
}

// notePassed remembers that a check has passed on a tree.
func (m *Manager) notePassed(tree string, d requiredCheck) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.passed[tree+d.key()] = true
}

// noteAttempt remembers the checks that passed in the worktree of an attempt, with the commit id, for a task whose
// checks run in dir. It does not do so if the worktree has ignored files: the checks may need those.
func (m *Manager) noteAttempt(ctx context.Context, t *tree, id, dir string, checks []plan.Check,
	evidence []check.Evidence) {
	if len(checks) == 0 || len(checks) != len(evidence) {
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
	for i, c := range checks {
		if err == nil && evidence[i].Passed && !evidence[i].Flaky {
			m.notePassed(of, requiredCheck{dir: dir, check: c})
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
