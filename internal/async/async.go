// Package async does work in a goroutine of its own, so that callers never wait for a disk, a pipe,
// a terminal or a network, and waits in a way that can be cancelled. It does not know the work.
package async

import (
	"context"
	"sync"
	"time"
)

// Worker calls a function soon after it was woken, in one goroutine. Its methods are safe for
// concurrent use.
type Worker struct {
	wake chan struct{} // holds one: there is work
	quit chan struct{} // closed by Stop
	done chan struct{} // closed when the goroutine has ended
	stop sync.Once
}

// Start returns a Worker that calls work after each Wake, and once more, with last set, to end. Wakes
// before a call share that call. The next call begins at least the returned pause after the end of
// this one; the last call does not wait for it. The caller must Stop or Close the Worker.
func Start(work func(last bool) (pause time.Duration)) *Worker {
	w := &Worker{wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for {
			select {
			case <-w.quit:
				work(true)
				return
			case <-w.wake:
			}
			if pause := work(false); pause > 0 {
				select {
				case <-w.quit:
				case <-time.After(pause):
				}
			}
		}
	}()
	return w
}

// Wake asks for a call. It never blocks, and does nothing after the last call.
func (w *Worker) Wake() {
	select {
	case w.wake <- struct{}{}:
	default: // the next call is due already
	}
}

// Stop asks for the last call and does not wait for it. The returned channel is closed after it.
func (w *Worker) Stop() <-chan struct{} {
	w.stop.Do(func() { close(w.quit) })
	return w.done
}

// Close stops the Worker and waits for its last call.
func (w *Worker) Close() { <-w.Stop() }

// Queue hands values to a function, in order and in batches, in one goroutine. Its methods are safe
// for concurrent use.
type Queue[T any] struct {
	worker *Worker

	mu      sync.Mutex
	values  []T
	stopped bool
}

// NewQueue returns a Queue whose goroutine calls take with all values that wait. take owns the slice,
// which is never empty. The caller must Stop or Close the Queue.
func NewQueue[T any](take func([]T)) *Queue[T] {
	q := &Queue[T]{}
	q.worker = Start(func(bool) time.Duration {
		q.mu.Lock()
		batch := q.values
		q.values = nil
		q.mu.Unlock()
		if len(batch) > 0 {
			take(batch)
		}
		return 0
	})
	return q
}

// Put adds a value. It never blocks, and does nothing after Stop.
func (q *Queue[T]) Put(v T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.stopped {
		q.values = append(q.values, v)
		q.worker.Wake()
	}
}

// Drop removes the values that wait.
func (q *Queue[T]) Drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.values = nil
}

// Stop lets the goroutine end after the values that wait, and does not wait for it. The returned
// channel is closed at its end.
func (q *Queue[T]) Stop() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	return q.worker.Stop()
}

// Close stops the Queue and waits for its goroutine.
func (q *Queue[T]) Close() { <-q.Stop() }

// Sleep waits for d. If ctx ends first, it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
