// Package ui shows a run to people and to programs: timestamped lines for pipes and CI logs, a live
// view for a terminal, NDJSON, and messages to webhooks. It reads events and the states that follow them. It decides
// nothing and stores nothing on disk; all its output can be produced again from the journal.
package ui

import (
	"cmp"
	"time"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/runner"
	"wavex/scheduler"
)

// View shows a run. A failing view (a closed pipe, a slow reader) never stops the run: it stops
// writing, and Close returns the error.
type View interface {
	// Event is called by the scheduler's goroutine, once per event and in order, after the event is
	// on disk and applied. s is only read during the call. Event does not wait for the output to be
	// read.
	Event(e event.Event, s *scheduler.State)
	// Observe may be called from any goroutine, also at the same time as Event. It never blocks.
	Observe(o runner.Observation)
	// Close waits until everything is written, ends the view's goroutines and returns the first
	// write error. Later calls of any method do nothing.
	Close() error
}

// Options sets the look of a view. The zero value suits a log file.
type Options struct {
	Now         func() time.Time // nil: time.Now
	Width       func() int       // columns of the terminal, asked for each frame; nil or below 1: 80
	Height      func() int       // rows of the terminal; nil or below 1: 24
	Color       bool             // see Color
	ASCII       bool             // wavex itself writes only ASCII
	Interactive bool             // Plain: a person answers questions here, so a question must be the last line

	// NextLater leaves report.Summary.Next out of the end: the caller prints it.
	NextLater bool
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now().UTC()
	}
	return o.Now().UTC()
}

// ending returns the lines after the end of a run.
func (o Options) ending(s *scheduler.State) string {
	sum := report.Of(s, nil)
	if o.NextLater {
		sum.Plan = ""
	}
	return sum.Ending()
}

func (o Options) width() int  { return sizeOr(o.Width, 80) }
func (o Options) height() int { return sizeOr(o.Height, 24) }

func sizeOr(size func() int, otherwise int) int {
	if size == nil {
		return otherwise
	}
	return cmp.Or(max(size(), 0), otherwise)
}

// Color reports whether to use colours: only on a terminal that understands them, and not if the
// user set NO_COLOR to anything (https://no-color.org).
func Color(tty bool, getenv func(string) string) bool {
	return Live(tty, getenv) && getenv("NO_COLOR") == ""
}

// Live reports whether the output can be redrawn: a terminal that is not dumb.
func Live(tty bool, getenv func(string) string) bool {
	return tty && getenv("TERM") != "dumb"
}
