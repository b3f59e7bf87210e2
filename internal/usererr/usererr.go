// Package usererr defines the errors with which wavex refuses a call: a mistake in the call, or an
// obstacle that a person must remove first. A refused call has changed nothing. The command line maps
// each error to its exit code.
package usererr

import (
	"fmt"

	"wavex/internal/proc"
)

// UsageError is a mistake in the call of wavex.
type UsageError struct{ Text string }

func (e *UsageError) Error() string { return e.Text }

// Usage returns a UsageError.
func Usage(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// BlockedError is an obstacle outside wavex that a person must remove.
type BlockedError struct{ Err error }

func (e *BlockedError) Error() string { return e.Err.Error() }
func (e *BlockedError) Unwrap() error { return e.Err }

// Blocked returns a BlockedError.
func Blocked(err error) error { return &BlockedError{err} }

// Input returns an error about a file that wavex was given: a BlockedError if a limit of the machine
// kept wavex from reading it, else a UsageError.
func Input(err error) error {
	if _, limited := proc.LimitOf(err); limited {
		return Blocked(err)
	}
	return Usage("%s", err)
}
