package proc

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// outlet is our end of a pipe that a child writes to. While the child lives, Read reads straight
// from the pipe, without a copy. After the child's exit its remaining output is inside the pipe.
// settle takes it into memory and closes the pipe, however slow the reader is and even if other
// processes hold the other end. So no output is lost, and no reader hangs.
type outlet struct {
	f      *os.File
	exited atomic.Bool   // settle has begun
	ended  chan struct{} // closed when the pipe is closed; the remaining bytes are in rest

	mu   sync.Mutex // held while reading from the pipe: keeps the bytes in order
	rest []byte
	over bool
}

func newOutlet(f *os.File) *outlet { return &outlet{f: f, ended: make(chan struct{})} }

// Read is for one reader at a time. It returns io.EOF at the end of the output, and also if
// settle gave up on other processes that hold the output open.
func (o *outlet) Read(b []byte) (int, error) {
	n, err := o.read(b)
	if o.exited.Load() {
		o.look() // settle may have run during the read
	}
	return n, err
}

func (o *outlet) read(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.rest) == 0 && !o.over {
		n, err := o.f.Read(b)
		switch {
		case n > 0 || err == nil:
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			o.take()
			o.end()
		default:
			o.end()
			if !errors.Is(err, io.EOF) {
				return 0, err
			}
		}
	}
	if len(o.rest) == 0 {
		if len(b) == 0 && !o.over {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(b, o.rest)
	o.rest = o.rest[n:]
	return n, nil
}

// settle must be called when the child has exited. It returns when the pipe is closed: at the end
// of the output, at the deadline, or when cut closes. On systems without read deadlines giveUp
// must then end the output.
func (o *outlet) settle(deadline time.Time, cut <-chan struct{}, giveUp func()) {
	_ = o.f.SetReadDeadline(deadline) // not possible on Windows
	o.exited.Store(true)
	o.look()
	t := time.NewTimer(time.Until(deadline))
	defer t.Stop()
	select {
	case <-o.ended:
		return
	case <-t.C:
	case <-cut:
	}
	giveUp()
	_ = o.f.SetReadDeadline(time.Now())
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.take()
		o.end()
	}
}

// look ends the outlet if its output is at its end. It does nothing during a read, because the
// reader itself looks afterwards.
func (o *outlet) look() {
	if !o.mu.TryLock() {
		return
	}
	defer o.mu.Unlock()
	if !o.over && len(o.rest) == 0 && o.take() {
		o.end()
	}
}

// end closes the pipe. The caller must hold mu.
func (o *outlet) end() {
	if !o.over {
		o.over = true
		_ = o.f.Close()
		close(o.ended)
	}
}

// discard ends the outlet after the writer that took its bytes has failed.
func (o *outlet) discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rest = nil
	o.end()
}
