package record

import (
	"io/fs"
	"os"
	"path/filepath"
)

// This file reads what attempts have left in .loop. Agents have been there: no link is
// followed out of the folder, and nothing is opened that could keep the reader waiting.

// files are the files below a folder.
type files struct{ dir string }

// Open opens a regular file or a folder.
func (f files) Open(name string) (fs.File, error) {
	root, err := f.root("open", name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // read only
	name = filepath.FromSlash(name)
	// Opening a named pipe would wait for somebody who writes to it.
	if st, err := root.Stat(name); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() && !st.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return root.Open(name)
}

// Stat looks at a file without opening it.
func (f files) Stat(name string) (fs.FileInfo, error) {
	root, err := f.root("stat", name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // read only
	return root.Stat(filepath.FromSlash(name))
}

func (f files) root(op, name string) (*os.Root, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return os.OpenRoot(f.dir)
}
