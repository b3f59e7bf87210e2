package gitwork

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"wavex/internal/safefile"
)

// This file makes the indexes of checkpoints: copies of the user's, which git compares with the files of the checkout.

// withAll adds all changes of the checkout to a copy of the user's index and calls use with it. If maxNew is above 0
// and the files to add have more bytes, it returns an *Error with TooLarge.
func (p *Checkpoints) withAll(ctx context.Context, maxNew int64, use func(git) error) error {
	p.making.Lock()
	defer p.making.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	user, _ := os.Stat(p.index) // nil: there is none
	g, err := p.g.withFiltersOf(ctx, p.before)
	if err != nil {
		return err
	}
	g, done, err := p.copyOfIndex(g, user)
	if err != nil {
		return err
	}
	defer done()
	files, err := p.allFiles(ctx)
	changed := true
	if err == nil && (maxNew > 0 || p.Warn != nil) {
		changed, err = p.checkNewFiles(ctx, g, maxNew, files)
	}
	if err == nil && p.IndexDir != "" {
		p.seed = nil
		if err = copyIndex(g.indexPath(), p.keptIndex()); err == nil {
			p.seed = user
		}
	}
	if err == nil && changed {
		err = p.addAll(ctx, g, files)
	}
	if err != nil {
		return err
	}
	return use(g)
}

// copyOfIndex returns a copy of g with a copy of the user's index, whose version is user. Unless that has changed, it
// has the times of files from the last checkpoint, since the user's may be out of date, as after cp or the restore of a
// cache. The caller must call done, which removes the copy.
func (p *Checkpoints) copyOfIndex(g git, user os.FileInfo) (with git, done func(), err error) {
	if p.IndexDir != "" {
		err = safefile.MkdirAll(p.IndexDir, 0o700)
	}
	if err == nil {
		with, done, err = g.emptyIndex(p.IndexDir)
	}
	if err != nil {
		return g, nil, err
	}
	from := p.index
	if _, gone := os.Stat(p.keptIndex()); gone == nil && sameVersion(p.seed, user) { // an agent may have cleaned up
		from = p.keptIndex()
	}
	if err = copyIndex(from, with.indexPath()); err != nil {
		done()
	}
	return with, done, err
}

// keptIndex returns the path of the copy of the user's index that the next checkpoint uses.
func (p *Checkpoints) keptIndex() string { return filepath.Join(p.IndexDir, "kept") }

// sameVersion reports whether a file is as it was; nil: there is none.
func sameVersion(then, now os.FileInfo) bool {
	return then != nil && now != nil && os.SameFile(then, now) && then.ModTime().Equal(now.ModTime()) &&
		then.Size() == now.Size()
}

// indexVariable begins the variable that names the index of a git.
const indexVariable = "GIT_INDEX_FILE="

// indexPath returns the path of an index of emptyIndex.
func (g git) indexPath() string {
	return strings.TrimPrefix(filterEnv(g.env, indexVariable)[0], indexVariable)
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
	if index, done, err = g.emptyIndex(""); err != nil {
		return index, nil, err
	}
	if err = index.run(ctx, "read-tree", commit); err != nil {
		done()
	}
	return index, done, err
}

// emptyIndex returns a git with an empty index in a folder, "" for that of temporary files. The caller must call done,
// which removes it.
func (g git) emptyIndex(in string) (index git, done func(), err error) {
	dir, err := os.MkdirTemp(in, "wavex-index-")
	if err != nil {
		return index, nil, err
	}
	return g.withEnv(indexVariable + filepath.Join(dir, "index")), func() { _ = os.RemoveAll(dir) }, nil
}
