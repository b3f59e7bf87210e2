package claude

import (
	"context"
	"time"
)

// checkStalled gives up an attempt that is in a turn and printed nothing for the idle limit. It
// returns the time until the next check.
func (c *conversation) checkStalled(done bool, giveUp context.CancelCauseFunc) time.Duration {
	quiet := time.Since(time.Unix(0, c.lastRead.Load()))
	if quiet >= c.idle && !done {
		giveUp(errIdle)
	}
	return max(c.idle-quiet, c.idle/16, time.Millisecond)
}
