package proc

import (
	"errors"
	"time"
)

// ErrUnsupported says that the platform has no such thing.
var ErrUnsupported = errors.New("not supported on this platform")

// ErrLeft says that a sweep ran out of time, or found processes that it may not kill.
var ErrLeft = errors.New("marked processes are still alive")

// sweepTime is how long the sweep after a process goes on against processes that do
// not die (a disk that does not answer) or that multiply.
const sweepTime = 5 * time.Second

// Proc is a process that carries a mark.
type Proc struct {
	Pid     int
	Run     string // its WAVEX_RUN
	Attempt string // its WAVEX_ATTEMPT
	Command string // its arguments, joined by blanks; at most 4 KB
}
