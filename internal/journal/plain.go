package journal

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"

	"wavex/internal/wary"
)

// This file keeps readers from waiting for ever: opening a named pipe waits for somebody at
// its other end, and agents can lay one where the journal, its lock or its holder's name is.

// maxHolder bounds, in bytes, what is read of who holds a lock.
const maxHolder = 1 << 16

// plain refuses what is there and is no regular file; a folder is refused here as well. The
// error is a *fs.PathError, as of what cannot be opened.
func plain(path string) error {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: path, Err: wary.ErrNoFile}
	}
	return nil // what is not there, or cannot be looked at, is said where it is opened
}

// readable is plain for a journal.
func readable(path string) error {
	if plain(path) != nil {
		return &CorruptError{path, 1, wary.ErrNoFile.Error()}
	}
	return nil
}

// holderOf reads who holds the lock of dir; zero where that cannot be read: it is locked all
// the same.
func holderOf(dir string) (h Holder) {
	if b, err := wary.Read(filepath.Join(dir, holderName), maxHolder); err == nil {
		_ = json.Unmarshal(b, &h)
	}
	return h
}
