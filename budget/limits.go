package budget

// This file says what the limits of a run are, and how reaching one is told.

import (
	"fmt"
	"math"
	"time"
)

// DefaultUSD is the budget of a run that names none (LEDGER S2-09).
const DefaultUSD = 25 * Dollar

// Limits bound a run. They are plain data: where one comes from (a flag, the plan,
// a default) is the caller's business. A zero USD or Iterations without its No...
// mark is a limit of zero, which admits nothing; a zero Tokens, Wall or Wave is no limit.
// Negative values count as zero.
type Limits struct {
	USD          USD           `json:"usd"` // micro-dollars
	NoUSD        bool          `json:"no_usd,omitempty"`
	Iterations   int           `json:"iterations"` // attempts
	NoIterations bool          `json:"no_iterations,omitempty"`
	Tokens       int64         `json:"tokens,omitempty"`
	Wall         time.Duration `json:"wall,omitempty"` // nanoseconds
	Wave         USD           `json:"wave,omitempty"` // micro-dollars for each single wave; 0: no limit of its own
}

func (l Limits) normal() Limits {
	l.USD = max(l.USD, 0)
	l.Iterations = max(l.Iterations, 0)
	l.Tokens = max(l.Tokens, 0)
	l.Wall = max(l.Wall, 0)
	l.Wave = max(l.Wave, 0)
	return l
}

// DefaultIterations is the limit of a run that names none: 10 for up to 3 tasks, 25
// for up to 8, 50 for up to 25, beyond that twice the number of tasks.
func DefaultIterations(tasks int) int {
	switch {
	case tasks <= 3:
		return 10
	case tasks <= 8:
		return 25
	case tasks <= 25:
		return 50
	case tasks > math.MaxInt/2:
		return math.MaxInt
	}
	return 2 * tasks
}

// The names of the limits, as LimitError has them.
const (
	LimitMoney      = "money"
	LimitIterations = "iterations"
	LimitTokens     = "tokens"
	LimitWall       = "wall-clock"
	LimitWave       = "wave-money"
)

// LimitError says which limit stops something. Its figures are micro-dollars for
// money, counts for iterations and tokens, nanoseconds for the wall clock.
type LimitError struct {
	Limit    string `json:"limit"`
	Value    int64  `json:"value"`
	Spent    int64  `json:"spent"`              // used as a fact
	Reserved int64  `json:"reserved,omitempty"` // held by what still runs
	Wanted   int64  `json:"wanted,omitempty"`   // what was asked for; 0 when nothing was
}

// Reached tells whether the facts alone reach the limit. Where they do not, what is
// Reserved may still come back, and asking again after the next end can succeed.
func (e *LimitError) Reached() bool { return e.Spent >= e.Value }

// Flag is the option that raises the limit.
func (e *LimitError) Flag() string {
	switch e.Limit {
	case LimitMoney:
		return "--budget"
	case LimitIterations:
		return "--max-iterations"
	case LimitTokens:
		return "--max-tokens"
	case LimitWave:
		return "--wave-budget"
	}
	return "--wall-clock"
}

// Error names the limit, its value, what is used of it, and the flag that raises it
// (LEDGER S2-11).
func (e *LimitError) Error() string {
	var limit, used string
	switch e.Limit {
	case LimitMoney, LimitWave:
		limit, used = "budget of "+USD(e.Value).String(), USD(e.Spent).Spent()+" spent"
		if e.Limit == LimitWave {
			limit = "wave's " + limit
		}
		if e.Reserved > 0 {
			used += ", " + USD(e.Reserved).Spent() + " reserved"
		}
	case LimitIterations:
		limit, used = fmt.Sprintf("limit of %d iterations", e.Value), fmt.Sprintf("%d made", e.Spent)
		if e.Reserved > 0 {
			used += fmt.Sprintf(", %d running", e.Reserved)
		}
	case LimitTokens:
		limit, used = fmt.Sprintf("limit of %d tokens", e.Value), fmt.Sprintf("%d used", e.Spent)
	default:
		limit = "wall-clock limit of " + time.Duration(e.Value).String()
		used = time.Duration(e.Spent).Round(time.Second).String() + " elapsed"
	}
	what := limit + " reached"
	if !e.Reached() {
		what = limit + " has no room"
		if (e.Limit == LimitMoney || e.Limit == LimitWave) && e.Wanted > 0 {
			what += " for " + USD(e.Wanted).String()
		}
	}
	return fmt.Sprintf("%s (%s); raise it with %s", what, used, e.Flag())
}
