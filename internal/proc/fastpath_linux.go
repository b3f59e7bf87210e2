package proc

// This file waits for a small command by its output alone, without watching its exit. It handles
// the common end of small commands; settle and awaitExit handle all others.

import (
	"errors"
	"os"
	"time"
)

// fastPathWait is the time after which the exit of a process is watched too. The output of an ended
// command stays open only if other processes hold it.
const fastPathWait = 20 * time.Millisecond

// copyFast copies the output of a process that has at most one, and reports whether it reached the
// end in time. That saves a second descriptor of the process, its place in the poller and a
// goroutine.
func (p *Process) copyFast(copies []copyJob) bool {
	if len(copies) != 1 || len(p.readers) != 1 || p.Stdin != nil {
		return false
	}
	return copies[0].runFor(fastPathWait)
}

// runFor is run with a time limit. After d, checked before and between reads, it returns false,
// and run can continue where it stopped.
func (c copyJob) runFor(d time.Duration) bool {
	o := c.from
	if o.f.SetReadDeadline(time.Now().Add(d)) != nil {
		return false
	}
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for {
		n, err := o.f.Read(*buf)
		if n > 0 {
			if _, werr := c.to.Write((*buf)[:n]); werr != nil {
				break // the child sees a closed pipe
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			_ = o.f.SetReadDeadline(time.Time{})
			return false
		}
		if err != nil {
			break
		}
	}
	o.discard()
	return true
}
