package budget

// This file defines the limits of a run and the error for a limit that is reached.

import (
	"fmt"
	"time"
)

// Limits holds the limits of a run. Callers take them from a flag, the plan or a default. A USD or
// Iterations of zero is a limit of zero, which admits nothing, unless NoUSD or NoIterations is set.
// A zero Tokens or Wall means no limit. Negative values count as zero.
type Limits struct {
	USD          USD           `json:"usd"` // micro-dollars
	NoUSD        bool          `json:"no_usd,omitempty"`
	Iterations   int           `json:"iterations"` // attempts
	NoIterations bool          `json:"no_iterations,omitempty"`
	Tokens       int64         `json:"tokens,omitempty"`
	Wall         time.Duration `json:"wall,omitempty"` // nanoseconds
}

func (l Limits) normal() Limits {
	l.USD = max(l.USD, 0)
	l.Iterations = max(l.Iterations, 0)
	l.Tokens = max(l.Tokens, 0)
	l.Wall = max(l.Wall, 0)
	return l
}

// These are the values of LimitError.Limit.
const (
	LimitMoney      = "money"
	LimitIterations = "iterations"
	LimitTokens     = "tokens"
	LimitWall       = "wall-clock"
)

// LimitError says which limit stops the caller. Its amounts are micro-dollars for money, counts for
// iterations and tokens, nanoseconds for the wall clock.
type LimitError struct {
	Limit    string `json:"limit"`
	Value    int64  `json:"value"`
	Spent    int64  `json:"spent"`              // actual use
	Reserved int64  `json:"reserved,omitempty"` // reserved by running work
	Wanted   int64  `json:"wanted,omitempty"`   // the requested amount; 0 if there was no request
}

// Reached reports whether actual use has reached the limit. If not, running work may still release
// its reservation, and the same request can succeed later.
func (e *LimitError) Reached() bool { return e.Spent >= e.Value }

// Flag returns the flag that raises the limit.
func (e *LimitError) Flag() string {
	switch e.Limit {
	case LimitMoney:
		return "--budget"
	case LimitIterations:
		return "--max-iterations"
	case LimitTokens:
		return "--max-tokens"
	}
	return "--wall-clock"
}

// Error names the limit, its value, the amount used, and the flag that raises it.
func (e *LimitError) Error() string {
	var limit, used string
	switch e.Limit {
	case LimitMoney:
		limit, used = "budget of "+USD(e.Value).String(), USD(e.Spent).Spent()+" spent"
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
		if e.Limit == LimitMoney && e.Wanted > 0 {
			what += " for " + USD(e.Wanted).String()
		}
	}
	return fmt.Sprintf("%s (%s); raise it with %s", what, used, e.Flag())
}
