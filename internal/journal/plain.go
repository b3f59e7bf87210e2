package journal

import (
	"encoding/json"
	"os"
	"path/filepath"

	"wavex/internal/wary"
)

// This file keeps readers from waiting for ever: opening a named pipe waits for somebody at
// its other end, and agents can lay one where the journal, its lock or its holder's name is.

// maxHolder bounds, in bytes, what is read of who holds a lock.
const maxHolder = 1 << 16

// plain refuses what is there and is no regular file; a folder is refused here as well.
func plain(path string) error {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return wary.ErrNoFile
	}
	return nil // what is not there, or cannot be looked at, is said where it is opened
}

// readable is plain for a journal.
func readable(path string) error {
	if err := plain(path); err != nil {
		return &CorruptError{path, 1, err.Error()}
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
