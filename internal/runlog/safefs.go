package runlog

import (
	"io/fs"
	"os"
	"path/filepath"

	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// This file reads files that attempts left in .loop. Agents had access to them: it follows no link
// out of the folder, and opens no file that could block.

// safeFS is the file system below a folder.
type safeFS struct{ dir string }

// Files returns the files of a run's attempts, by task. There may be none yet. It follows no link out of the folder,
// and does not open a named pipe.
func Files(dir loop.Dir, run string) fs.FS { return safeFS{dir.Run(run, loop.Tasks)} }

// Open opens a regular file or a folder.
func (f safeFS) Open(name string) (fs.File, error) {
	root, err := f.root("open", name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // read only
	if st, err := root.Stat(filepath.FromSlash(name)); err == nil && st.IsDir() {
		return root.Open(filepath.FromSlash(name))
	}
	in, err := safefile.OpenIn(f.dir, name)
	if err != nil {
		return nil, err // an untyped nil, not a nil *os.File in the interface
	}
	return in, nil
}

// Stat returns the file's description without opening it.
func (f safeFS) Stat(name string) (fs.FileInfo, error) {
	root, err := f.root("stat", name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // read only
	return root.Stat(filepath.FromSlash(name))
}

func (f safeFS) root(op, name string) (*os.Root, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return safefile.OpenRoot(f.dir)
}
