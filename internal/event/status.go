package event

// Status is the state of a task.
type Status string

// These are the statuses. "Ready" is not a status of its own: a task is ready if it is pending and
// all its blockers are completed.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress" // an attempt is running
	Advising   Status = "advising"    // stuck; a panel is due or running
	Verified   Status = "verified"    // done in its own tree, or beside others; completed after integration
	Completed  Status = "completed"
	Failed     Status = "failed"  // no retries left, or stopped by a breaker of the task
	Blocked    Status = "blocked" // a blocker failed
)

// Finished reports whether the status is final for this session.
func (s Status) Finished() bool { return s == Completed || s == Failed || s == Blocked }

// RunStatus is the state in which a session leaves its run.
type RunStatus string

// These are the statuses of a run. A cancelled run cannot be resumed.
const (
	RunComplete    RunStatus = "complete"
	RunFailed      RunStatus = "failed"  // a task failed, or the gate refused
	RunPaused      RunStatus = "paused"  // at a limit, by a breaker, or by an answer at a gate
	RunBlocked     RunStatus = "blocked" // a person must act
	RunLimited     RunStatus = "limited" // until a usage limit resets, or the API accepts requests
	RunInterrupted RunStatus = "interrupted"
	RunCancelled   RunStatus = "cancelled"

	// Views say these of a run whose end is not on record.
	RunRunning RunStatus = "running"
	RunCutOff  RunStatus = "cut off" // its wavex was killed
)

// ExitCode is the exit code of the process of a session. docs/exit-codes.md explains each.
type ExitCode int

// These are the exit codes of a run. An interrupted run ends with 128 and the number of its signal.
const (
	ExitComplete ExitCode = 0   // or all that was asked for is done, see Partial
	ExitFailed   ExitCode = 1   // finished, but some task failed or a gate refused
	ExitLimit    ExitCode = 3   // paused at a limit
	ExitBreaker  ExitCode = 4   // paused by a breaker or a mustNot
	ExitBlocked  ExitCode = 5   // a person must act
	ExitReset    ExitCode = 6   // paused until a usage limit resets
	ExitSIGINT   ExitCode = 130 // interrupted
)

// exitCode returns the exit code of a run with a status, after a breaker tripped; "": none did.
func exitCode(s RunStatus, b Breaker) ExitCode {
	switch s {
	case RunComplete:
		return ExitComplete
	case RunPaused:
		switch b {
		case "":
			return ExitLimit
		case Breaker(GateG2), Breaker(GateG3), Breaker(GateRetry):
			return ExitFailed
		}
		return ExitBreaker
	case RunBlocked:
		return ExitBlocked
	case RunLimited:
		return ExitReset
	case RunInterrupted:
		return ExitSIGINT
	}
	return ExitFailed
}
