//go:build unix

package proc

import (
	"context"
	"errors"
)

// This file is the sweep as others call it. How processes are found and killed differs.

// Sweep kills everything whose WAVEX_RUN or WAVEX_ATTEMPT is mark, or whose WAVEX_ATTEMPT
// begins with mark and a slash, and all descendants
// of that, on Linux until two looks in a row find none; it spares this process and its
// ancestors. It is for what another wavex left, and for the end of a run. The error
// wraps ErrLeft when something is still alive after 30 s, or cannot be killed, or ctx is done.
func Sweep(ctx context.Context, mark string) (killed int, err error) {
	killed, err = sweepMark(mark, ctx.Done())
	if err != nil && ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	return killed, err
}
