package cmd

// What became of a panel that an earlier wavex convened and did not see end. That of
// an attempt is in wire.go.

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/proc"
	"wavex/runner"
	"wavex/scheduler"
)

// recoverPanel stops what is left of a panel, then prices its calls by their streams.
// The panel counts at its cap where one of them cannot be priced.
func (r *session) recoverPanel(ctx context.Context, e scheduler.CounselStarted) counsel.Verdict {
	// This session has started nothing yet, so whatever carries the run's mark is old.
	_, _ = proc.Sweep(ctx, r.config.Run) // what cannot be ended is found again after each attempt
	v := counsel.Verdict{Unavailable: "wavex ended before the panel did"}
	cost, known := panelCost(filepath.Join(r.taskDir(e.Task), "counsel-"+strconv.Itoa(e.Panel)), r.prices)
	if v.Cost = cost; !known {
		v.Cost = max(cost, e.Cap)
	}
	return v
}

// panelCost is what the calls below a panel's directory cost; known is false when
// that is only a part. Without the directory nobody was asked.
func panelCost(dir string, prices runner.Pricer) (cost budget.USD, known bool) {
	calls, err := os.ReadDir(dir)
	if err != nil {
		return 0, errors.Is(err, fs.ErrNotExist)
	}
	known = true
	for _, c := range calls {
		logs := filepath.Join(dir, c.Name())
		if _, err := os.Stat(filepath.Join(logs, "request.json")); err == nil {
			known = false // over the Messages API: what it cost is nowhere to be read
			continue
		}
		spent, err := runner.Recall(logs, prices, 0)
		cost += spent.Cost
		known = known && err == nil && spent.Priced != "cap"
	}
	return cost, known
}
