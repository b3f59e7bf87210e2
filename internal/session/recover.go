package session

// What became of a panel that an earlier wavex convened and did not see end. That of
// an attempt is in wire.go.

import (
	"context"
	"path/filepath"
	"strconv"

	"wavex/counsel"
	"wavex/internal/proc"
	"wavex/scheduler"
)

// recoverPanel stops what is left of a panel, then prices its calls by their streams.
// The panel counts at its cap where one of them cannot be priced.
func (r *Session) recoverPanel(ctx context.Context, e scheduler.CounselStarted) counsel.Verdict {
	// This session has started nothing yet, so whatever carries the run's mark is old.
	_, _ = proc.Sweep(ctx, r.config.Run) // what cannot be ended is found again after each attempt
	v := counsel.Verdict{Unavailable: "wavex ended before the panel did"}
	cost, known := counsel.Recall(filepath.Join(r.taskDir(e.Task), "counsel-"+strconv.Itoa(e.Panel)), r.opts.Prices)
	if v.Cost = cost; !known {
		v.Cost = max(cost, e.Cap)
	}
	return v
}
