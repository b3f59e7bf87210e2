package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// modelAliases are names that the CLI replaces with a model. `--help` of 2.1.330 names fable, opus and
// sonnet.
var modelAliases = []string{"default", "best", "fable", "opus", "sonnet", "haiku", "opusplan"}

// isModelAlias reports whether model is an alias, with or without the suffix for a long context.
func isModelAlias(model string) bool {
	return slices.Contains(modelAliases, strings.TrimSuffix(model, "[1m]"))
}

// Prices reports the models without a price. For an attempt that ends, the ledger uses the CLI's
// own figure. Without a price, an attempt that dies counts at its cap, and a figure of the CLI
// that is too low cannot be detected.
func Prices(models []string, known func(model string) bool) Check {
	const name = "prices"
	var missing []string
	for _, m := range models {
		if m != "" && !isModelAlias(m) && !known(m) && !slices.Contains(missing, m) {
			missing = append(missing, m)
		}
	}
	if len(missing) == 0 {
		return okCheck(name, "every model that is named has a price")
	}
	return warnCheck(name, fmt.Sprintf("no price for %s: an attempt that is killed counts at its cap",
		strings.Join(missing, ", ")),
		"add it to a price table and name that with run --prices FILE")
}
