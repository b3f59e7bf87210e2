package remote

import (
	"context"
	"time"
)

// Engine hands attempts to workers. Its methods are called from many goroutines and may block until ctx ends. An error
// means that the engine could not be asked; the caller asks again.
type Engine interface {
	// Start starts an attempt, unless an attempt with its id was started before.
	Start(ctx context.Context, a Activity) error
	// Wait waits for the end of an attempt. The result is a message if the end is Completed.
	Wait(ctx context.Context, id string) (result []byte, end End, err error)
	// Progress returns the last message of a running attempt; nil: there is none.
	Progress(ctx context.Context, id string) ([]byte, error)
	// Cancel asks the worker of an attempt to stop it. An attempt that no worker has taken ends as Cancelled.
	Cancel(ctx context.Context, id, reason string) error
	// Workers returns the workers that have asked for attempts of a queue in the last minutes.
	Workers(ctx context.Context, queue string) ([]Worker, error)
	// Busy reports whether a worker makes an attempt of a queue, or of one whose name goes on with a dot.
	Busy(ctx context.Context, queue string) (bool, error)
}

// Activity is an attempt for an engine.
type Activity struct {
	ID      string
	Queue   string // its workers ask for attempts of this queue
	Request []byte // a message
	Limits
}

// Limits bounds the time of an attempt.
type Limits struct {
	Queue     time.Duration // until a worker has taken it
	Heartbeat time.Duration // without a sign of life from its worker
	Run       time.Duration // from then to its end
}

// End is the end of an attempt as the engine sees it.
type End string

// These are the ends of attempts.
const (
	Completed End = "completed" // the worker has told a result
	Lost      End = "lost"      // its worker was silent for a heartbeat
	NotTaken  End = "not taken" // no worker took it in time
	TimedOut  End = "timed out" // it ran for too long
	Cancelled End = "cancelled" // before a worker took it
	Refused   End = "refused"   // the worker could not read the request
	Ended     End = "ended"     // by a person, at the engine
	Gone      End = "gone"      // the engine does not know it, or no longer
)

// Worker is a worker as an engine knows it. All but Seen is the word of the worker itself.
type Worker struct {
	Name    string    `json:"name"`
	Slots   int       `json:"slots,omitempty"`   // attempts at a time; 0: unknown
	Release string    `json:"release,omitempty"` // the version of its wavex
	CLI     string    `json:"cli,omitempty"`     // the version of its agent's CLI
	Login   string    `json:"login,omitempty"`   // the kind of its agent's login
	Seen    time.Time `json:"-"`                 // when it last asked for attempts
}
