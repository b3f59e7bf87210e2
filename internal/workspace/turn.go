package workspace

import (
	"context"
	"sync"
)

// This file shares one directory between agents, who edit together, and checks, which
// run together while nobody edits. It knows nothing of either.

type side int

const (
	editing side = iota
	checking
)

// turns lets either side in, first come first served: who comes after somebody of the
// other side that waits, waits behind it, so neither side starves.
type turns struct {
	mu     sync.Mutex
	side   side // of those inside
	inside int
	queue  []*waiter
}

type waiter struct {
	side side
	in   chan struct{} // closed when it is inside
}

func newTurns() *turns { return &turns{} }

// enter waits for the turn of a side. leave must be called once, if err is nil.
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
			t.admit() // it may have been in the way
			return nil, context.Cause(ctx)
		}
	}
	return sync.OnceFunc(t.leave), nil // it was let in meanwhile
}

func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inside--
	t.admit()
}

// admit lets in who may enter. The caller holds mu.
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
