package gitwork

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"wavex/internal/async"
	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// This file deletes worktrees beside the run. To delete the files of a large one takes up to minutes, so a worktree is
// first moved into a folder of .loop, which takes no time. The next session, or Clean, deletes those that a session
// leaves there. It knows no registrations of worktrees.

// trash is the folder of removed worktrees, which all runs of a .loop share.
type trash struct {
	dir    string
	worker *async.Worker // deletes in the background; nil: none
	stop   context.CancelFunc
	left   int // worktrees that were not deleted when it was closed
}

// closeTrashWait is how long the end of a session waits for deletions.
const closeTrashWait = 300 * time.Millisecond

// maxDeletions is the number of folders that are deleted at a time.
const maxDeletions = 4

func trashOf(dir loop.Dir) trash { return trash{dir: dir.Path(filepath.FromSlash(loop.Trash))} }

// start begins to delete in the background, also worktrees that an earlier session left. The caller must close t.
func (t *trash) start(ctx context.Context) {
	ctx, t.stop = context.WithCancel(context.WithoutCancel(ctx))
	t.worker = async.Start(func(bool) time.Duration {
		_ = t.empty(ctx) // the rest is counted at the end
		return 0
	})
	t.worker.Wake()
}

// close ends the deletion in the background, for which it waits a moment.
func (t *trash) close() {
	if t.worker == nil {
		return
	}
	select {
	case <-t.worker.Stop():
	case <-time.After(closeTrashWait):
	}
	t.stop()
	t.worker.Close()
	t.left = len(t.names())
}

// names returns the names of the worktrees that are not deleted.
func (t *trash) names() (names []string) {
	entries, _ := safefile.ReadDir(t.dir) // usually it does not exist
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// add moves a folder into the trash. It does nothing if the folder does not exist.
func (t *trash) add(path string) error {
	for {
		if err := safefile.MkdirAll(t.dir, 0o700); err != nil {
			if _, gone := os.Lstat(t.dir); errors.Is(err, fs.ErrExist) && errors.Is(gone, fs.ErrNotExist) {
				continue // empty has removed it meanwhile
			}
			return err
		}
		err := safefile.Rename(path, unusedName(filepath.Join(t.dir, filepath.Base(path))))
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := os.Lstat(path); err == nil {
				continue // the trash was empty, and empty has removed it
			}
			return nil
		}
		if err == nil && t.worker != nil {
			t.worker.Wake()
		}
		return err
	}
}

// empty deletes everything in the trash, and the folder itself.
func (t *trash) empty(ctx context.Context) error {
	root, err := safefile.OpenRoot(t.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // read only
	var all errgroup.Group
	all.SetLimit(maxDeletions)
	for _, name := range t.names() {
		all.Go(func() error { return deleteTree(ctx, root, name) })
	}
	if err = all.Wait(); err == nil {
		_ = safefile.Remove(t.dir) // unless something was added
	}
	return err
}

// deleteTree deletes a file, or a folder with its contents, until ctx ends.
func deleteTree(ctx context.Context, in *os.Root, name string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	err := in.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	dir, failed := in.OpenRoot(name)
	if failed != nil {
		return err
	}
	defer func() { _ = dir.Close() }() // read only
	_ = dir.Chmod(".", 0o700)          // as of a cache of modules, which is read only
	entries, err := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		err = errors.Join(err, deleteTree(ctx, dir, e.Name()))
	}
	if err != nil {
		return err
	}
	return in.Remove(name)
}
