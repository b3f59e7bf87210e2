package loopdir

import (
	"crypto/sha256"
	"sync"
	"time"

	"wavex/scheduler"
)

// This file decides when projections are written: soon after each event, but no more
// often than the pace allows, and always after the last. It knows no file.

const (
	// pace is the least time between the begins of two writes.
	pace = 250 * time.Millisecond
	// share bounds the part of the time that is spent on writing: a write that took a
	// second is followed by at least nineteen without.
	share = 20
)

// Writer keeps the projections of a run up to date. It is a scheduler.View: Event never
// waits for a file. Writing goes on in one goroutine, which Close ends.
type Writer struct {
	write func(*book) error
	pace  time.Duration
	warn  func(error)
	wake  chan struct{} // holds one: there is something to write
	quit  chan struct{}
	done  chan struct{}
	close sync.Once

	mu    sync.Mutex
	book  book
	dirty bool // the book has more than the files
	told  bool // the last write failed, and warn knows

	wrote *writings
}

// NewWriter starts a writer for a folder that exists and whose lock the caller holds.
// clean takes secrets out of what is written; nil for none. warn is told, from any
// goroutine, when the files can no longer be written, once until they can again; the run
// never fails for it.
func NewWriter(dir string, clean func([]byte) []byte, warn func(error)) *Writer {
	wrote := &writings{last: map[string][][sha256.Size]byte{}}
	s := store{dir: dir, clean: clean, last: map[string]last{}, wrote: wrote}
	s.tidy()
	w := newWriter(s.write, pace, warn)
	w.wrote = wrote
	return w
}

func newWriter(write func(*book) error, pace time.Duration, warn func(error)) *Writer {
	w := &Writer{write: write, pace: pace, warn: warn,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

// Event takes note of what an event changed.
func (w *Writer) Event(e scheduler.Event, s *scheduler.State) {
	w.mu.Lock()
	w.book.update(e, s)
	w.dirty = true
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default: // it has been woken and has not looked yet
	}
}

// Close ends the goroutine and writes what is not written yet; when it returns, the last
// event it was told is on disk. The error has been told to warn. No Event may follow.
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
		_ = w.save() // told to warn
		timer.Reset(max(w.pace, share*time.Since(began)) - time.Since(began))
		select {
		case <-w.quit:
			return
		case <-timer.C:
		}
	}
}

// save writes the book as it is now.
func (w *Writer) save() error {
	w.mu.Lock()
	if !w.dirty {
		w.mu.Unlock()
		return nil
	}
	w.dirty = false
	b := w.book.snapshot()
	w.mu.Unlock()
	err := w.write(b)
	w.mu.Lock()
	tell := err != nil && !w.told
	w.told, w.dirty = err != nil, w.dirty || err != nil
	w.mu.Unlock()
	if tell {
		w.warn(err)
	}
	return err
}
