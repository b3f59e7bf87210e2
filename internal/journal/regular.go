package journal

import (
	"encoding/json"
	"io/fs"
	"os"

	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// This file keeps readers from blocking: opening a named pipe waits for its other end, and an agent
// can create one in place of the journal, the lock or the holder's file.

// maxHolder bounds the size of the holder's file when it is read, in bytes.
const maxHolder = 1 << 16

// checkRegular returns a *fs.PathError if path exists and is not a regular file. Folders are refused too.
func checkRegular(path string) error {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: path, Err: safefile.ErrNotRegular}
	}
	return nil // the caller's open reports a missing or unreadable file
}

// checkReadable returns a *CorruptError if path exists and is not a regular file.
func checkReadable(path string) error {
	if checkRegular(path) != nil {
		return &CorruptError{path, 1, safefile.ErrNotRegular.Error()}
	}
	return nil
}

// readHolder returns the holder of the lock of dir. It returns the zero Holder if the file cannot be
// read; the lock is held in any case.
func readHolder(dir loop.Dir) (h Holder) {
	if b, err := safefile.Read(dir.Path(loop.LockHolder), maxHolder); err == nil {
		_ = json.Unmarshal(b, &h)
	}
	return h
}
