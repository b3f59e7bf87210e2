package proc

import (
	"errors"
	"time"
)

// ErrUnsupported means that the platform lacks the feature.
var ErrUnsupported = errors.New("not supported on this platform")

// ErrStillAlive means that a sweep ran out of time, or found processes that it may not kill.
var ErrStillAlive = errors.New("marked processes are still alive")

// sweepTimeout bounds the sweep after a process if other processes do not die (a disk that does not
// answer) or multiply.
const sweepTimeout = 5 * time.Second
