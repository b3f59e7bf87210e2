package proc

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// pipeReader is our end of a pipe that a child writes to. While the child lives, Read reads straight
// from the pipe, without a copy. After the child's exit its remaining output is inside the pipe.
// settle takes it into memory and closes the pipe, however slow the reader is and even if other
// processes hold the other end. So no output is lost, and no reader hangs.
type pipeReader struct {
	f      *os.File
	exited atomic.Bool   // settle has begun
	closed chan struct{} // closed when the pipe is closed; the remaining bytes are in rest

	mu       sync.Mutex // held while reading from the pipe: keeps the bytes in order
	buffered []byte
	atEnd    bool
}

func newPipeReader(f *os.File) *pipeReader { return &pipeReader{f: f, closed: make(chan struct{})} }

// Read is for one reader at a time. It returns io.EOF at the end of the output, and also if
// settle gave up on other processes that hold the output open.
func (o *pipeReader) Read(b []byte) (int, error) {
	n, err := o.read(b)
	if o.exited.Load() {
		o.closeAtEnd() // settle may have run during the read
	}
	return n, err
}

func (o *pipeReader) read(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.buffered) == 0 && !o.atEnd {
		n, err := o.f.Read(b)
		switch {
		case n > 0 || err == nil:
			return n, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			o.readAvailable()
			o.closePipe()
		default:
			o.closePipe()
			if !errors.Is(err, io.EOF) {
				return 0, err
			}
		}
	}
	if len(o.buffered) == 0 {
		if len(b) == 0 && !o.atEnd {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(b, o.buffered)
	o.buffered = o.buffered[n:]
	return n, nil
}

// drain must be called when the child has exited. It returns when the pipe is closed: at the end
// of the output, at the deadline, or when cut closes. On systems without read deadlines giveUp
// must then end the output.
func (o *pipeReader) drain(deadline time.Time, cut <-chan struct{}, giveUp func()) {
	_ = o.f.SetReadDeadline(deadline) // not possible on Windows
	o.exited.Store(true)
	o.closeAtEnd()
	t := time.NewTimer(time.Until(deadline))
	defer t.Stop()
	select {
	case <-o.closed:
		return
	case <-t.C:
	case <-cut:
	}
	giveUp()
	_ = o.f.SetReadDeadline(time.Now())
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.atEnd {
		o.readAvailable()
		o.closePipe()
	}
}

// closeAtEnd ends the outlet if its output is at its end. It does nothing during a read, because the
// reader itself looks afterwards.
func (o *pipeReader) closeAtEnd() {
	if !o.mu.TryLock() {
		return
	}
	defer o.mu.Unlock()
	if !o.atEnd && len(o.buffered) == 0 && o.readAvailable() {
		o.closePipe()
	}
}

// closePipe closes the pipe. The caller must hold mu.
func (o *pipeReader) closePipe() {
	if !o.atEnd {
		o.atEnd = true
		_ = o.f.Close()
		close(o.closed)
	}
}

// discard ends the outlet after the writer that took its bytes has failed.
func (o *pipeReader) discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buffered = nil
	o.closePipe()
}
