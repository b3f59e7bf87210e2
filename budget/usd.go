// Package budget accounts for a run's money, iterations, tokens and time, and enforces its limits.
// It is pure: no clock, no I/O, no goroutine.
package budget

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// USD is an amount of money in micro-dollars (1 USD = 1,000,000). The claude CLI reports costs as
// decimal dollars. They are rounded to micro-dollars once, when they are read, and are integers
// everywhere else.
type USD int64

// Dollar is one US dollar.
const Dollar USD = 1_000_000

// FromFloat converts decimal dollars, as printed by the CLI, to the nearest micro-dollar. NaN and
// infinities become 0; a value out of range saturates.
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

// Float returns the amount in decimal dollars, for JSON that people read and for the CLI's
// --max-budget-usd.
func (u USD) Float() float64 { return float64(u) / 1e6 }

// Spent formats an amount already spent with two decimals: "$2.50". Amounts above zero and below a
// cent get four decimals, so that they do not look like zero.
func (u USD) Spent() string {
	if u > 0 && u < Dollar/100 {
		return fmt.Sprintf("$%.4f", u.Float())
	}
	return fmt.Sprintf("$%.2f", u.Float())
}

// String formats a limit without trailing zeros: "$25", "$0.05".
func (u USD) String() string {
	return "$" + strconv.FormatFloat(u.Float(), 'f', -1, 64)
}

// ParseUSD parses an amount as people write it: "25", "$25", "0.05". A negative, non-finite or
// malformed amount is an error.
func ParseUSD(s string) (USD, error) {
	t := strings.TrimPrefix(strings.TrimSpace(s), "$")
	f, err := strconv.ParseFloat(t, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 || f > 1e9 {
		return 0, fmt.Errorf("%q is not an amount in dollars; write it like 25 or 0.50", s)
	}
	return FromFloat(f), nil
}

// Raise returns the value of a flag that raises a limit by at least the amount: "+0.30", rounded up to ten cents, or
// from a dollar on to whole dollars: "+3".
func (u USD) Raise() string {
	const cents = Dollar / 10
	if u <= 9*cents {
		return fmt.Sprintf("+%.2f", ((max(u, 1) + cents - 1) / cents * cents).Float())
	}
	return fmt.Sprintf("+%d", (u-1)/Dollar+1)
}
