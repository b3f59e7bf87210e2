package gitwork

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// This file brings the commits and refs of a run back from its bundles, where the repository does not have them.

// restore makes sure that the repository has the commits of the run, those in its bundles and those that its state
// names, and their refs. An *Error says that it cannot.
func (m *Manager) restore(ctx context.Context) error {
	needed, base, refs := m.neededCommits(), baseRef(m.opts.Run), m.bundles.refs()
	last := map[string]string{} // commits of integrated tasks, of which no later work waits
	for _, w := range m.state.Waves {
		maps.Copy(last, w.Tasks)
	}
	for _, t := range slices.Concat(m.state.Trees, m.state.Parked) {
		if t.Done != "" {
			delete(last, t.Task)
		}
	}
	for task, id := range last {
		if ref := taskRef(m.opts.Run, task); refs[ref] != id {
			delete(refs, ref) // of an earlier attempt: the last one made no changes
		}
	}
	missing, err := m.g.missingCommits(ctx, slices.Concat(m.bundles.commits(), needed, []string{m.state.Base, base}))
	if err != nil {
		return err
	}
	if missing[m.state.Base] {
		return m.g.missingBase(ctx, m.state.Base, m.opts.Run)
	}
	present, err := m.g.listRefs(ctx, m.bundles.prefixes...)
	if err != nil {
		return err
	}
	if missing[base] { // git takes a bundle only if the commits that it is based on are reachable
		if err := m.g.updateRefs(ctx, base, m.state.Base); err != nil {
			return err
		}
		delete(missing, base)
	}
	m.repaired.restored = m.repaired.restored || len(missing) > 0
	if err := m.bundles.restore(ctx, m.g, refs, missing, present); err != nil {
		return err
	}
	if missing, err = m.g.missingCommits(ctx, needed); err != nil {
		return err
	}
	for id := range missing {
		return m.lostCommit(id)
	}
	return m.restoreTaskRefs(ctx, present)
}

// lostCommit returns the error for a commit that the run needs and that is lost.
func (m *Manager) lostCommit(id string) error {
	return &Error{NoCommits, fmt.Sprintf("commit %s of run %s is neither in this repository nor in %s", shortID(id),
		m.opts.Run, m.opts.Loop), "continue where the run was made, or fetch its branch " +
		branchName(runBranch(m.opts.Run)) + " from there; --fresh starts over"}
}

// restoreTaskRefs sets the refs of the tasks that wait for their integration as the state has them: a later attempt
// without changes is in no bundle, which may still have the work of an earlier one.
func (m *Manager) restoreTaskRefs(ctx context.Context, present map[string]string) error {
	var pairs []string
	for _, t := range slices.Concat(m.state.Trees, m.state.Parked) {
		id := t.Done
		if id == noWork {
			id = t.Base
		}
		if ref := taskRef(m.opts.Run, t.Task); t.Task != "" && t.Done != "" && present[ref] != id {
			pairs = append(pairs, ref, id)
		}
	}
	return m.g.updateRefs(ctx, pairs...)
}

// restore adds the missing commits of refs to the repository, and those of the chain, on which they may be based. It
// sets those of the refs that the repository does not have, or that it has with an older commit.
func (b *bundles) restore(ctx context.Context, g git, refs map[string]string, missing map[string]bool,
	present map[string]string) error {
	var pairs []string
	for _, f := range b.files {
		unbundle := false
		for ref, id := range f.refs {
			unbundle = unbundle || missing[id] && (refs[ref] == id || strings.HasPrefix(ref, b.chain))
		}
		if !unbundle {
			continue
		}
		if err := g.run(ctx, "bundle", "unbundle", f.path); exitCode(err) > 0 {
			return &Error{NoCommits, fmt.Sprintf("restoring the commits of the run from %s: %s", f.path, err),
				"continue where the run was made; --fresh starts over"}
		} else if err != nil {
			return err
		}
	}
	for ref, id := range refs {
		if missing[id] || present[ref] == "" {
			pairs = append(pairs, ref, id)
		}
	}
	return g.updateRefs(ctx, pairs...)
}

// refs returns the refs in the bundles, as the last bundle with each has it.
func (b *bundles) refs() map[string]string {
	refs := map[string]string{}
	for _, f := range b.files {
		maps.Copy(refs, f.refs)
	}
	return refs
}

// commits returns the commits that the bundles have refs for.
func (b *bundles) commits() []string {
	var ids []string
	for _, f := range b.files {
		for _, id := range f.refs {
			ids = append(ids, id)
		}
	}
	return ids
}

// missingCommits returns those of the commits, by id or ref, that are not in the repository.
func (g git) missingCommits(ctx context.Context, ids []string) (map[string]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := g.outputOf(ctx, strings.Join(ids, "\n")+"\n", "cat-file", "--batch-check=%(objectname)")
	if err != nil {
		return nil, err
	}
	missing := map[string]bool{}
	for _, line := range splitLines(out) {
		if id, ok := strings.CutSuffix(line, " missing"); ok {
			missing[id] = true
		}
	}
	return missing, nil
}

// neededCommits returns the commits that the state of the run names: its tip, the work of tasks that wait for their
// integration, and those that worktrees are based on.
func (m *Manager) neededCommits() []string {
	var ids []string
	if n := len(m.state.Waves); n > 0 && m.state.Waves[n-1].Result.Commit != "" {
		ids = append(ids, m.state.Waves[n-1].Result.Commit)
	}
	for _, t := range slices.Concat(m.state.Trees, m.state.Parked) {
		if t.Done != "" && t.Done != noWork {
			ids = append(ids, t.Done)
		}
		if t.Used {
			ids = append(ids, t.Base)
		}
	}
	return ids
}

// missingBase returns the error for a repository without the commit that a run began on.
func (g git) missingBase(ctx context.Context, base, run string) error {
	e := &Error{NoCommits, fmt.Sprintf("commit %s, which run %s began on, is not in this repository", shortID(base), run),
		"continue in a clone that has it; --fresh starts over"}
	shallow, err := g.output(ctx, "rev-parse", "--is-shallow-repository")
	if err == nil && shallow == "true" {
		e.Text += ": it is a shallow clone"
		e.Fix = "fetch the whole history: git fetch --unshallow; fetch-depth: 0 in actions/checkout, GIT_DEPTH: 0 in GitLab"
	}
	return e
}

// Restored reports whether Open restored commits of the run from .loop, because the repository did not have them.
func (m *Manager) Restored() bool { return m.repaired.restored }
