package gitwork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// This file returns a directory to a checkpoint. It first reports the changes that this would make.
// It keeps the contents before the rollback, so that the rollback can be undone. It does not touch
// the user's index, branches or stash, and does not know journals.

// Target selects the changes to undo: those of one task, or everything from a wave on.
type Target struct {
	Task string // "": a wave
	Wave int    // from 1; 1 is the whole run
	// Exclude lists paths that are not changed, relative to the top of the checkout, with slashes; a
	// directory stands for everything in it. They are the files that other tasks declared, since a
	// task that ran at the same time must not lose its work, and files that people write.
	Exclude []string
}

// Rollback lists the changes of a return to a checkpoint.
type Rollback struct {
	Ref     string   // the checkpoint, a ref
	Commit  string   // its commit
	Changes []Change // by path
	// ChangedByOthers lists the paths among Changes that were changed by others after wavex last recorded
	// the directory. The rollback would lose those changes.
	ChangedByOthers []string
	// Unknown says why the run's changes cannot be told from others; then every change may be
	// another's.
	Unknown string
	Skipped []string // paths that differ from the checkpoint and are not changed
	Undo    string   // the ref that keeps the contents before the rollback; set by Restore

	current string // commit of the current contents
	end     string // commit of the contents when wavex last recorded them
	// index has the input of git update-index that makes the checkpoint's entries.
	index strings.Builder
}

// Change is one path of a Rollback.
type Change struct {
	Path   string // relative to the top of the checkout, slash-separated
	Action string // "restore", "bring back", "remove"
}

// ErrNoCheckpoint means that the target has no checkpoint.
var ErrNoCheckpoint = errors.New("there is no checkpoint of it")

// PlanRollback computes the changes of a rollback without making them. It returns ErrNoCheckpoint if the
// target has no checkpoint.
func (p *Checkpoints) PlanRollback(ctx context.Context, t Target) (*Rollback, error) {
	r := &Rollback{Ref: waveStartRef(p.run, t.Wave)}
	until := endRef(p.run)
	if t.Task != "" {
		r.Ref, until = beforeRef(p.run, t.Task), afterRef(p.run, t.Task)
	}
	refs, err := p.Refs(ctx)
	if err != nil {
		return nil, err
	}
	if r.Commit = refs[r.Ref]; r.Commit == "" {
		return nil, ErrNoCheckpoint
	}
	if r.current, err = p.snapshot(ctx, "Before a rollback", 0); err != nil {
		return nil, err
	}
	end := refs[until]
	if end == "" {
		end = r.current
		r.Unknown = "wavex was ended before it could look at the end, so what came after cannot be told apart"
	}
	r.end = end
	done, between, err := p.splitChanges(ctx, r.Commit, end, refs) // done: by the target; between: by others
	if err != nil {
		return nil, err
	}
	back, err := p.g.diff(ctx, r.current, r.Commit) // changes that restore the checkpoint
	if err != nil {
		return nil, err
	}
	since, err := p.g.diff(ctx, end, r.current) // changes since the end
	if err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(back)) {
		c := back[path]
		switch {
		case done[path] == change{}:
			continue // changed only by others
		case t.excludes(path), c.isNested():
			r.Skipped = append(r.Skipped, path)
			continue
		}
		r.Changes = append(r.Changes, Change{path, c.action()})
		fmt.Fprintf(&r.index, "%s %s\t%s\x00", c.mode, c.id, path)
		_, late := since[path]
		if _, theirs := between[path]; theirs || late || r.Unknown != "" {
			r.ChangedByOthers = append(r.ChangedByOthers, path)
		}
	}
	return r, nil
}

// excludes reports whether a path must not be changed.
func (t Target) excludes(path string) bool {
	return slices.ContainsFunc(t.Exclude, func(l string) bool { return path == l || strings.HasPrefix(path, l+"/") })
}

// isNested reports whether one side of a change is another repository.
func (c change) isNested() bool { return c.oldMode == nestedMode || c.mode == nestedMode }

// action returns the action of a Change that makes the difference.
func (c change) action() string {
	switch c.status {
	case 'A':
		return "bring back"
	case 'D':
		return "remove"
	}
	return "restore"
}

// Restore makes the changes of a Rollback. Before it changes anything it keeps the contents at
// r.Undo. After an interruption a new Rollback and Restore do the rest.
func (p *Checkpoints) Restore(ctx context.Context, r *Rollback) error {
	undo := undoRef(p.run, r.current)
	if err := p.g.updateRefs(ctx, undo, r.current); err != nil {
		return err
	}
	r.Undo = undo
	if err := p.writeFiles(ctx, r); err != nil {
		return err
	}
	return p.updateEnd(ctx, r)
}

// writeFiles makes the changes of a Rollback.
func (p *Checkpoints) writeFiles(ctx context.Context, r *Rollback) error {
	var gone, back []string
	for _, c := range r.Changes {
		if c.Action == "remove" {
			gone = append(gone, c.Path)
		} else {
			back = append(back, c.Path)
		}
	}
	if err := removeFiles(p.g.dir, gone); err != nil {
		return err
	}
	for _, path := range back {
		if info, err := os.Lstat(filepath.Join(p.g.dir, filepath.FromSlash(path))); err == nil && info.IsDir() {
			return fmt.Errorf("%s is a directory now, with files in it that git ignores; move them away first", path)
		}
	}
	return p.g.checkOutFiles(ctx, r.Commit, back)
}

// removeFiles removes files below dir, and the folders that are empty then, which git does not know.
func removeFiles(dir string, paths []string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, path := range paths {
		path = filepath.FromSlash(path)
		if err := root.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for above := filepath.Dir(path); above != "." && root.Remove(above) == nil; above = filepath.Dir(above) {
			continue // Remove fails for others
		}
	}
	return nil
}

// checkOutFiles writes files of a commit in g's worktree. The index does not change.
func (g git) checkOutFiles(ctx context.Context, commit string, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	g, done, err := g.commitIndex(ctx, commit)
	if err != nil {
		return err
	}
	defer done()
	_, err = g.outputOf(ctx, strings.Join(paths, "\x00"), "checkout-index", "-f", "-z", "--stdin")
	return err
}

// updateEnd updates the end of the session with the restored paths and no others, so that changes that
// others made meanwhile are still known as theirs.
func (p *Checkpoints) updateEnd(ctx context.Context, r *Rollback) error {
	g, done, err := p.g.commitIndex(ctx, r.end)
	if err != nil {
		return err
	}
	defer done()
	if r.index.Len() > 0 {
		if _, err := g.outputOf(ctx, r.index.String(), "update-index", "-z", "--index-info"); err != nil {
			return err
		}
	}
	id, err := p.commit(ctx, g, "After a rollback")
	if err != nil {
		return err
	}
	return p.g.updateRefs(ctx, endRef(p.run), id)
}

// Delete deletes the checkpoints of tasks that will be done again, and of the waves from a wave on
// (0: none), because they describe the first time. The caller must record the rollback before.
func (p *Checkpoints) Delete(ctx context.Context, tasks []string, from int) error {
	refs, err := p.Refs(ctx)
	if err != nil {
		return err
	}
	var gone []string
	for _, task := range tasks {
		gone = append(gone, beforeRef(p.run, task), afterRef(p.run, task))
	}
	if from > 0 {
		for ref := range refs {
			if n, err := strconv.Atoi(strings.TrimPrefix(ref, checkpointPrefix(p.run)+"wave/")); err == nil && n >= from {
				gone = append(gone, ref)
			}
		}
	}
	var pairs []string
	for _, ref := range gone {
		if refs[ref] != "" {
			pairs = append(pairs, ref, "")
		}
	}
	if pairs == nil {
		return nil
	}
	return p.g.updateRefs(ctx, pairs...)
}

// RelativePaths converts absolute paths to paths relative to the top of the checkout. It omits paths
// outside.
func (p *Checkpoints) RelativePaths(paths []string) ([]string, error) {
	top, err := filepath.EvalSymlinks(p.g.dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, path := range paths {
		// Resolve the links of the directories only: the file itself may be a link, or not exist.
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			dir = filepath.Dir(path)
		}
		if rel, err := filepath.Rel(top, filepath.Join(dir, filepath.Base(path))); err == nil && filepath.IsLocal(rel) {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out, nil
}
