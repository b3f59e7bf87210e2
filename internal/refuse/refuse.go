// Package refuse has the ways in which wavex refuses to do what it was asked: a mistake in
// the call, a mistake in the plan, something that a person has to put right first. What is
// refused has left nothing behind. Which exit code each of them has is the command line's
// business.
package refuse

import (
	"fmt"
	"strings"

	"wavex/internal/plan"
)

// UsageError is a mistake in how wavex was called.
type UsageError struct{ Text string }

func (e *UsageError) Error() string { return e.Text }

// Usage makes a UsageError.
func Usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// BlockedError is something that a person has to put right outside of wavex.
type BlockedError struct{ Err error }

func (e *BlockedError) Error() string { return e.Err.Error() }
func (e *BlockedError) Unwrap() error { return e.Err }

// Blocked makes a BlockedError.
func Blocked(err error) error { return &BlockedError{err} }

// PlanError carries a plan's mistakes.
type PlanError struct{ Diags []plan.Diagnostic }

// Plan makes a PlanError of all that was found in a plan, warnings among it.
func Plan(diags []plan.Diagnostic) error { return &PlanError{diags} }

func (e *PlanError) Error() string {
	var b strings.Builder
	errs := 0
	for _, d := range e.Diags {
		fmt.Fprintln(&b, d.String())
		if d.Severity == plan.SeverityError {
			errs++
		}
	}
	what := "mistakes"
	if errs == 1 {
		what = "mistake"
	}
	fmt.Fprintf(&b, "the plan has %d %s; nothing was started", errs, what)
	return b.String()
}
