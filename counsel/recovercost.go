package counsel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"wavex/budget"
	"wavex/internal/loop"
	"wavex/runner"
)

// This file computes the cost of a panel that was interrupted from the files that its calls left
// on disk.

// RecoverCost returns the cost of the calls below a panel's directory. known is false if that is only
// a part. If the directory is missing no expert was asked.
func RecoverCost(dir string, prices runner.Pricer) (cost budget.USD, known bool) {
	calls, err := os.ReadDir(dir)
	if err != nil {
		return 0, errors.Is(err, fs.ErrNotExist)
	}
	known = true
	for _, c := range calls {
		logs := filepath.Join(dir, c.Name())
		if _, err := os.Stat(filepath.Join(logs, loop.RequestFile)); err == nil {
			known = false // over the Messages API: the cost is not recorded anywhere
			continue
		}
		spent, err := runner.RecoverCost(logs, prices, 0)
		cost += spent.Cost
		known = known && err == nil && spent.Priced != "cap"
	}
	return cost, known
}
