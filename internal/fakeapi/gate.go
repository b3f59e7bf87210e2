package fakeapi

import "sync"

// Gate holds replies until the test opens it. Closing the server releases all of them.
type Gate struct {
	once sync.Once
	open chan struct{}
}

// NewGate returns a closed gate.
func NewGate() *Gate { return &Gate{open: make(chan struct{})} }

// Open releases every held reply, and all later ones. It may be called twice.
func (g *Gate) Open() { g.once.Do(func() { close(g.open) }) }
