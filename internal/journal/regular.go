package journal

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// This file keeps readers from blocking: opening a named pipe waits for its other end, and an agent
// can create one in place of the journal, the lock or the holder's file.

// maxHolder bounds the size of the holder's file when it is read, in bytes.
const maxHolder = 1 << 16

// checkRegular returns a *fs.PathError if path exists and is not a regular file. Folders and links are refused too.
func checkRegular(path string) error {
	if err := safefile.CheckPath(path); err != nil {
		return err
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: path, Err: safefile.ErrNotRegular}
	}
	return nil // the caller's open reports a missing or unreadable file
}

func notRegular(path string) error { return &CorruptError{path, 1, safefile.ErrNotRegular.Error()} }

// openRead opens a journal for reading. It returns nil and no error if there is none.
func openRead(path string) (*os.File, error) {
	f, err := safefile.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, safefile.ErrNotRegular):
		return nil, notRegular(path)
	}
	return f, err
}

// readHolder returns the holder of the lock of dir. It returns the zero Holder if the file cannot be
// read; the lock is held in any case.
func readHolder(dir loop.Dir) (h Holder) {
	if b, err := safefile.Read(dir.Path(loop.LockHolder), maxHolder); err == nil {
		_ = json.Unmarshal(b, &h)
	}
	return h
}
