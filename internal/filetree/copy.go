package filetree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"wavex/internal/safefile"
)

// These bound a copy: the number of its entries, its bytes and its time.
const (
	maxCopied      = 50_000
	maxCopiedBytes = 2 << 30
	copyTimeout    = 30 * time.Second
)

var (
	errCopyTime     = errors.New("the project is too large for a copy")
	errTooManyFiles = errors.New("the project has too many files for a copy")
	errTooManyBytes = fmt.Errorf("the project has more than %d GB, too much for a copy", maxCopiedBytes>>30)
)

// Copy makes a copy of the directory root in the directory to, which must not exist. The files in back get the states
// that they have there. Known caches are links to those of root, and git finds the repository of root in the copy.
func (s Store) Copy(ctx context.Context, root, to string, back Tree) error {
	ctx, cancel := context.WithTimeoutCause(ctx, copyTimeout, errCopyTime)
	defer cancel()
	entries, size := 0, int64(0)
	err := safefile.CopyTree(ctx, root, to, func(rel string, d fs.DirEntry) (bool, error) {
		entries++
		name, at := filepath.ToSlash(rel), filepath.Join(root, rel)
		_, isBack := back[name]
		switch {
		case entries > maxCopied:
			return false, errTooManyFiles
		case isOwn(name) || at == filepath.Dir(to) || isBack:
			return true, nil
		case name == ".git" && d.IsDir():
			return true, os.WriteFile(filepath.Join(to, name), []byte("gitdir: "+at+"\n"), 0o600)
		case rel != "." && d.IsDir() && isCache(at):
			return true, os.Symlink(at, filepath.Join(to, rel))
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		if size > maxCopiedBytes {
			return false, errTooManyBytes
		}
		return false, nil
	})
	for name, state := range back {
		if err == nil {
			err = s.restore(ctx, root, to, name, state)
		}
	}
	return err
}

// restore writes the earlier version of a file into a copy of root. It follows no link out of the copy.
func (s Store) restore(ctx context.Context, root, copied, name string, state State) error {
	if state == "" {
		return nil
	}
	to, err := os.OpenRoot(copied)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }() // nothing is buffered
	at := filepath.FromSlash(name)
	if err := to.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	if link := state.link(); link != "" {
		return to.Symlink(link, at)
	}
	text, err := s.Content(ctx, root, state)
	if err != nil {
		return fmt.Errorf("the earlier version of %s was not kept", name)
	}
	return to.WriteFile(at, text, state.mode())
}
