//go:build unix

package proc

import (
	"context"
	"errors"
)

// This file holds the exported sweep. The platforms differ in how they find and kill processes.

// Sweep kills every process whose WAVEX_RUN or WAVEX_ATTEMPT is mark, or whose WAVEX_ATTEMPT
// begins with mark and a slash, and all their descendants. On Linux it ends when two looks in a
// row find none. It spares this process and its ancestors. It is for the leftovers of another
// wavex, and for the end of a run. The error wraps ErrStillAlive if a process is still alive after 30
// s, or cannot be killed, or ctx is done.
func Sweep(ctx context.Context, mark string) (killed int, err error) {
	killed, err = sweepMark(mark, ctx.Done())
	if err != nil && ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	return killed, err
}
