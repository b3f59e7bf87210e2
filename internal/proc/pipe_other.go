//go:build !linux

package proc

import (
	"io"
	"os"
)

// pipe returns a pipe. The first end is ours; the other one is for a child, which reads it if
// toChild is set and writes to it otherwise.
func pipe(toChild bool) (ours *os.File, theirs io.ReadWriteCloser, err error) {
	r, w, err := os.Pipe()
	if toChild {
		return w, r, err
	}
	return r, w, err
}
