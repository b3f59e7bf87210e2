package runner

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"wavex/internal/safefile"
)

// nextUserFile is the file of a text that is about to replace another file in its folder.
const nextUserFile = ".wavex-put-back"

// changedText returns the text of a file of at most most bytes, or the target of a link.
func changedText(dir *os.Root, st os.FileInfo, most int64) ([]byte, error) {
	if st.Mode()&fs.ModeSymlink != 0 {
		to, err := dir.Readlink(st.Name())
		return []byte("a link to " + to + "\n"), err
	}
	f, err := safefile.OpenAt(dir, st.Name())
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	now, err := f.Stat()
	if err != nil || !os.SameFile(st, now) || now.Size() > most {
		return nil, errors.Join(err, safefile.ErrTooLarge)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// errChanging means that another program writes a file now.
var errChanging = errors.New("it changes now")

// checkSame returns an errChanging if a file is no longer as it was; nil: it was missing.
func checkSame(dir *os.Root, name string, was os.FileInfo) error {
	now, err := dir.Lstat(name)
	if was == nil && errors.Is(err, fs.ErrNotExist) || was != nil && err == nil && os.SameFile(was, now) &&
		was.Size() == now.Size() && was.ModTime().Equal(now.ModTime()) {
		return nil
	}
	return errChanging
}

// replaceIfSame writes a file whole or not at all, if it is still as it was.
func replaceIfSame(dir *os.Root, name string, was os.FileInfo, text []byte, mode fs.FileMode) error {
	_ = dir.Remove(nextUserFile) // of a wavex that was killed
	next, err := dir.OpenFile(nextUserFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = next.Write(text)
	err = errors.Join(err, next.Chmod(mode), next.Sync(), next.Close())
	if err == nil {
		err = checkSame(dir, name, was)
	}
	if err == nil {
		err = dir.Rename(nextUserFile, name)
	}
	if err != nil {
		_ = dir.Remove(nextUserFile) // best effort: the caller needs the first error
	}
	return err
}
