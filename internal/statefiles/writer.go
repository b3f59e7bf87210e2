package statefiles

import (
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"wavex/internal/async"
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
	write  func(*model) error
	warn   func(error)
	worker *async.Worker

	mu    sync.Mutex
	model model
	dirty bool // the book is newer than the files

	err     error // of the last write; only the worker and, after it, Close use it
	history *writeHistory
}

// NewWriter starts a Writer for an existing folder whose lock the caller holds. clean removes
// secrets from the texts; nil for none. warn is
// called from any goroutine when writing fails, and not again before it has succeeded. A failure never
// stops the run.
func NewWriter(dir loop.Dir, clean func([]byte) []byte, warn func(error)) *Writer {
	wrote := &writeHistory{last: map[string][][sha256.Size]byte{}}
	s := fileStore{dir: dir, redact: clean, history: wrote}
	w := newWriter(s.write, minInterval, warn)
	w.history = wrote
	return w
}

func newWriter(write func(*model) error, pace time.Duration, warn func(error)) *Writer {
	w := &Writer{write: write, warn: warn}
	w.worker = async.Start(func(bool) time.Duration {
		began := time.Now()
		w.save()
		took := time.Since(began)
		return max(pace, idleFactor*took) - took
	})
	return w
}

// Event applies an event to the book.
func (w *Writer) Event(e event.Event, s *scheduler.State) {
	w.mu.Lock()
	w.model.update(e, s)
	w.dirty = true
	w.mu.Unlock()
	w.worker.Wake()
}

// Close ends the goroutine and writes the remaining changes. After it returns, the files have the
// last event. warn has received the returned error. Event must not be called after Close.
func (w *Writer) Close() error {
	w.worker.Close()
	return w.err
}

// save writes the current book. The next save repeats a failed one.
func (w *Writer) save() {
	w.mu.Lock()
	if !w.dirty && w.err == nil {
		w.mu.Unlock()
		return
	}
	w.dirty = false
	b := w.model.snapshot()
	w.mu.Unlock()
	err := w.write(b)
	if err != nil && w.err == nil {
		w.warn(err)
	}
	w.err = err
}

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
