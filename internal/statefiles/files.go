package statefiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/google/renameio/v2/maybe"

	"wavex/internal/loop"
	"wavex/internal/safefile"
	"wavex/scheduler"
)

// This file writes the projections to disk. It knows their names and how to replace a file, and not
// when.

// MaxFile is the largest projection that is read, in bytes. That of 2000 tasks has 0.3 MB.
const MaxFile = 256 << 20

// Files returns the names of all projections, in the order in which they are written.
func Files() []string { return []string{loop.WorkflowFile, loop.LinearFile, loop.ProgressFile} }

// EnsureGitignore makes a .gitignore that keeps the folder out of version control, unless there is one
// already.
func EnsureGitignore(dir loop.Dir) error {
	if err := safefile.CheckPath(string(dir)); err != nil {
		return err
	}
	path := dir.Path(loop.Gitignore)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return maybe.WriteFile(path, []byte("*\n"), 0o644) // without the lock, so the temporary file needs a name of its own
}

// Rebuild writes the projections of a replayed state again. clean removes secrets from the texts; nil for none. The
// returned error joins the errors of all files.
func Rebuild(dir loop.Dir, clean func([]byte) []byte, s *scheduler.State) error {
	return fileStore{dir: dir, redact: clean}.write(newModel(s))
}

// fileStore is a folder with projections in it.
type fileStore struct {
	dir         loop.Dir
	redact      func([]byte) []byte // removes secrets, which plans may have; nil for none
	beforeWrite func(name string)   // called before each file is written; nil except in tests
	history     *writeHistory       // the recently written texts; nil: not used
}

// render returns the new text of a JSON file, given the old text or nil.
type render func(old []byte) ([]byte, error)

// write replaces all files. An error with one file does not prevent the others from being written.
func (s fileStore) write(b *model) error {
	return errors.Join(
		s.mergeFile(loop.WorkflowFile, b.mergeWorkflow),
		s.mergeFile(loop.LinearFile, b.mergeLinear),
		s.writeFile(loop.ProgressFile, b.progress()),
	)
}

// mergeFile renders a file over the existing one and writes it. If the existing file is not a JSON
// object, replace renames it and returns an error that says so.
func (s fileStore) mergeFile(name string, over render) error {
	path := s.dir.Path(name)
	var old []byte
	var aside error
	text, err := safefile.Read(path, MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, safefile.ErrNotRegular) && !isDir(path), errors.Is(err, safefile.ErrTooLarge):
		if aside, err = moveUnreadable(path, err); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if _, err := members(text); err == nil {
			old = text
		} else if aside, err = moveUnreadable(path, err); err != nil {
			return err
		}
	}
	if text, err = over(old); err != nil {
		return fmt.Errorf("rendering %s: %w", name, err)
	}
	return errors.Join(aside, s.writeFile(name, text))
}

// ReplacedError says that a file could not be read. It was renamed, and written again.
type ReplacedError struct {
	Path string
	Why  error
}

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("%s could not be read (%v) and was written again; the old one is %s.bad", e.Path, e.Why, e.Path)
}

func (e *ReplacedError) Unwrap() error { return e.Why }

// IsWritten reports whether every part of an error of Rebuild is a ReplacedError, so that all files are written.
func IsWritten(err error) bool {
	var parts interface{ Unwrap() []error }
	if errors.As(err, &parts) {
		return !slices.ContainsFunc(parts.Unwrap(), func(part error) bool { return !IsWritten(part) })
	}
	var replaced *ReplacedError
	return errors.As(err, &replaced)
}

// moveUnreadable renames a file that cannot be read. told is the error that reports it.
func moveUnreadable(path string, why error) (told, err error) {
	told = &ReplacedError{path, why}
	if err := safefile.Rename(path, path+".bad"); err != nil {
		return nil, errors.Join(fmt.Errorf("%s could not be read", path), err)
	}
	return told, nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// writeFile writes a file.
func (s fileStore) writeFile(name string, text []byte) error {
	if s.beforeWrite != nil {
		s.beforeWrite(name)
	}
	if s.redact != nil {
		text = s.redact(text)
	}
	s.history.add(name, text)
	return safefile.Replace(s.dir.Path(name), text, 0o600, true) // private: it may quote an agent
}
