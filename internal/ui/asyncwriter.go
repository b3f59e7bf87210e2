package ui

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"wavex/internal/async"
)

// ErrReaderStalled is returned by Close if the reader of the output has stopped reading.
var ErrReaderStalled = errors.New("the reader of the output has stopped reading")

const (
	maxBacklog   = 64 << 20         // bytes that wait for a reader; beyond it the view writes nothing more
	closeTimeout = 10 * time.Second // how long Close waits without progress of the reader
)

// asyncWriter writes in order from a goroutine of its own, so that a slow or closed pipe never delays the
// run. It knows bytes and nothing of events.
type asyncWriter struct {
	w     io.Writer
	queue *async.Queue[[]byte]

	mu      sync.Mutex
	size    int   // unwritten bytes
	written int64 // finished writes, to detect progress
	err     error // the first error; nothing is written after it
}

func newAsyncWriter(w io.Writer) *asyncWriter {
	s := &asyncWriter{w: w}
	s.queue = async.NewQueue(s.writeAll)
	return s
}

// put queues b and keeps it; the caller must not change b. put never blocks. After an error or
// close it does nothing.
func (s *asyncWriter) put(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil || len(b) == 0:
	case s.size+len(b) > maxBacklog:
		s.fail(ErrReaderStalled)
	default:
		s.size += len(b)
		s.queue.Put(b)
	}
}

// fail keeps the first error. The caller must hold the lock.
func (s *asyncWriter) fail(err error) {
	if s.err == nil && err != nil {
		s.err = err
		s.queue.Drop()
	}
}

func (s *asyncWriter) writeAll(batch [][]byte) {
	for i, b := range batch {
		if !s.write(b) {
			return
		}
		batch[i] = nil // size counts only the rest
	}
}

func (s *asyncWriter) write(b []byte) bool {
	n, err := s.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if f, ok := s.w.(interface{ Flush() error }); ok && err == nil {
		err = f.Flush()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written++
	s.size -= len(b)
	s.fail(err)
	return s.err == nil
}

// close writes the queue, ends the goroutine and returns the first error. It gives up if the reader
// makes no progress for closeTimeout; the goroutine then ends when its blocked write returns.
func (s *asyncWriter) close() error {
	done := s.queue.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for seen := int64(-1); s.written != seen; {
		seen = s.written
		s.mu.Unlock()
		select {
		case <-done:
			s.mu.Lock()
			return wrapWriteError(s.err)
		case <-time.After(closeTimeout):
			s.mu.Lock()
		}
	}
	s.fail(ErrReaderStalled)
	return wrapWriteError(s.err)
}

func wrapWriteError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing the output: %w", err)
}
