// Package budget keeps a run's promises about money, iterations, tokens and time.
// It is pure: no clock, no I/O, no goroutine.
package budget

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// USD is an amount of money in micro-dollars (1 USD = 1,000,000). The claude CLI
// reports costs as decimal dollars; they are rounded to the micro-dollar once, at
// the edge, and are integers everywhere else.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1_000_000

// FromFloat rounds a decimal dollar figure, as the CLI prints it, to the nearest
// micro-dollar. NaN and infinities become 0; a figure too large stays at the largest
// amount there is.
func FromFloat(dollars float64) USD {
	if math.IsNaN(dollars) || math.IsInf(dollars, 0) {
		return 0
	}
	switch micro := math.Round(dollars * 1e6); {
	case micro >= math.MaxInt64:
		return math.MaxInt64
	case micro <= math.MinInt64:
		return math.MinInt64
	default:
		return USD(micro)
	}
}

// Float is the amount in decimal dollars, for JSON made for people and for the
// CLI's --max-budget-usd.
func (u USD) Float() float64 { return float64(u) / 1e6 }

// Spent formats an amount already spent: two decimals, "$2.50" (LEDGER S0-38).
// Amounts below a cent that are not zero keep four decimals, so that they do not
// read as nothing.
func (u USD) Spent() string {
	if u > 0 && u < Dollar/100 {
		return fmt.Sprintf("$%.4f", u.Float())
	}
	return fmt.Sprintf("$%.2f", u.Float())
}

// String formats a limit: no trailing zeros, "$25", "$0.05" (LEDGER S0-38).
func (u USD) String() string {
	return "$" + strconv.FormatFloat(u.Float(), 'f', -1, 64)
}

// ParseUSD reads an amount as people write it: "25", "$25", "0.05". A negative,
// non-finite or unreadable amount is an error.
func ParseUSD(s string) (USD, error) {
	t := strings.TrimPrefix(strings.TrimSpace(s), "$")
	f, err := strconv.ParseFloat(t, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 || f > 1e9 {
		return 0, fmt.Errorf("%q is not an amount in dollars; write it like 25 or 0.50", s)
	}
	return FromFloat(f), nil
}
