package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// MovedError means that the path of the project's directory no longer names the directory in which the journal was
// opened.
type MovedError struct {
	From string
	To   string // where the directory is now; "" if it was removed, or if the system does not tell
}

func (e *MovedError) Error() string {
	if e.To == "" {
		return fmt.Sprintf("the project's directory %s was moved, removed or replaced by another one", e.From)
	}
	return fmt.Sprintf("the project's directory %s was moved to %s", e.From, e.To)
}

// project is the open directory that holds a .loop directory. Its methods are safe for concurrent use.
type project struct {
	path string
	root *os.Root // nil: it could not be opened, and counts as never moved
	info fs.FileInfo
}

func openProject(path string) project {
	p := project{path: path}
	if root, err := os.OpenRoot(path); err == nil {
		if p.info, err = root.Stat("."); err != nil {
			_ = root.Close() // only opened for its identity
			return p
		}
		p.root = root
	}
	return p
}

// moved returns nil if the directory still has its path.
func (p project) moved() *MovedError {
	if p.root == nil {
		return nil
	}
	if now, err := os.Stat(p.path); err == nil && os.SameFile(now, p.info) || err != nil && !isGone(err) {
		return nil
	}
	e := &MovedError{From: p.path}
	dir, err := p.root.Open(".")
	if err != nil {
		return e
	}
	defer func() { _ = dir.Close() }() // read only
	// Linux tells the path of an open file.
	at, err := os.Readlink(filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd()))))
	if now, serr := os.Stat(at); err == nil && serr == nil && os.SameFile(now, p.info) {
		e.To = at
	}
	return e
}

// keeps reports whether a file below the directory's path is still at its place in the open directory.
func (p project) keeps(path string, file fs.FileInfo) bool {
	rel, err := filepath.Rel(p.path, path)
	if err != nil || p.root == nil {
		return false
	}
	now, err := p.root.Stat(rel)
	return err == nil && os.SameFile(now, file)
}

func (p project) close() {
	if p.root != nil {
		_ = p.root.Close() // read only
	}
}

// isGone reports whether an error means that a path names no file.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }
