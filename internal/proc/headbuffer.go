package proc

import (
	"bytes"
	"sync"
)

// HeadBuffer is a Writer that keeps the first Max bytes and discards the rest, so that a process
// never waits for it. It is safe for concurrent use.
type HeadBuffer struct {
	Max int

	mu   sync.Mutex
	kept bytes.Buffer
}

// Write accepts all of b.
func (h *HeadBuffer) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept.Write(b[:min(len(b), h.Max-h.kept.Len())])
	return len(b), nil
}

// String returns the kept bytes.
func (h *HeadBuffer) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kept.String()
}
