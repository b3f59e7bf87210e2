package gitwork

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/semaphore"

	"wavex/internal/safefile"
)

// This file keeps an index for checkpoints: a copy of the user's that git compares with the files of the checkout,
// since the user's may be out of date, as after cp or the restore of a cache. Each checkpoint adds to a copy of it, so
// that it has nothing of the one before: no file that git ignores now, no state without secrets.

// keptIndex is an index in a folder of its own.
type keptIndex struct {
	turn *semaphore.Weighted // one checkpoint at a time uses the rest
	user string              // path of the user's index
	seed os.FileInfo         // of the user's index when it was copied; nil: there was none
	own  bool                // IndexDir has nothing of earlier sessions
	dir  string              // "": there is no index. It has "kept" and "index", of the checkpoint that is being made.
}

// withAll adds all changes of the checkout to the index and calls use with it. With maxNew above 0 it returns an
// *Error with TooLarge if the files to add are larger, in bytes.
func (p *Checkpoints) withAll(ctx context.Context, maxNew int64, use func(git) error) error {
	if p.index.turn.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	defer p.index.turn.Release(1)
	g, changed, files, err := p.openIndex(ctx, maxNew)
	if err == nil {
		err = p.addAll(ctx, g, changed, files)
	}
	if err == nil {
		err = use(g)
	}
	if err != nil || p.IndexDir == "" { // a git that was stopped may have left its lock
		p.index.remove()
	}
	return err
}

// openIndex returns a git that uses the index, and the pathspecs of the files that differ from it and of all files. It
// begins again from the user's index if that has changed, since an agent may have added files that git ignores. With
// maxNew above 0 it returns an *Error with TooLarge if the files to add are larger, in bytes.
func (p *Checkpoints) openIndex(ctx context.Context, maxNew int64) (g git, changed, files []string, err error) {
	k := &p.index
	if err := safefile.CheckPath(cmp.Or(k.dir, p.IndexDir)); err != nil {
		return g, nil, nil, err
	}
	now, err := os.Stat(k.user)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return g, nil, nil, err
	}
	_, gone := os.Stat(k.path("kept")) // an agent may have cleaned up
	if k.dir == "" || gone != nil || !sameVersion(k.seed, now) {
		if err := p.seedIndex(now); err != nil {
			return g, nil, nil, err
		}
	}
	if files, err = p.allFiles(ctx); err == nil {
		g, err = p.g.withFiltersOf(ctx, p.before)
	}
	if err != nil {
		return g, nil, nil, err
	}
	changed = files
	if p.IndexDir != "" || maxNew > 0 || p.StoresLarge != nil {
		paths, err := p.checkNewFiles(ctx, g, maxNew, files)
		if err != nil {
			return g, nil, nil, err
		}
		if len(paths) <= fewFiles {
			changed = paths
		}
	}
	err = copyIndex(k.path("kept"), k.path("index"))
	return g.withEnv("GIT_INDEX_FILE=" + k.path("index")), changed, files, err
}

// seedIndex copies the user's index, whose version is now.
func (p *Checkpoints) seedIndex(now os.FileInfo) (err error) {
	k := &p.index
	k.remove()
	if p.IndexDir != "" && !k.own { // a wavex that was killed has left its index
		if err := errors.Join(safefile.RemoveAll(p.IndexDir), safefile.MkdirAll(p.IndexDir, 0o700)); err != nil {
			return err
		}
		k.own = true
	}
	if k.dir, err = os.MkdirTemp(p.IndexDir, "wavex-index-"); err != nil {
		return err
	}
	k.seed = now
	return copyIndex(k.user, k.path("kept"))
}

// path returns the path of a file in the folder.
func (k *keptIndex) path(name string) string { return filepath.Join(k.dir, name) }

// sameVersion reports whether a file is as it was; nil: there is none.
func sameVersion(then, now os.FileInfo) bool {
	if then == nil || now == nil {
		return then == nil && now == nil
	}
	return os.SameFile(then, now) && then.ModTime().Equal(now.ModTime()) && then.Size() == now.Size()
}

// remove removes the index. The next session removes a folder that cannot be removed.
func (k *keptIndex) remove() {
	if k.dir != "" {
		_ = safefile.RemoveAll(k.dir)
		k.dir = ""
	}
}

// Close waits for the checkpoint that is being made, and removes the index.
func (p *Checkpoints) Close() {
	_ = p.index.turn.Acquire(context.Background(), 1) // cannot fail
	defer p.index.turn.Release(1)
	p.index.remove()
	if p.IndexDir != "" {
		_ = safefile.Remove(p.IndexDir) // the next session removes what stays
	}
}

// copyIndex copies an index, if there is one.
func copyIndex(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) { // no file was ever added
		return nil
	}
	if err != nil {
		return err
	}
	text, err := safefile.Read(from, maxIndex)
	if err != nil {
		return err
	}
	if err := safefile.Write(to, text, 0o600); err != nil {
		return err
	}
	// git reads a file again that is as new as the index, since it may have changed without a change of its time.
	return os.Chtimes(to, time.Time{}, info.ModTime())
}

// commitIndex returns a git with an index of a commit. The caller must call done, which removes it.
func (g git) commitIndex(ctx context.Context, commit string) (index git, done func(), err error) {
	if index, done, err = g.emptyIndex(); err != nil {
		return index, nil, err
	}
	if err = index.run(ctx, "read-tree", commit); err != nil {
		done()
	}
	return index, done, err
}

// emptyIndex returns a git with an empty index. The caller must call done, which removes it.
func (g git) emptyIndex() (index git, done func(), err error) {
	dir, err := os.MkdirTemp("", "wavex-index-")
	if err != nil {
		return index, nil, err
	}
	return g.withEnv("GIT_INDEX_FILE=" + filepath.Join(dir, "index")), func() { _ = os.RemoveAll(dir) }, nil
}
