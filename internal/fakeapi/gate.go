package fakeapi

import "sync"

// Gate holds replies until the test opens it. Closing the server lets everybody go.
type Gate struct {
	once sync.Once
	open chan struct{}
}

// NewGate is a closed gate.
func NewGate() *Gate { return &Gate{open: make(chan struct{})} }

// Open lets every held reply, and all that come later, pass. It may be called twice.
func (g *Gate) Open() { g.once.Do(func() { close(g.open) }) }
