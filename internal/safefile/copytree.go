package safefile

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// CopyTree copies a file or a directory to the path to, which must not exist, with permissions and modification times.
// It shares the disk blocks of files if the file system can. It copies links as links, and skips everything that is
// not a file, directory or link, and entries that vanish meanwhile. It calls replace before it copies an entry, with
// the entry's path relative to from: if replace returns done, CopyTree does not copy the entry, nor its content. An
// error of replace ends the copy.
func CopyTree(ctx context.Context, from, to string,
	replace func(rel string, d fs.DirEntry) (done bool, err error)) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = context.Cause(ctx)
		}
		if errors.Is(err, fs.ErrNotExist) && p != from {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		if replace != nil {
			if done, err := replace(rel, d); err != nil {
				return err
			} else if done && d.IsDir() {
				return fs.SkipDir
			} else if done {
				return nil
			}
		}
		if err := copyEntry(p, filepath.Join(to, rel), d); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func copyEntry(from, to string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	switch {
	case d.IsDir():
		return os.MkdirAll(to, info.Mode().Perm()|0o700)
	case d.Type() == fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case d.Type().IsRegular():
		if err := copyFile(from, to, info.Mode().Perm()); err != nil {
			return err
		}
		return os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	return nil
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // read only: no data can be lost
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if !reflink(out, in) {
		_, err = io.Copy(out, in)
	}
	return errors.Join(err, out.Close())
}
