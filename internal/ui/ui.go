// Package ui shows a run to people and to programs: timestamped lines for pipes and
// CI logs, a live view for a terminal, and NDJSON. It reads events and the state
// they led to; it decides nothing, keeps nothing on disk, and what it shows can be
// shown again from the journal.
package ui

import (
	"time"

	"wavex/runner"
	"wavex/scheduler"
)

// View shows a run. A failing view (a closed pipe, a slow reader) never stops the
// run: it falls silent and Close says why.
type View interface {
	// Event is called by the scheduler's goroutine, once per event and in order,
	// after the event is on disk and applied. s is only read during the call. It
	// does not wait for the output to be taken.
	Event(e scheduler.Event, s *scheduler.State)
	// Observe is called by any goroutine, also at the same time as Event. It never
	// blocks.
	Observe(o runner.Observation)
	// Close waits until everything is written, ends the view's goroutines and
	// returns the first write error. Later calls of any method do nothing.
	Close() error
}

// Options are how a view looks. The zero value is fit for a log file.
type Options struct {
	Now    func() time.Time // nil: time.Now
	Width  func() int       // columns of the terminal, asked for each frame; nil or below 1: 80
	Height func() int       // rows of the terminal; nil or below 1: 24
	Color  bool             // see Color
	ASCII  bool             // no character beyond ASCII of our own
	Status bool             // Plain: the status block after each iteration (LEDGER S2-34)
	Asks   bool             // Plain: questions are put to a person here, as the last thing that stands there

	// Shape and Workflow fill the first announcement (LEDGER S2-31) where somebody
	// has scored the request: "Tool (9/10)" and "A", "B" or "C".
	Shape    string
	Workflow string
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now().UTC()
	}
	return o.Now().UTC()
}

func (o Options) width() int {
	if o.Width != nil {
		if w := o.Width(); w > 0 {
			return w
		}
	}
	return 80
}

func (o Options) height() int {
	if o.Height != nil {
		if h := o.Height(); h > 0 {
			return h
		}
	}
	return 24
}

// Color tells whether to use colours: only on a terminal that understands them, and
// not when the user set NO_COLOR to anything (https://no-color.org).
func Color(tty bool, getenv func(string) string) bool {
	return Live(tty, getenv) && getenv("NO_COLOR") == ""
}

// Live tells whether the output can be redrawn: a terminal, and not a dumb one.
func Live(tty bool, getenv func(string) string) bool {
	return tty && getenv("TERM") != "dumb"
}
