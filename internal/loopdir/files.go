package loopdir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/wary"
	"wavex/scheduler"
)

// This file puts the projections on disk. It knows their names and how a file is
// replaced, nothing of when.

// MaxFile bounds, in bytes, what is read of a projection. The largest of 2000 tasks has 0.3 MB.
const MaxFile = 256 << 20

// The names of the projections, in the order in which they are written.
const (
	WorkflowFile = "workflow-state.json"
	LinearFile   = "state.json"
	ProgressFile = "PROGRESS.md"
)

// Files are the names of all of them.
func Files() []string { return []string{WorkflowFile, LinearFile, ProgressFile} }

// Ignore makes sure that the folder keeps itself out of version control: its
// .gitignore says so, unless there is one already.
func Ignore(dir string) error {
	path := filepath.Join(dir, ".gitignore")
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return write(path, []byte("*\n"), 0o644)
}

// Rebuild writes the projections of a replayed state again. events are all that led to
// it; there is at least one. clean takes secrets out of what is written; nil for none. The
// error joins what could not be written.
func Rebuild(dir string, clean func([]byte) []byte, s *scheduler.State, events []scheduler.Event) error {
	return store{dir: dir, clean: clean}.write(bookOf(s, events))
}

// store is a folder with projections in it.
type store struct {
	dir    string
	last   map[string]last     // what was written last, by name; nil: nothing is remembered
	clean  func([]byte) []byte // takes secrets out: plans may hold some; nil for none
	before func(name string)   // called before each file is written; nil but in tests
	wrote  *writings           // what was written lately; nil: nobody asks
}

// last is a JSON file as it was written last.
type last struct{ text, rest []byte }

// render makes the text of a JSON file over what is there, nil for nothing, and tells what
// of it others may have a part in.
type render func(old []byte) (text, rest []byte, err error)

// write replaces all files. A file that cannot be read, rendered or replaced does not
// keep the others from being written.
func (s store) write(b *book) error {
	return errors.Join(
		s.replace(WorkflowFile, b.workflowOver),
		s.replace(LinearFile, b.linearOver),
		s.put(ProgressFile, b.progress()),
	)
}

// replace renders a file over what is there, and puts it in its place. What is there and is
// no JSON object is kept under another name, and told.
func (s store) replace(name string, over render) error {
	path := filepath.Join(s.dir, name)
	var old []byte
	var aside error
	text, err := wary.Read(path, MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, wary.ErrNoFile) && !isDir(path), errors.Is(err, wary.ErrLong):
		if aside, err = setAside(path, err); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if was, ok := s.last[name]; ok && bytes.Equal(was.text, text) {
			old = was.rest // nobody else wrote it, and most of it is ours
		} else if _, err := members(text); err != nil {
			if aside, err = setAside(path, err); err != nil {
				return err
			}
		} else {
			old = text
		}
	}
	text, rest, err := over(old)
	if err != nil {
		return fmt.Errorf("rendering %s: %w", name, err)
	}
	if err := s.put(name, text); err != nil {
		return errors.Join(aside, err)
	}
	if s.last != nil {
		s.last[name] = last{text, rest} // where secrets were taken out, the file will differ
	}
	return aside
}

// setAside keeps what cannot be read under another name; told says so.
func setAside(path string, why error) (told, err error) {
	told = fmt.Errorf("%s could not be read (%w) and was written again; the old one is %s.bad", path, why, path)
	if err := os.Rename(path, path+".bad"); err != nil {
		return nil, errors.Join(fmt.Errorf("%s could not be read", path), err)
	}
	return told, nil
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// put puts a file in its place.
func (s store) put(name string, text []byte) error {
	if s.before != nil {
		s.before(name)
	}
	if s.clean != nil {
		text = s.clean(text)
	}
	s.wrote.add(name, text)
	return write(filepath.Join(s.dir, name), text, 0o600) // it may quote an agent
}

// leftover tells a temporary file of a wavex that was killed while it wrote: the name of
// one that is written, between a dot and digits (".state.json4711").
func leftover(name string) bool {
	stem := strings.TrimRight(name, "0123456789")
	of, dotted := strings.CutPrefix(stem, ".")
	return dotted && stem != name && slices.Contains(append(Files(), ".gitignore"), of)
}

// tidy removes leftovers. The caller holds the run's lock.
func (s store) tidy() {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.Type().IsRegular() && leftover(e.Name()) {
			_ = os.Remove(filepath.Join(s.dir, e.Name())) // one that stays does no harm
		}
	}
}
