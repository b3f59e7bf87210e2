// Package safefile reads and writes files in folders where agents have worked. In place of a file
// there may be a named pipe, which blocks a reader, an endless device, or a file larger than the
// memory; the package reads none of these. It does not know the purpose of the files.
package safefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The faults of a file. Errors that wrap them are *fs.PathError.
var (
	ErrNotRegular = errors.New("it is no regular file")
	ErrTooLarge   = errors.New("it is larger than such a file can be")
)

// Open opens a regular file for reading. It follows links, except in .loop.
func Open(path string) (*os.File, error) {
	p, err := find(path, 0)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if !p.own { // the contents of a working tree may be links of the user
		return open(osOpener{}, path)
	}
	if err := p.checkLink(); err != nil {
		return nil, err
	}
	f, err := open(p, p.name)
	if err != nil {
		return nil, withPath(err, path)
	}
	return f, nil
}

// OpenFound opens a file that os.Lstat has just found to be regular, with a third of the time of Open. It follows links
// on the way to it, also in .loop.
func OpenFound(path string) (*os.File, error) { return openRegular(osOpener{}, path, noFollow) }

// OpenIn is Open for a file of a directory, by its name relative to it and slash-separated. It
// follows no link out of the directory.
func OpenIn(dir, name string) (*os.File, error) {
	root, err := OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // read only
	return open(root, filepath.FromSlash(name))
}

// OpenAt is Open for the name of a file in an open directory.
func OpenAt(dir *os.Root, name string) (*os.File, error) { return open(dir, name) }

// Read returns the content of a regular file. For a file of more than most bytes it returns an
// ErrTooLarge.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: path, Err: ErrTooLarge}
	}
	var text bytes.Buffer
	text.Grow(int(st.Size()) + bytes.MinRead)
	if n, err := text.ReadFrom(io.LimitReader(f, most+1)); err != nil {
		return nil, err
	} else if n > most { // the file grows
		return nil, &fs.PathError{Op: "read", Path: path, Err: ErrTooLarge}
	}
	return text.Bytes(), nil
}

// ReadHead returns the first bytes of a regular file, at most most.
func ReadHead(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	return io.ReadAll(io.LimitReader(f, most))
}

// Digest returns the SHA-256 of a file in hex, and closes it. It takes the results of Open or OpenIn.
func Digest(f *os.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // read only
	h := sha256.New()
	if _, err = io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func open(from opener, name string) (*os.File, error) {
	// A device must not even be opened, because opening has effects on some devices.
	if st, err := from.Stat(name); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	}
	return openRegular(from, name, 0)
}

func openRegular(from opener, name string, flag int) (*os.File, error) {
	f, err := from.OpenFile(name, os.O_RDONLY|nonBlocking|flag, 0)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() { // the file was replaced meanwhile
		_ = f.Close() // read only
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.Join(err, ErrNotRegular)}
	}
	return f, nil
}

// Create is os.Create for a file of wavex in such a folder, with permissions. It first removes
// anything at path that is neither a file nor a directory: a pipe could block the writer, and a
// link could lead to a foreign file.
func Create(path string, perm fs.FileMode) (*os.File, error) {
	p, err := find(path, 0)
	if err != nil {
		return nil, err
	}
	defer p.close()
	f, err := p.create(p.name, perm)
	return f, withPath(err, path)
}

func (p place) create(name string, perm fs.FileMode) (*os.File, error) {
	if st, err := p.Lstat(name); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		if err := p.Remove(name); err != nil {
			return nil, err
		}
	}
	return p.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|nonBlocking|noFollow, perm)
}

// Replace writes a file whole or not at all, for the only writer of path. If durable is true, it survives
// a failure of the machine. (renameio does not support Windows.)
func Replace(path string, text []byte, perm fs.FileMode, durable bool) error {
	p, err := find(path, 0)
	if err != nil {
		return err
	}
	defer p.close()
	next := p.name + ".next"
	f, err := p.create(next, perm)
	if err != nil {
		return withPath(err, path)
	}
	_, err = f.Write(text)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = p.Rename(next, p.name)
	}
	if err != nil {
		_ = p.Remove(next) // best effort: the caller needs the first error
	}
	return err
}

// Write is os.WriteFile by means of Create.
func Write(path string, text []byte, perm fs.FileMode) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
