package safefile

import (
	"cmp"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"wavex/internal/loop"
)

// This file goes to a path in .loop, directory by directory, and follows no link: a cloned repository or an agent may
// have put one in the place of a directory of wavex. Each function works like that of package os. For paths outside of
// .loop, and for the contents of a working tree, it calls that function.

// ErrLink means that a directory or a file of wavex in .loop is a link. Errors that wrap it are *fs.PathError.
var ErrLink = errors.New("it is a link, and wavex follows none in .loop: remove it, then give the command again")

func linkError(path string) error { return &fs.PathError{Op: "open", Path: path, Err: ErrLink} }

// place is a directory and a name in it.
type place struct {
	directory
	name string
	root *os.Root // nil: the directory is the system, and name is a path
	own  bool     // name is wavex's, so it must not be a link
}

// directory is an *os.Root, or the system.
type directory interface {
	opener
	Lstat(name string) (fs.FileInfo, error)
	Remove(name string) error
	RemoveAll(name string) error
	Rename(from, to string) error
}

// opener opens files: an *os.Root, or the system.
type opener interface {
	Stat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
}

type osOpener struct{}

func (osOpener) Stat(name string) (fs.FileInfo, error)  { return os.Stat(name) }
func (osOpener) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }
func (osOpener) Remove(name string) error               { return os.Remove(name) }
func (osOpener) RemoveAll(name string) error            { return os.RemoveAll(name) }
func (osOpener) Rename(from, to string) error           { return os.Rename(from, to) }
func (osOpener) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// find opens the directory of a path, and makes it if it is missing and mode is not 0. The caller must close the place.
func find(path string, mode fs.FileMode) (place, error) {
	project, names, own := loop.Owned(path)
	if len(names) == 0 {
		return place{directory: osOpener{}, name: path}, nil
	}
	last := len(names) - 1
	root, err := descend(project, names[:min(last, own)], mode)
	if err != nil {
		return place{}, err
	}
	if last > own { // in the contents of a working tree
		return place{directory: osOpener{}, name: path}, root.Close()
	}
	return place{directory: root, root: root, name: names[last], own: last < own}, nil
}

func (p place) close() {
	if p.root != nil {
		_ = p.root.Close() // a directory: no data can be lost
	}
}

// checkLink returns an error if the name is wavex's and a link.
func (p place) checkLink() error {
	if st, err := p.Lstat(p.name); p.own && err == nil && st.Mode()&fs.ModeSymlink != 0 {
		return linkError(filepath.Join(p.root.Name(), p.name))
	}
	return nil
}

// descend opens the directory below project that names lead to.
func descend(project string, names []string, mode fs.FileMode) (*os.Root, error) {
	at, err := os.OpenRoot(cmp.Or(project, "."))
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		var next *os.Root
		next, err = Enter(at, name, mode)
		_ = at.Close() // a directory
		at = next
	}
	return at, err
}

// Enter opens a directory in at, which must not be a link, also not meanwhile. It makes a missing one if mode is not 0.
func Enter(at *os.Root, name string, mode fs.FileMode) (*os.Root, error) {
	next, err := at.OpenRoot(name)
	if errors.Is(err, fs.ErrNotExist) && mode != 0 {
		if made := at.Mkdir(name, mode); made == nil {
			next, err = at.OpenRoot(name)
		} else if next, err = at.OpenRoot(name); errors.Is(err, fs.ErrNotExist) {
			err = errors.Join(made, err)
		}
	}
	path := filepath.Join(at.Name(), name)
	st, unread := at.Lstat(name)
	if unread == nil && st.Mode()&fs.ModeSymlink != 0 {
		if err == nil {
			_ = next.Close()
		}
		return nil, linkError(path)
	}
	if err != nil {
		return nil, withPath(err, path)
	}
	if now, failed := next.Stat("."); unread != nil || failed != nil || !os.SameFile(st, now) {
		_ = next.Close()
		return nil, errors.Join(linkError(path), unread, failed)
	}
	return next, nil
}

// withPath gives an error of an *os.Root, which has names only, the path of the file.
func withPath(err error, path string) error {
	var short *fs.PathError
	if errors.As(err, &short) {
		return &fs.PathError{Op: strings.TrimSuffix(short.Op, "at"), Path: path, Err: short.Err}
	}
	return err
}

// CheckPath returns an error if path, or a directory on the way to it, is wavex's and a link. Other programs, such as
// git, get the path after it. It returns nil if the path does not exist.
func CheckPath(path string) error {
	p, err := find(path, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	defer p.close()
	return p.checkLink()
}

// OpenRoot is os.OpenRoot.
func OpenRoot(path string) (*os.Root, error) {
	project, names, own := loop.Owned(path)
	if len(names) == 0 || len(names) > own {
		if err := CheckPath(path); err != nil {
			return nil, err
		}
		return os.OpenRoot(path)
	}
	return descend(project, names, 0)
}

// OpenFile is os.OpenFile.
func OpenFile(path string, flag int, mode fs.FileMode) (*os.File, error) {
	p, err := find(path, 0)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.checkLink(); err != nil {
		return nil, err
	}
	f, err := p.OpenFile(p.name, flag, mode)
	return f, withPath(err, path)
}

// CreateTemp is os.CreateTemp for a pattern that ends with "*".
func CreateTemp(dir, pattern string) (*os.File, error) {
	for {
		name := filepath.Join(dir, strings.TrimSuffix(pattern, "*")+strconv.FormatUint(rand.Uint64(), 36))
		if f, err := OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// ReadDir is os.ReadDir.
func ReadDir(path string) ([]fs.DirEntry, error) {
	root, err := OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // read only
	return fs.ReadDir(root.FS(), ".")
}

// MkdirAll is os.MkdirAll. It makes no .loop above path, so that nothing is created at the old path of a project that
// was moved during a run, nor the directory that .loop is in.
func MkdirAll(path string, mode fs.FileMode) error {
	project, names, own := loop.Owned(path)
	if len(names) == 0 {
		return os.MkdirAll(path, mode)
	}
	if _, err := os.Lstat(filepath.Join(project, names[0])); len(names) > 1 && err != nil {
		return err
	}
	root, err := descend(project, names[:own-1], mode)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // a directory
	made := root.Mkdir(names[own-1], mode)
	if st, err := root.Lstat(names[own-1]); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		return linkError(filepath.Join(root.Name(), names[own-1]))
	} else if made != nil && (err != nil || !st.IsDir()) {
		return withPath(made, path)
	}
	if len(names) == own {
		return nil
	}
	return os.MkdirAll(path, mode)
}

// Remove is os.Remove. It removes a link itself.
func Remove(path string) error {
	p, err := find(path, 0)
	if err != nil {
		return err
	}
	defer p.close()
	return withPath(p.Remove(p.name), path)
}

// RemoveAll is os.RemoveAll. It removes a link itself.
func RemoveAll(path string) error {
	p, err := find(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.close()
	return withPath(p.RemoveAll(p.name), path)
}

// Rename is os.Rename.
func Rename(from, to string) error {
	if err := errors.Join(checkWay(from), checkWay(to)); err != nil {
		return err
	}
	project, a, own := loop.Owned(from)
	other, b, ownTo := loop.Owned(to)
	if len(a) < 2 || len(b) < 2 || len(a) > own+1 || len(b) > ownTo+1 || project != other || a[0] != b[0] {
		return os.Rename(from, to)
	}
	root, err := descend(project, a[:1], 0)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // a directory
	return root.Rename(filepath.Join(a[1:]...), filepath.Join(b[1:]...))
}

// checkWay returns an error about the directory of a path.
func checkWay(path string) error {
	p, err := find(path, 0)
	if err == nil {
		p.close()
	}
	return err
}
