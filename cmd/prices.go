package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"wavex/budget"
)

// loadPrices returns the embedded price table overlaid with the one that --prices named. A resume
// reads that file again; "" means the embedded table alone.
func loadPrices(path string) (budget.Prices, error) {
	if path == "" {
		return budget.LoadPrices(nil)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return budget.Prices{}, usage("there is no price table %s; --prices names another one, or \"\" for none", path)
	}
	if err != nil {
		return budget.Prices{}, usage("reading the price table: %s", err)
	}
	p, err := budget.LoadPrices(data)
	var at *budget.PriceError
	if errors.As(err, &at) {
		return p, usage("%s", fmt.Sprintf("%s:%s; nothing was started", path, at))
	}
	return p, err
}
