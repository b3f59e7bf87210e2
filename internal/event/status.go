package event

import "time"

// Status is the state of a task.
type Status string

// These are the statuses. "Ready" is not a status of its own: a task is ready if it is pending and
// all its blockers are completed.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress" // an attempt is running
	Advising   Status = "advising"    // stuck; a panel is due or running
	Verified   Status = "verified"    // done in its own tree; completed after integration
	Completed  Status = "completed"
	Failed     Status = "failed"  // no retries left
	Blocked    Status = "blocked" // a blocker failed
)

// Finished reports whether the status is final for this session.
func (s Status) Finished() bool { return s == Completed || s == Failed || s == Blocked }

// Stop is a decision to start nothing more.
type Stop struct {
	Status   string    `json:"status"` // as in RunEnded
	ExitCode int       `json:"exit_code"`
	Reason   string    `json:"reason"`
	Breaker  string    `json:"breaker,omitempty"` // name of the breaker, if one tripped
	Limit    string    `json:"limit,omitempty"`   // money, iterations, tokens, wall-clock
	ResumeAt time.Time `json:"resume_at,omitzero"`
	Advice   string    `json:"advice,omitempty"` // advice for the user
}

// Cancelled is the status of a run that was cancelled. It cannot be resumed.
const Cancelled = "cancelled"
