package workspace

import (
	"context"
	"sync"
)

// This file lets agents and checks share one directory: agents edit together, checks run together
// while no agent edits. It knows nothing else about them.

type side int

const (
	editing side = iota
	checking
)

// turns admits either side in order of arrival. A caller waits behind every earlier caller of the
// other side that waits, so neither side starves.
type turns struct {
	mu     sync.Mutex
	side   side // of the callers inside
	inside int
	queue  []*waiter
}

type waiter struct {
	side side
	in   chan struct{} // closed when it is admitted
}

func newTurns() *turns { return &turns{} }

// enter waits for the turn of a side. If err is nil, the caller must call leave.
func (t *turns) enter(ctx context.Context, s side) (leave func(), err error) {
	w := &waiter{s, make(chan struct{})}
	t.mu.Lock()
	t.queue = append(t.queue, w)
	t.admit()
	t.mu.Unlock()
	select {
	case <-w.in:
		return sync.OnceFunc(t.leave), nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, other := range t.queue {
		if other == w {
			t.queue = append(t.queue[:i], t.queue[i+1:]...)
			t.admit() // it may have blocked others
			return nil, context.Cause(ctx)
		}
	}
	return sync.OnceFunc(t.leave), nil // it was admitted meanwhile
}

func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inside--
	t.admit()
}

// admit admits the waiters at the head of the queue that may enter. The caller must hold mu.
func (t *turns) admit() {
	for len(t.queue) > 0 {
		w := t.queue[0]
		if t.inside > 0 && t.side != w.side {
			return
		}
		t.side = w.side
		t.inside++
		t.queue = t.queue[1:]
		close(w.in)
	}
}
