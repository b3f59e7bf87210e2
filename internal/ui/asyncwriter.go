package ui

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
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
	w    io.Writer
	wake chan struct{} // holds one: there is work
	done chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	queue   [][]byte
	size    int   // unwritten bytes: of the queue and of the batch taken from it
	written int64 // finished writes, to detect progress
	err     error // the first error; nothing is written after it
	closed  bool
}

func newAsyncWriter(w io.Writer) *asyncWriter {
	s := &asyncWriter{w: w, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.run()
	return s
}

// put queues b and keeps it; the caller must not change b. put never blocks. After an error or
// close it does nothing.
func (s *asyncWriter) put(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.err != nil || len(b) == 0 {
		return
	}
	if s.size+len(b) > maxBacklog {
		s.setError(ErrReaderStalled)
		return
	}
	s.queue = append(s.queue, b)
	s.size += len(b)
	s.signal()
}

func (s *asyncWriter) setError(err error) {
	s.err, s.queue, s.size = err, nil, 0
}

func (s *asyncWriter) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *asyncWriter) run() {
	defer close(s.done)
	for range s.wake {
		for {
			batch, last := s.popAll()
			for rest := batch; len(rest) > 0; {
				var b []byte
				if b, rest = joinBatch(rest); !s.write(b) {
					break
				}
				clear(batch[:len(batch)-len(rest)]) // size counts only the rest, so release the written pieces
			}
			if len(batch) > 0 {
				continue
			}
			if last {
				return
			}
			break
		}
	}
}

// maxBatch bounds the bytes that several pieces may have in one write.
const maxBatch = 32 << 10

// joinBatch takes pieces off the front of a non-empty batch.
func joinBatch(batch [][]byte) (b []byte, rest [][]byte) {
	n, size := 1, len(batch[0])
	for n < len(batch) && size+len(batch[n]) <= maxBatch {
		size += len(batch[n])
		n++
	}
	if n == 1 {
		return batch[0], batch[1:]
	}
	return slices.Concat(batch[:n]...), batch[n:]
}

func (s *asyncWriter) popAll() (batch [][]byte, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, s.queue = s.queue, nil
	return batch, s.closed
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
	if err != nil && s.err == nil {
		s.setError(err)
	}
	return s.err == nil
}

// close writes the queue, ends the goroutine and returns the first error. It gives up if the reader
// makes no progress for patience; the goroutine then ends when its blocked write returns.
func (s *asyncWriter) close() error {
	s.mu.Lock()
	s.closed = true
	s.signal()
	seen := s.written
	s.mu.Unlock()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	for {
		select {
		case <-s.done:
			s.mu.Lock()
			defer s.mu.Unlock()
			return wrapWriteError(s.err)
		case <-timer.C:
			s.mu.Lock()
			if s.written == seen {
				if s.err == nil {
					s.setError(ErrReaderStalled)
				}
				defer s.mu.Unlock()
				return wrapWriteError(s.err)
			}
			seen = s.written
			s.mu.Unlock()
			timer.Reset(closeTimeout)
		}
	}
}

func wrapWriteError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing the output: %w", err)
}
