package snapshot

import (
	"sync/atomic"
	"time"

	"wavex/internal/async"
	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/scheduler"
)

// Writer writes snapshots of a session with a long journal: from time to time, and at the end. It is a scheduler.View:
// Event never waits for the file. A failure to write changes nothing: then readers read the journal.
type Writer struct {
	Dir      loop.Dir
	PlanPath string              // absolute
	Mark     func() journal.Mark // of the written records; called from the loop's goroutine
	Redact   func(any) any       // removes secrets; must not be nil
	Now      func() time.Time

	next    time.Time // no snapshot is made before, except at the end
	pending atomic.Pointer[[]byte]
	worker  *async.Worker
}

// Bounds of the time that snapshots take: of the loop, one part in idleFactor.
const (
	minInterval = time.Second
	idleFactor  = 40
)

// Start begins to write. The caller must Close the Writer.
func (w *Writer) Start() {
	w.worker = async.Start(func(bool) time.Duration {
		if s := w.pending.Swap(nil); s != nil {
			_ = write(w.Dir, *s) // see Writer
		}
		return 0
	})
}

// Close writes the last snapshot and waits for it.
func (w *Writer) Close() { w.worker.Close() }

// Event makes a snapshot if one is due and the journal has the records of the state, and no more.
func (w *Writer) Event(e event.Event, s *scheduler.State) {
	mark, began := w.Mark(), w.Now()
	_, ended := e.Body.(event.RunEnded)
	if !Wanted(mark) || int64(mark.Records) != s.Seq || !ended && began.Before(w.next) {
		return
	}
	shot, err := Of(w.Dir, s, FileOf(s, w.PlanPath), mark, began)
	if err != nil {
		return
	}
	text, err := encode(w.Redact(shot).(*Snapshot)) // now, since the next event changes the state
	if err != nil {
		return
	}
	now := w.Now()
	w.next = now.Add(max(minInterval, idleFactor*now.Sub(began)))
	w.pending.Store(&text)
	w.worker.Wake()
}
