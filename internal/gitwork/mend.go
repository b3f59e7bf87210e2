package gitwork

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// This file repairs a run after a failure of the machine: its refs are those of the record again, and its objects come
// from the bundles. Lost work is given up, so that its tasks can be done again.

// mend repairs a run that exists, in the repository where it was made.
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
	ours := len(present) > 0 // else this is another clone
	if ours {
		if err := m.mendObjects(ctx, present); err != nil {
			return err
		}
	}
	if err := m.tellDamage(ctx); err != nil {
		return err
	}
	if m.repaired.rebuilt {
		if err := m.findTrees(ctx); err != nil {
			return err
		}
	}
	if ours {
		if err := m.mendRefs(ctx, present); err != nil {
			return err
		}
		if err := errors.Join(m.mendBundles(ctx), m.mendIndexes(ctx)); err != nil {
			return err
		}
	}
	return m.mendCheckout(ctx, since)
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
	rec := m.opts.Record
	if known, err := m.knowsBase(ctx); !known {
		return err
	}
	if err := m.clearDamage(ctx, rec.since()); err != nil {
		return err
	}
	refs, err := m.g.listRefs(ctx, checkpointPrefix(m.opts.Run))
	if err != nil {
		return err
	}
	whole, err := m.findWhole(ctx, slices.Collect(maps.Values(refs)))
	if err != nil {
		return err
	}
	if err := m.tellDamage(ctx); err != nil {
		return err
	}
	if err := m.dropRefs(ctx, refs, func(id string) bool { return slices.Contains(whole, id) }); err != nil {
		return err
	}
	return m.mendCheckout(ctx, rec.since())
}

// dropRefs removes refs of the run whose commits are not whole, also from refs.
func (m *Manager) dropRefs(ctx context.Context, refs map[string]string, isWhole func(id string) bool) error {
	var pairs []string
	for ref, id := range refs {
		if !isWhole(id) {
			pairs = append(pairs, ref, "")
			delete(refs, ref)
		}
	}
	if pairs == nil {
		return nil
	}
	m.warn(fmt.Errorf("removed %d refs of the run, whose commits a failure of the machine has destroyed", len(pairs)/2))
	return m.g.updateRefs(ctx, pairs...)
}

// mendObjects brings back the objects of the run from its bundles, if some are missing, and gives up the refs and
// the work on record that are not whole even then.
func (m *Manager) mendObjects(ctx context.Context, present map[string]string) error {
	needed := slices.Concat(slices.Collect(maps.Values(present)), m.bundles.commits(), m.neededCommits(),
		slices.Collect(maps.Values(m.opts.Record.Work)))
	for _, w := range m.state.Waves {
		needed = append(needed, w.Result.Commit)
	}
	for _, t := range slices.Concat(m.state.Trees, m.state.Parked) {
		needed = append(needed, t.Base, t.Commit)
	}
	needed = slices.DeleteFunc(needed, func(id string) bool { return id == "" })
	whole, err := m.findWhole(ctx, needed)
	if err != nil {
		return err
	}
	indexed, err := m.g.hasIndexed(ctx, m.opts.Record.Base)
	if err != nil || indexed && len(whole) == len(needed) && m.unintegrated(m.IntegratedTasks()) == nil {
		return err
	}
	for _, f := range m.bundles.files {
		if err := f.unpack(ctx, m.g); err != nil {
			return err
		}
	}
	if whole, err = m.findWhole(ctx, needed); err != nil {
		return err
	}
	is := func(id string) bool {
		return id == "" || id == noWork || id == m.state.Base || slices.Contains(whole, id)
	}
	if err := m.dropRefs(ctx, present, is); err != nil {
		return err
	}
	for _, f := range m.bundles.files {
		maps.DeleteFunc(f.refs, func(_, id string) bool { return !is(id) })
	}
	m.giveUp(is)
	m.repaired.restored = true
	return nil
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

// giveUp removes the work from the state whose commits are not whole: lost has its tasks.
func (m *Manager) giveUp(isWhole func(id string) bool) {
	lost := map[string]bool{}
	keep := len(m.state.Waves)
	for keep > 0 && !isWhole(m.state.Waves[keep-1].Result.Commit) {
		keep--
		for task := range m.state.Waves[keep].Tasks {
			lost[task] = true
		}
	}
	m.state.Waves = m.state.Waves[:keep]
	integrated := m.IntegratedTasks()
	for task, id := range m.opts.Record.Work {
		if !integrated[task] && !isWhole(id) {
			lost[task] = true
		}
	}
	for _, task := range m.unintegrated(integrated) {
		lost[task] = true
	}
	maps.DeleteFunc(m.opts.Record.Work, func(task, id string) bool { return lost[task] || !isWhole(id) })
	m.state.Parked = slices.DeleteFunc(m.state.Parked, func(t *tree) bool {
		return lost[t.Task] || !isWhole(t.Base) || !isWhole(t.Commit)
	})
	for _, t := range m.state.Trees {
		if lost[t.Task] || !isWhole(t.Done) {
			t.Done = ""
		}
		if !isWhole(t.Base) { // its files are kept below refs/wavex before the next attempt begins anew
			t.Base, t.Done, t.Stale = m.tip(), "", true
		}
	}
	if m.repaired.lost = slices.Sorted(maps.Keys(lost)); len(lost) > 0 {
		m.warn(fmt.Errorf("a failure of the machine has destroyed the commits of %s, in git and in %s: made again",
			strings.Join(m.repaired.lost, ", "), loop.Name))
	}
}

// unintegrated returns the tasks that are integrated on record only: a session that gave them up was cut off before it
// recorded that.
func (m *Manager) unintegrated(integrated map[string]bool) (tasks []string) {
	for _, in := range m.opts.Record.Integrations {
		for _, d := range in.Done {
			if !integrated[d.Task] {
				tasks = append(tasks, d.Task)
			}
		}
	}
	return tasks
}

// Lost returns the tasks whose work is on record and was lost in a failure of the machine.
func (m *Manager) Lost() []string { return m.repaired.lost }

// unpack adds the objects of a bundle to the repository, of a damaged one those that can be read.
func (f bundle) unpack(ctx context.Context, g git) error {
	pack, err := f.pack()
	if pack == "" || err != nil {
		return err
	}
	if _, err = g.outputOf(ctx, pack, "unpack-objects", "-q", "-r"); exitCode(err) > 0 {
		return nil
	}
	return err
}

// pack returns the pack of a bundle, which follows an empty line.
func (f bundle) pack() (string, error) {
	text, err := safefile.Read(f.path, maxBundles)
	_, pack, _ := strings.Cut(string(text), "\n\n")
	return pack, err
}

// mendRefs sets the refs of the run that are gone as the record and the bundles have them. present are those that are
// there.
func (m *Manager) mendRefs(ctx context.Context, present map[string]string) error {
	want, recorded := map[string]string{baseRef(m.opts.Run): m.state.Base}, map[string]bool{}
	for _, f := range m.bundles.files {
		maps.Copy(want, f.refs)
	}
	for _, w := range m.state.Waves {
		want[waveRef(m.opts.Run, w.Key)] = w.Result.Commit
	}
	for _, t := range m.state.Trees {
		if branch := taskBranch(m.opts.Run, t.Task); t.Task != "" && t.Base != "" {
			if want[branch] = t.Base; isObjectID(t.Done) {
				want[branch] = t.Done
			}
		}
	}
	for task, id := range m.opts.Record.Work {
		if id != "" {
			want[taskRef(m.opts.Run, task)], recorded[taskRef(m.opts.Run, task)] = id, true
		}
	}
	var pairs []string
	for ref, id := range want {
		if now := present[ref]; now == "" || now != id && recorded[ref] {
			pairs = append(pairs, ref, id)
			present[ref] = id
		}
	}
	if err := m.g.updateRefs(ctx, pairs...); err != nil {
		return err
	}
	return m.restoreTaskRefs(ctx, present)
}

// mendBundles saves the commits of the run anew if a bundle is damaged or gone.
func (m *Manager) mendBundles(ctx context.Context) error {
	damaged := false
	for i, f := range m.bundles.files {
		pack, err := f.pack()
		if err != nil {
			return err
		}
		damaged = damaged || f.number != i+1 || !endsWithDigest(strings.NewReader(pack), int64(len(pack)), m.idSize())
	}
	if !damaged {
		return nil
	}
	old := m.bundles.restart()
	if err := m.saveBundle(ctx); err != nil || m.bundles.isBroken() {
		return err
	}
	for _, f := range old {
		if slices.ContainsFunc(m.bundles.files, func(b bundle) bool { return b.path == f.path }) {
			continue
		}
		if err := safefile.Remove(f.path); err != nil {
			return err
		}
	}
	return nil
}
