package statefiles

import (
	"crypto/sha256"
	"sync"
	"time"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/scheduler"
)

// This file decides when projections are written: soon after each event, not faster than the pace,
// and always after the last event. It knows no files.

const (
	// minInterval is the minimum time between the starts of two writes.
	minInterval = 250 * time.Millisecond
	// idleFactor limits the time spent on writing to 1/share: a write that took a second is followed by
	// at least nineteen seconds without one.
	idleFactor = 20
)

// Writer keeps the projections of a run current. It is a scheduler.View: Event never waits for a
// file. One goroutine writes; Close ends it.
type Writer struct {
	write       func(*model) error
	minInterval time.Duration
	warn        func(error)
	wake        chan struct{} // capacity 1: there is something to write
	quit        chan struct{}
	done        chan struct{}
	close       sync.Once

	mu     sync.Mutex
	model  model
	dirty  bool // the book is newer than the files
	warned bool // the last write failed, and warn was called

	history *writeHistory
}

// NewWriter starts a Writer for an existing folder whose lock the caller holds. clean removes
// secrets from the texts; nil for none. warn is called from any goroutine when writing fails, and
// not again before it has succeeded. A failure never stops the run.
func NewWriter(dir loop.Dir, clean func([]byte) []byte, warn func(error)) *Writer {
	wrote := &writeHistory{last: map[string][][sha256.Size]byte{}}
	s := fileStore{dir: dir, redact: clean, last: map[string]lastWrite{}, history: wrote}
	s.removeTempFiles()
	w := newWriter(s.write, minInterval, warn)
	w.history = wrote
	return w
}

func newWriter(write func(*model) error, pace time.Duration, warn func(error)) *Writer {
	w := &Writer{write: write, minInterval: pace, warn: warn,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

// Event applies an event to the book.
func (w *Writer) Event(e event.Event, s *scheduler.State) {
	w.mu.Lock()
	w.model.update(e, s)
	w.dirty = true
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default: // already woken
	}
}

// Close ends the goroutine and writes the remaining changes. After it returns, the files have the
// last event. warn has received the returned error. Event must not be called after Close.
func (w *Writer) Close() error {
	w.close.Do(func() { close(w.quit) })
	<-w.done
	return w.save()
}

func (w *Writer) run() {
	defer close(w.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-w.wake:
		}
		began := time.Now()
		_ = w.save() // warn receives the error
		timer.Reset(max(w.minInterval, idleFactor*time.Since(began)) - time.Since(began))
		select {
		case <-w.quit:
			return
		case <-timer.C:
		}
	}
}

// save writes the current book.
func (w *Writer) save() error {
	w.mu.Lock()
	if !w.dirty {
		w.mu.Unlock()
		return nil
	}
	w.dirty = false
	b := w.model.snapshot()
	w.mu.Unlock()
	err := w.write(b)
	w.mu.Lock()
	tell := err != nil && !w.warned
	w.warned, w.dirty = err != nil, w.dirty || err != nil
	w.mu.Unlock()
	if tell {
		w.warn(err)
	}
	return err
}
