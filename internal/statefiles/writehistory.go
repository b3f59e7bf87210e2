package statefiles

import (
	"crypto/sha256"
	"slices"
	"sync"
)

// This file stores digests of the recently written texts, so that changes by other processes can be
// detected.

// maxRemembered is the number of texts remembered per file: a text may be replaced between the moment a
// caller reads it and its call of Wrote.
const maxRemembered = 32

type writeHistory struct {
	mu   sync.Mutex
	last map[string][][sha256.Size]byte // by name, the newest last
}

// add records a text that is about to be written.
func (w *writeHistory) add(name string, text []byte) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	all := append(w.last[name], sha256.Sum256(text))
	w.last[name] = all[max(0, len(all)-maxRemembered):]
}

// HasWritten reports whether the writer has recently written this text to the file with that name. It is
// safe for concurrent use.
func (w *Writer) HasWritten(name string, text []byte) bool {
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	return slices.Contains(w.history.last[name], sha256.Sum256(text))
}
