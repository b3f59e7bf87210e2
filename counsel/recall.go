package counsel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"wavex/budget"
	"wavex/runner"
)

// This file prices a panel whose end nobody saw, by what its calls left on disk.

// Recall is what the calls below a panel's directory cost; known is false when that is
// only a part. Without the directory nobody was asked.
func Recall(dir string, prices runner.Pricer) (cost budget.USD, known bool) {
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
