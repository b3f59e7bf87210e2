//go:build !linux

package proc

import (
	"io"
	"os"
)

// pipe returns a pipe whose first end is ours and whose other end is for a child.
// toChild tells which of them is read.
func pipe(toChild bool) (ours *os.File, theirs io.ReadWriteCloser, err error) {
	r, w, err := os.Pipe()
	if toChild {
		return w, r, err
	}
	return r, w, err
}
