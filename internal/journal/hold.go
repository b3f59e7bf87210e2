package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// This file keeps the journal where it belongs while somebody else is at work in the same
// directory: an agent's `git clean -fdx` removes what git ignores, its `sed -i` puts another
// file in the journal's place. What was written to the file that lost its name would be gone
// with the process. It does not guard against changes inside the file; their checksums do, when
// it is read.

// Restored counts how often somebody removed, replaced or lengthened the journal, and it was
// put right.
func (l *Log) Restored() int { return l.amends }

// hold makes sure that the path leads to the open file and that nobody has written to it. An
// error is of what cannot be put right.
func (l *Log) hold() error {
	now, err := os.Stat(l.path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil || !os.SameFile(now, l.known):
		if err := l.restore(err == nil); err != nil {
			return fmt.Errorf("somebody removed or replaced it, and it could not be written again: %w", err)
		}
		l.amends++
	case now.Size() < l.size:
		return fmt.Errorf("somebody has cut it from %d to %d bytes", l.size, now.Size())
	case now.Size() > l.size:
		if err := l.f.Truncate(l.size); err != nil {
			return err
		}
		l.amends++
	}
	return nil
}

// restore writes the journal again, from the open file, which nobody can take away. What is
// in its place is kept under another name.
func (l *Log) restore(taken bool) error {
	dir := filepath.Dir(l.path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".journal-*") // mode 0600
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.NewSectionReader(l.f, 0, l.size))
	if err == nil && n != l.size {
		err = fmt.Errorf("only %d of %d bytes are left", n, l.size)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil && taken {
		err = os.Rename(l.path, l.path+".bad")
	}
	if err == nil {
		err = os.Rename(f.Name(), l.path)
	}
	if err == nil {
		err = syncDir(dir)
	}
	var info os.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(f.Name()) // the first error is the one that matters
		return err
	}
	_ = l.f.Close() // it has no name any more
	l.f, l.known = f, info
	return nil
}
