package loopdir

import (
	"crypto/sha256"
	"slices"
	"sync"
)

// This file remembers what a writer wrote lately, so that what others write can be told from it.

// recent bounds how many texts of one file are remembered: they may have been replaced
// between the moment somebody read one and the moment he asks.
const recent = 32

type writings struct {
	mu   sync.Mutex
	last map[string][][sha256.Size]byte // by name, the newest last
}

// add takes note of a text that is about to be written.
func (w *writings) add(name string, text []byte) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	all := append(w.last[name], sha256.Sum256(text))
	w.last[name] = all[max(0, len(all)-recent):]
}

// Wrote tells whether the writer has lately written this text to a file, by the file's name. It
// may be called from any goroutine.
func (w *Writer) Wrote(name string, text []byte) bool {
	w.wrote.mu.Lock()
	defer w.wrote.mu.Unlock()
	return slices.Contains(w.wrote.last[name], sha256.Sum256(text))
}
