package gitwork

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/internal/safefile"
)

// This file repairs a run after a failure of the machine. The commits and refs of wavex's git, the state of the run and
// its bundles are on disk when they are on record. Objects of agents' git and indexes need not be: the bundles of the
// run have the objects that it needs.

// Record has the facts of the journal about a run that exists.
type Record struct {
	Began time.Time
	Base  string // the commit that the run began on; "": it has none
}

// since returns the time from which on files may be those of the run. File times lag behind.
func (r *Record) since() time.Time { return r.Began.Add(-2 * time.Second) }

// mend repairs a run that exists, in the repository where it was made. In another clone it does nothing.
func (m *Manager) mend(ctx context.Context) error {
	if known, err := m.knowsBase(ctx); !known {
		return err
	}
	since := m.opts.Record.since()
	if err := m.clearDamage(ctx, since); err != nil {
		return err
	}
	if err := m.removeStaleLocks(ctx); err != nil {
		return err
	}
	present, err := m.g.listRefs(ctx, append([]string{runBranch(m.opts.Run), runBranch(m.opts.Run) + ".tasks/"},
		m.bundles.prefixes...)...)
	if err != nil {
		return err
	}
	if len(present) > 0 {
		if err := m.mendObjects(ctx, present); err != nil {
			return err
		}
	}
	if err := m.tellDamage(ctx); err != nil {
		return err
	}
	if len(present) > 0 {
		if err := m.mendIndexes(ctx); err != nil {
			return err
		}
	}
	return m.mendIndex(ctx, since)
}

// knowsBase reports whether the journal has the commit that the run began on, and the repository too. Without it,
// nothing can be said of the run's commits.
func (m *Manager) knowsBase(ctx context.Context) (bool, error) {
	if m.opts.Record == nil || !isObjectID(m.opts.Record.Base) {
		return false, nil
	}
	id, err := m.g.resolve(ctx, m.opts.Record.Base)
	return id != "", err
}

// mendShared repairs the repository of a run in the project's directory. It gives up checkpoints that are not whole.
func (m *Manager) mendShared(ctx context.Context) error {
	if known, err := m.knowsBase(ctx); !known {
		return err
	}
	since := m.opts.Record.since()
	if err := m.clearDamage(ctx, since); err != nil {
		return err
	}
	refs, err := m.g.listRefs(ctx, checkpointPrefix(m.opts.Run))
	if err == nil {
		err = m.tellDamage(ctx)
	}
	if err == nil {
		err = m.dropRefs(ctx, refs)
	}
	if err != nil {
		return err
	}
	return m.mendIndex(ctx, since)
}

// dropRefs removes refs of the run whose commits are not whole.
func (m *Manager) dropRefs(ctx context.Context, refs map[string]string) error {
	whole, err := m.findWhole(ctx, slices.Collect(maps.Values(refs)))
	if err != nil {
		return err
	}
	var pairs []string
	for ref, id := range refs {
		if !slices.Contains(whole, id) {
			pairs = append(pairs, ref, "")
		}
	}
	if pairs == nil {
		return nil
	}
	m.warn(fmt.Errorf("removed %d refs of the run, whose commits a failure of the machine has destroyed", len(pairs)/2))
	return m.g.updateRefs(ctx, pairs...)
}

// mendObjects brings back the objects of the run from its bundles, if some are missing.
func (m *Manager) mendObjects(ctx context.Context, present map[string]string) error {
	needed := slices.Concat(slices.Collect(maps.Values(present)), m.neededCommits())
	whole, err := m.findWhole(ctx, needed)
	if err != nil || len(whole) == len(needed) {
		return err
	}
	for _, f := range m.bundles.files {
		if err := f.unpack(ctx, m.g); err != nil {
			return err
		}
	}
	m.repaired.restored = len(m.bundles.files) > 0
	if whole, err = m.findWhole(ctx, m.neededCommits()); err != nil {
		return err
	}
	for _, id := range m.neededCommits() {
		if !slices.Contains(whole, id) {
			return m.lostCommit(id)
		}
	}
	return m.dropRefs(ctx, present)
}

// promised is an option of rev-list that takes for present what a partial clone can fetch.
const promised = "--exclude-promisor-objects"

// hasIndexed reports whether the repository has the objects of the indexes of all its worktrees, or with an option only
// of g's, if it has those of base.
func (g git) hasIndexed(ctx context.Context, base string, options ...string) (bool, error) {
	err := g.run(ctx, slices.Concat([]string{"rev-list", promised, "--objects", "--quiet"}, options,
		[]string{"--indexed-objects", "^" + base})...)
	if exitCode(err) > 0 {
		return false, nil
	}
	return err == nil, err
}

// mendIndexes makes the indexes of worktrees again that are gone, or that lack objects: git would add no file that it
// takes for added, and would add no ignored file that the base has.
func (m *Manager) mendIndexes(ctx context.Context) error {
	all, err := m.g.hasIndexed(ctx, m.opts.Record.Base)
	if err != nil {
		return err
	}
	for _, t := range m.state.Trees {
		_, gone := os.Lstat(filepath.Join(t.Admin, "index"))
		if t.Admin == "" || t.Base == "" || all && gone == nil || m.repairTree(ctx, t) != nil {
			continue
		}
		g, has := m.gitIn(t), false
		if gone == nil {
			has, err = g.hasIndexed(ctx, m.state.Base, "--single-worktree")
		}
		if err == nil && !has {
			err = g.makeIndex(ctx, t.Base)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findWhole returns those of the commits whose objects are all in the repository, if it has those of the base: all of
// them, or each once.
func (m *Manager) findWhole(ctx context.Context, ids []string) ([]string, error) {
	base := m.opts.Record.Base
	if len(ids) == 0 {
		return nil, nil
	}
	_, err := m.g.outputOf(ctx, strings.Join(ids, "\n")+"\n^"+base+"\n", "rev-list", promised, "--objects", "--quiet",
		"--stdin")
	if exitCode(err) <= 0 {
		return ids, err
	}
	ids = slices.Clone(ids)
	slices.Sort(ids)
	var whole []string
	for _, id := range slices.Compact(ids) {
		err := m.g.run(ctx, "rev-list", promised, "--objects", "--quiet", id, "^"+base)
		if exitCode(err) < 0 {
			return nil, err
		}
		if err == nil {
			whole = append(whole, id)
		}
	}
	return whole, nil
}

// unpack adds the objects of a bundle to the repository, of a damaged one those that can be read. The pack of a bundle
// follows an empty line.
func (f bundle) unpack(ctx context.Context, g git) error {
	text, err := safefile.Read(f.path, maxBundles)
	_, pack, _ := strings.Cut(string(text), "\n\n")
	if pack == "" || err != nil {
		return err
	}
	if _, err = g.outputOf(ctx, pack, "unpack-objects", "-q", "-r"); exitCode(err) > 0 {
		return nil
	}
	return err
}
