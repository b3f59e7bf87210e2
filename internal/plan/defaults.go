package plan

import (
	"math"
	"time"

	"wavex/budget"
)

// These values count where neither a plan nor a setting gives one. event.DefaultConfig makes the configuration of a run
// of them.
const (
	DefaultUSD         = 25 * budget.Dollar    // budget of a run, in micro-dollars
	DefaultCost        = 4 * budget.Dollar / 5 // of a task of which nothing is known, in micro-dollars
	DefaultParallel    = 4                     // attempts at a time, fewer if memory is short
	DefaultMaxRetries  = 3                     // after the first attempt of a task
	DefaultThreshold   = 1                     // stuckCount that convenes a panel
	DefaultRounds      = 3                     // thorough reviews of a session
	DefaultMaxItems    = 100                   // of a list
	DefaultTimeout     = 30 * time.Minute      // of an agent's turn
	DefaultIdleTimeout = 10 * time.Minute      // without output of the agent
	DefaultTimeLimit   = 10 * time.Minute      // of a check
	DefaultAskTimeout  = 5 * time.Minute       // for the answer to a question about a tool call
	DefaultRepeat      = 5                     // equal tool calls in a row, after which the next is denied

	// Equal errors of three tasks, unmet criteria in rounds, and edits of one file in a failed attempt trip a breaker.
	DefaultSameError, DefaultSameUnmet, DefaultSameFile = 3, 5, 5
)

// DefaultDeny returns the commands that no agent may run unless a plan says so.
func DefaultDeny() []string { return []string{"git push", "git clean -fdx", "rm -rf /", "rm -rf /*"} }

// DefaultIterations returns the limit of attempts of a run: 10 for up to 3 tasks, 25 for up to 8, 50 for up to 25,
// beyond that twice the number of tasks.
func DefaultIterations(tasks int) int {
	switch {
	case tasks <= 3:
		return 10
	case tasks <= 8:
		return 25
	case tasks > math.MaxInt/2:
		return math.MaxInt
	}
	return max(50, 2*tasks)
}
