package journal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"wavex/internal/safefile"
)

// This file restores the journal's file when other programs change it: an agent's `git clean -fdx` removes ignored
// files, its `sed -i` replaces the journal, its `: >` cuts it to nothing. Without it, later writes would go to a file
// without a name, or behind zeros, and records of paid work would be lost.

// Restored returns how often another process changed the journal, and it was then restored.
func (l *Log) Restored() int { return l.restored }

// ensureIntact checks that the path names the open file and that no other process has written to it, and
// restores it if possible. It returns an error if it cannot. If the project was moved, it checks the file at the new
// place, so that nothing is created at the old path.
func (l *Log) ensureIntact() error {
	if err := safefile.CheckPath(filepath.Dir(l.path)); errors.Is(err, safefile.ErrLink) {
		return err
	}
	now, err := os.Stat(l.path)
	// An open file is written to where the way to it cannot be looked at, for example for lack of open files.
	named := err == nil && os.SameFile(now, l.info) && !errors.Is(safefile.CheckPath(l.path), safefile.ErrLink)
	if !named && l.project.keeps(l.path, l.info) {
		if moved := l.project.moved(); moved != nil {
			now, err = l.f.Stat()
			named = err == nil
		}
	}
	if err != nil && !isGone(err) {
		return err
	}
	if named && now.Size() == l.size && now.ModTime().Equal(l.info.ModTime()) {
		return nil
	}
	if named && now.Size() >= l.size && l.holdsItsBytes() {
		if now.Size() > l.size {
			l.restored++
			err = l.f.Truncate(l.size)
		}
		return errors.Join(err, l.noteFile())
	}
	if err := l.restore(err == nil); err != nil {
		return fmt.Errorf("another process changed or removed it, and it could not be written again: %w", err)
	}
	l.restored++
	return nil
}

// holdsItsBytes reports whether the file begins with the bytes that were written to it.
func (l *Log) holdsItsBytes() bool {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.Copy(sum, io.NewSectionReader(l.f, 0, l.size))
	return err == nil && n == l.size && sum.Sum32() == l.sum
}

// noteFile notes the time of the file's last change, which is by this Log.
func (l *Log) noteFile() error {
	info, err := l.f.Stat()
	if err != nil {
		return l.fail(err)
	}
	l.info = info
	return nil
}

// restore writes the journal again from memory. If taken is true, it first renames the file at the journal's path.
func (l *Log) restore(taken bool) error {
	dir := filepath.Dir(l.path)
	_ = os.MkdirAll(filepath.Dir(dir), 0o755)        // a removed project: nothing else has the costs of the run
	_ = safefile.MkdirAll(dir, 0o755)                // CreateTemp fails without the directory
	f, err := safefile.CreateTemp(dir, ".journal-*") // mode 0600
	if err != nil {
		return err
	}
	err = l.memory.copyTo(f, l.size)
	if err == nil {
		err = f.Sync()
	}
	if err == nil && taken {
		err = safefile.Rename(l.path, l.path+".bad")
	}
	if err == nil {
		err = safefile.Rename(f.Name(), l.path)
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
		_ = safefile.Remove(f.Name()) // the caller needs the first error
		return err
	}
	_ = l.f.Close() // the file has no name any more
	l.f, l.info = f, info
	return nil
}
