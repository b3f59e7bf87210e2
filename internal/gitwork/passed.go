package gitwork

import (
	"context"
	"sync"

	"wavex/internal/check"
	"wavex/internal/plan"
)

// This file identifies the trees of git on which the results of checks are known.

// knownCommits has facts of the commits of an integration, and of those that wait for one. The keys of the maps are
// commits.
type knownCommits struct {
	picks   map[pick]string // of the integration under way
	treesOf sync.Map        // the ids of trees
	passed  sync.Map        // functions that note the checks which passed on a tree
	diffs   sync.Map        // changes
}

// filesOf returns check.Place.Files for checks that run in a directory of the project, on a tree.
func filesOf(tree, dir string) string { return tree + " " + dir }

// baseFiles returns check.Place.Files for checks that run in dir, in a worktree as it is made: "" after one of them has
// made files, which the others may need.
func (m *Manager) baseFiles(ctx context.Context, t *tree, dir string) func() string {
	clean, files := true, ""
	return func() string {
		if files == "" {
			id, err := m.treeOf(ctx, t.Base)
			clean, files = err == nil, filesOf(id, dir)
		} else if clean {
			out, err := m.gitIn(t).output(ctx, "status", "--porcelain")
			clean = err == nil && out == ""
		}
		if !clean {
			return ""
		}
		return files
	}
}

// noteAttempt remembers the checks that passed in the worktree of an attempt, with the commit id, for a task whose
// checks run in dir; their tree is known when the commit is integrated. It does not do so if the worktree has ignored
// files: the checks may need those.
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
	if of == "" && id != t.Base {
		m.passed.Store(id, func(tree string) { m.checks.Note(filesOf(tree, dir), checks, evidence) })
		return
	}
	if of == "" {
		of, err = m.treeOf(ctx, id)
	}
	if err == nil {
		m.checks.Note(filesOf(of, dir), checks, evidence)
	}
}

// treeOf returns the id of a commit's tree.
func (m *Manager) treeOf(ctx context.Context, commit string) (string, error) {
	if id, known := m.treesOf.Load(commit); known {
		return id.(string), nil
	}
	read, err := m.g.readObjects(ctx, commit)
	if err != nil {
		return "", err
	}
	id := read[0].commit().tree
	m.treesOf.Store(commit, id)
	return id, nil
}
