package event

import (
	"cmp"
	"time"

	"wavex/budget"
)

// Stop is a decision to start nothing more. NewStop, Partial, Trip and Interrupt make one.
type Stop struct {
	Status   RunStatus `json:"status"`
	ExitCode ExitCode  `json:"exit_code"`
	Reason   string    `json:"reason"`
	Breaker  Breaker   `json:"breaker,omitempty"` // that tripped; "": none
	Limit    string    `json:"limit,omitempty"`   // money, iterations, tokens, wall-clock
	ResumeAt time.Time `json:"resume_at,omitzero"`
	Advice   string    `json:"advice,omitempty"` // advice for the user
}

// Breaker names the condition that paused a run or stopped a task. An answer at a gate pauses the run under the gate's
// name. The end of an attempt that no counsel helps stops its task under the outcome's name, see runner.Outcome.Own.
type Breaker string

// These are the breakers. SameError and SameFile stop one task, except that SameError stops the run if
// the tasks share the error.
const (
	SameError Breaker = "same-error" // a task failed again and again with one error, or several tasks did
	SameFile  Breaker = "same-file"  // an attempt edited one file again and again, and failed
	SameUnmet Breaker = "same-unmet" // the checks of all stuck tasks stayed unmet
	MustNot   Breaker = "must-not"   // a condition holds that the plan forbids
	Blockers  Breaker = "review"     // blockers remain after the last round of review
)

// NewStop returns a stop without a breaker. If status is RunPaused, it is a pause at a limit.
func NewStop(status RunStatus, reason, advice string) *Stop {
	return &Stop{Status: status, ExitCode: exitCode(status, ""), Reason: reason, Advice: advice}
}

// Partial returns the end of a session that has completed all tasks that it was limited to, while others of the run
// wait for a later session. The exit code is that of a complete run.
func Partial(reason string) *Stop {
	return &Stop{Status: RunPaused, ExitCode: ExitComplete, Reason: reason}
}

// Trip returns the pause of a run, or the stop of a task, by a breaker.
func Trip(b Breaker, reason, advice string) *Stop {
	return &Stop{Status: RunPaused, ExitCode: exitCode(RunPaused, b), Breaker: b, Reason: reason, Advice: advice}
}

// Interrupt returns the stop after a signal. code is its exit code; 0: that of SIGINT.
func Interrupt(by string, code ExitCode) *Stop {
	return &Stop{Status: RunInterrupted, ExitCode: cmp.Or(code, exitCode(RunInterrupted, "")), Reason: "stopped by " + by}
}

// ForMoney reports whether a limit of money stops the run. s may be nil.
func (s *Stop) ForMoney() bool {
	return s != nil && (s.Limit == budget.LimitMoney || s.Limit == "wave-money") // of older journals
}

// AtLimit reports whether the run is paused at one of its limits, which a resume can raise.
func (s *Stop) AtLimit() bool { return s.ExitCode == ExitLimit }
