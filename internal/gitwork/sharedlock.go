package gitwork

import (
	"context"
	"strconv"
	"sync"
)

// This file lets agents and checks share one directory: agents edit together, checks that need a quiet
// directory run together while no agent edits. It knows nothing else about them.

type lockMode int

const (
	editing lockMode = iota
	checking
)

// sharedLock admits either side in order of arrival. A caller waits behind every earlier caller of the
// other side that waits, so neither side starves.
type sharedLock struct {
	mu      sync.Mutex
	mode    lockMode // of the callers inside
	holders int
	queue   []*waiter
	edits   int // number of callers that were admitted to edit
}

type waiter struct {
	mode    lockMode
	granted chan struct{} // closed when it is admitted
}

func newSharedLock() *sharedLock { return &sharedLock{} }

// lock waits for the turn of a side. If err is nil, the caller must call leave.
func (t *sharedLock) lock(ctx context.Context, s lockMode) (leave func(), err error) {
	w := &waiter{s, make(chan struct{})}
	t.mu.Lock()
	t.queue = append(t.queue, w)
	t.grant()
	t.mu.Unlock()
	select {
	case <-w.granted:
		return sync.OnceFunc(t.unlock), nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, other := range t.queue {
		if other == w {
			t.queue = append(t.queue[:i], t.queue[i+1:]...)
			t.grant() // it may have blocked others
			return nil, context.Cause(ctx)
		}
	}
	return sync.OnceFunc(t.unlock), nil // it was admitted meanwhile
}

func (t *sharedLock) unlock() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holders--
	t.grant()
}

// grant admits the waiters at the head of the queue that may enter. The caller must hold mu.
func (t *sharedLock) grant() {
	for len(t.queue) > 0 {
		w := t.queue[0]
		if t.holders > 0 && t.mode != w.mode {
			return
		}
		if t.mode = w.mode; w.mode == editing {
			t.edits++
		}
		t.holders++
		t.queue = t.queue[1:]
		close(w.granted)
	}
}

// tryCheck admits a caller to check if that is possible at once. The caller must then call leave.
func (t *sharedLock) tryCheck() (leave func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) > 0 || t.holders > 0 && t.mode == editing {
		return nil, false
	}
	t.mode = checking
	t.holders++
	return sync.OnceFunc(t.unlock), true
}

// since identifies the time since the last caller edited; "": one edits now.
func (t *sharedLock) since() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holders > 0 && t.mode == editing {
		return ""
	}
	return strconv.Itoa(t.edits)
}

// watch returns a function that reports whether no caller could edit since the call of watch.
func (t *sharedLock) watch() (quiet func() bool) {
	began := t.since()
	return func() bool { return began != "" && t.since() == began }
}
