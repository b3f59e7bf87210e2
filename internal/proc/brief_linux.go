package proc

// A program that says little and ends soon is waited for by its output alone. This file
// knows the common end of small commands; everything else is left to settle and awaitExit.

import (
	"errors"
	"os"
	"time"
)

// briefly is how long a process may take before its exit is watched too. A command
// that has ended leaves its output open only in the hands of others.
const briefly = 20 * time.Millisecond

// brief copies the output of a process that has no more than one until it is at its end, if
// that comes soon, and tells whether it did. A descriptor of the process, its place in the poller
// and a goroutine beside this one are spared then.
func (p *Process) brief(copies []copying) bool {
	if len(copies) != 1 || len(p.outlets) != 1 || p.Stdin != nil {
		return false
	}
	return copies[0].early(briefly)
}

// early is run, but gives up after a while, before or between two reads; then it tells false,
// and run goes on where it left off.
func (c copying) early(d time.Duration) bool {
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
