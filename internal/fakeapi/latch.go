package fakeapi

import "sync"

// Latch holds replies until the test opens it. Closing the server releases all of them.
type Latch struct {
	once   sync.Once
	opened chan struct{}
}

// NewLatch returns a closed gate.
func NewLatch() *Latch { return &Latch{opened: make(chan struct{})} }

// Open releases every held reply, and all later ones. It may be called twice.
func (g *Latch) Open() { g.once.Do(func() { close(g.opened) }) }
