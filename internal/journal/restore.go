package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"wavex/internal/safefile"
)

// This file restores the journal's file when other programs change the directory: an agent's `git
// clean -fdx` removes ignored files, its `sed -i` replaces the journal. Without it, later writes
// would go to a file without a name and be lost at exit. It does not detect changes inside the
// file; the checksums do when it is read.

// Restored returns how often the journal was removed, replaced or lengthened by another process and
// then restored.
func (l *Log) Restored() int { return l.restored }

// ensureIntact checks that the path still names the open file and that its size is unchanged, and restores
// it if possible. It returns an error if it cannot.
func (l *Log) ensureIntact() error {
	now, err := os.Stat(l.path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil || !os.SameFile(now, l.info):
		if err := l.restore(err == nil); err != nil {
			return fmt.Errorf("somebody removed or replaced it, and it could not be written again: %w", err)
		}
		l.restored++
	case now.Size() < l.size:
		return fmt.Errorf("somebody has cut it from %d to %d bytes", l.size, now.Size())
	case now.Size() > l.size:
		if err := l.f.Truncate(l.size); err != nil {
			return err
		}
		l.restored++
	}
	return nil
}

// restore writes the journal again from the open file, which still has its content. With taken, it
// keeps the file at the journal's path under another name.
func (l *Log) restore(taken bool) error {
	dir := filepath.Dir(l.path)
	_ = os.MkdirAll(dir, 0o755)                // CreateTemp fails without the directory
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
		err = safefile.SyncDir(dir)
	}
	var info os.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(f.Name()) // the caller needs the first error
		return err
	}
	_ = l.f.Close() // the file has no name any more
	l.f, l.info = f, info
	return nil
}
