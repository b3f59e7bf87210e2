package proc

import (
	"context"
	"errors"
	"io"
)

// ErrUnsupported says that the platform has no such thing.
var ErrUnsupported = errors.New("not supported on this platform")

// Proc is a process that carries a mark.
type Proc struct {
	Pid     int
	Run     string // its WAVEX_RUN
	Attempt string // its WAVEX_ATTEMPT
	Command string // its arguments, joined by blanks
}

// Subreaper makes the orphans of our descendants our children, so that they can be found.
func Subreaper() error { return ErrUnsupported }

// Find returns the live processes whose WAVEX_RUN or WAVEX_ATTEMPT is mark.
func Find(mark string) ([]Proc, error) { return nil, ErrUnsupported }

// Sweep kills everything that carries mark as its WAVEX_RUN or WAVEX_ATTEMPT.
func Sweep(ctx context.Context, mark string) (killed int, err error) { return 0, ErrUnsupported }

// Guard is a process that sweeps when wavex dies without saying goodbye.
type Guard struct{}

// StartGuard starts self, which must call GuardMain, to watch over mark.
func StartGuard(self []string, mark string) (*Guard, error) { return nil, ErrUnsupported }

// Close says goodbye: the guard ends without sweeping.
func (g *Guard) Close() error { return nil }

// GuardMain is the guard's whole life; it returns its exit code.
func GuardMain(stdin io.Reader, mark string) int { return 0 }
