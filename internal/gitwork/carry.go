package gitwork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// This file carries the files of a shared directory to another clone: it saves checkpoints in .loop as bundles, and
// restores the last one in a checkout that does not have the run's work.

// carryRef names the checkpoint that is saved in .loop.
func carryRef(run string) string { return checkpointPrefix(run) + "carry" }

// OpenBundles opens the bundles of the run in .loop. base is the commit that the run began on, or "".
func (p *Checkpoints) OpenBundles(dir loop.Dir, base string) (err error) {
	p.base = base
	p.bundles, err = openBundles(dir.Worktree(p.run, "bundles"), carryRef(p.run))
	return err
}

// CarryBeforeWave is Carry before a wave begins. Concurrent calls for one wave wait for it. It tells Warn of an error.
func (p *Checkpoints) CarryBeforeWave(ctx context.Context, wave int) {
	_ = p.once(fmt.Sprint("carry before ", wave), func() error {
		if err := p.Carry(ctx); err != nil && context.Cause(ctx) == nil {
			p.Warn(err)
		}
		return nil
	})
}

// Carry makes a checkpoint and saves it in .loop, if OpenBundles was called. After an error nothing more is saved.
func (p *Checkpoints) Carry(ctx context.Context) error {
	if p.bundles == nil || p.bundles.isBroken() {
		return nil
	}
	err := p.saveState(ctx)
	if err == nil || context.Cause(ctx) != nil {
		return err
	}
	p.bundles.stop()
	return fmt.Errorf("the files of the run are no longer saved in %s, so a fresh clone cannot continue it: %w", loop.Name,
		err)
}

// saveState makes the checkpoint on top of the one before, since a bundle leaves out what its commits are based on.
func (p *Checkpoints) saveState(ctx context.Context) error {
	before, err := p.g.resolve(ctx, carryRef(p.run))
	if err != nil {
		return err
	}
	err = p.withAll(ctx, p.MaxNew, func(g git) error {
		if err := p.removeSecrets(ctx, g); err != nil {
			return err
		}
		// Commits since the base may have what this one leaves out, so HEAD is not a parent.
		id, err := p.commitOn(ctx, g, "The last state of the run", cmp.Or(before, p.base))
		if err != nil {
			return err
		}
		return p.g.updateRefs(ctx, carryRef(p.run), id)
	})
	if err != nil {
		return err
	}
	return p.bundles.save(ctx, p.g, p.base)
}

// removeSecrets gives files with secrets their state of the base in the index g.
func (p *Checkpoints) removeSecrets(ctx context.Context, g git) error {
	if p.HasSecret == nil {
		return nil
	}
	changed, err := g.output(ctx, "diff-index", "--cached", "--name-only", "--no-renames", "-z", p.base)
	if err != nil {
		return err
	}
	var secret []string
	for _, path := range splitNUL(changed) {
		text, err := safefile.Read(filepath.Join(g.dir, filepath.FromSlash(path)), maxIndex)
		if isGone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, safefile.ErrNotRegular); isGone ||
			err == nil && !p.HasSecret(text) {
			continue
		}
		secret = append(secret, path)
		if key := "secret " + path; !slices.Contains(p.named, key) {
			p.named = append(p.named, key)
			p.Warn(fmt.Errorf("%s has a secret and is not saved in %s: a fresh clone that continues the run lacks it", path,
				loop.Name))
		}
	}
	if secret == nil {
		return nil
	}
	return g.resetPaths(ctx, p.base, secret)
}

// resetPaths gives files in g's index their state of a commit.
func (g git) resetPaths(ctx context.Context, commit string, paths []string) error {
	_, err := g.withEnv("GIT_LITERAL_PATHSPECS=1").outputOf(ctx, strings.Join(paths, "\x00"), "reset", "-q", commit,
		"--pathspec-from-file=-", "--pathspec-file-nul")
	return err
}

// Carried is the result of RestoreCarried.
type Carried struct {
	Files  int      // restored
	Differ []string // not restored, because the checkout has other contents
	Plan   bool     // whether the run changed the plan, which is not restored: a person decides about it
}

// RestoreCarried writes the files that the run changed, as the last checkpoint in .loop has them. It returns nil if
// there is none, or if ranHere and this clone has it. It does not replace files that differ from the commit that the
// run began on, nor the file of the plan, whose absolute path is plan. An *Error says that the repository lacks that
// commit, or that a bundle is broken.
func (p *Checkpoints) RestoreCarried(ctx context.Context, plan string, ranHere bool) (*Carried, error) {
	if len(p.bundles.files) == 0 {
		return nil, nil
	}
	missing, err := p.g.missingCommits(ctx, append(p.bundles.commits(), p.base))
	if err != nil {
		return nil, err
	}
	refs := p.bundles.refs()
	if ranHere && !missing[refs[carryRef(p.run)]] {
		return nil, nil
	}
	if p.base == "" || missing[p.base] {
		return nil, p.g.missingBase(ctx, p.base, p.run)
	}
	if err := p.g.updateRefs(ctx, checkpointPrefix(p.run)+"base", p.base); err != nil { // git wants it reachable
		return nil, err
	}
	if err := p.bundles.restore(ctx, p.g, refs, missing, nil); err != nil {
		return nil, err
	}
	return p.writeCarried(ctx, plan)
}

// writeCarried writes the files of the restored checkpoint, except the plan.
func (p *Checkpoints) writeCarried(ctx context.Context, plan string) (*Carried, error) {
	carried, err := p.g.resolve(ctx, carryRef(p.run))
	if err != nil || carried == "" {
		return nil, err
	}
	now, err := p.snapshot(ctx, "Before the files of the run were restored", 0)
	if err != nil {
		return nil, err
	}
	var diffs [3]map[string]change // by the run, by others since, and to the checkpoint
	for k, commits := range [3][2]string{{p.base, carried}, {p.base, now}, {now, carried}} {
		if diffs[k], err = p.g.diff(ctx, commits[0], commits[1]); err != nil {
			return nil, err
		}
	}
	if real, err := filepath.EvalSymlinks(plan); err == nil {
		plan = real
	}
	out, r := &Carried{}, &Rollback{Commit: carried}
	for _, path := range slices.Sorted(maps.Keys(diffs[2])) {
		if _, ours := diffs[0][path]; !ours {
			continue
		}
		if filepath.Join(p.g.dir, filepath.FromSlash(path)) == plan {
			out.Plan = true
			continue
		}
		if _, theirs := diffs[1][path]; theirs || diffs[2][path].isNested() {
			out.Differ = append(out.Differ, path)
			continue
		}
		r.Changes = append(r.Changes, Change{path, diffs[2][path].action()})
	}
	out.Files = len(r.Changes)
	return out, p.writeFiles(ctx, r)
}
