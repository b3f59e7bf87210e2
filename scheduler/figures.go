package scheduler

import (
	"slices"
	"time"

	"wavex/dag"
	"wavex/internal/event"
	"wavex/internal/plan"
)

// This file has the figures that all views of a run show. They are part of the state, so that no view computes them
// from events.

// figures is the part of the state that only views need.
type figures struct {
	Begun        event.Beginning      // of the last session
	LastDelivery *event.DeliveryEnded // of the run; nil: none
	Integrated   string               // commit of the integrated work; "": none

	tallies    []Tally // by wave; 0: of the whole plan
	activities []event.Activity
	efforts    Efforts
	sessions   []Session
	errors     []FailedAttempt // the oldest first
	lastEvent  time.Time
	endedAt    time.Time
	delivering bool // a delivery of the session has begun
}

// NewMeter returns a state without a plan. It follows the money, the time and the iterations of any run whose events
// it replays, for views of runs whose plans are not known.
func NewMeter() *State {
	return NewState(&plan.Plan{Graph: dag.NewBuilder(0).Build(0)})
}

// Tally counts tasks, or items of a group, by their status. One that waits is in All only.
type Tally struct {
	All, Completed, Verified, Failed, Blocked int
	Running                                   int // running attempts and panels
}

// Unfinished returns the number of tasks that are not settled.
func (c Tally) Unfinished() int { return c.All - c.Completed - c.Failed - c.Blocked }

// Tally returns the tally of a wave, or of the whole plan for wave 0.
func (s *State) Tally(wave int) Tally { return s.Figures.tallies[wave] }

// Running returns the number of running attempts and panels.
func (s *State) Running() int { return s.Figures.tallies[0].Running }

// tally adds n tasks of a wave to the count of a status.
func (f *figures) tally(wave int, st event.Status, n int) {
	for _, c := range [...]*Tally{&f.tallies[0], &f.tallies[wave]} {
		if st != event.InProgress { // tallyRunning counts these
			c.count(st, n)
		}
	}
}

// count adds n to the count of a status.
func (c *Tally) count(st event.Status, n int) {
	switch st {
	case event.Completed:
		c.Completed += n
	case event.Verified:
		c.Verified += n
	case event.Failed:
		c.Failed += n
	case event.Blocked:
		c.Blocked += n
	case event.InProgress:
		c.Running += n
	}
}

// tallyRunning counts n attempts or panels that start in a wave.
func (f *figures) tallyRunning(wave, n int) {
	f.tallies[0].Running += n
	f.tallies[wave].Running += n
}

// CurrentWave returns the open wave. Before the first wave of a session, and after tasks were added, it is the first
// wave with tasks that are not settled, or the last wave if there is none.
func (s *State) CurrentWave() int {
	if s.Wave > 0 {
		return s.Wave
	}
	for w := 1; w < s.Waves; w++ {
		if s.Left(w) > 0 {
			return w
		}
	}
	return s.Waves
}

// Session is the time of one session of a run.
type Session struct {
	Start time.Time
	End   time.Time // zero: it has no end on record
}

// Sessions returns the sessions of the run, in order. A session that was cut off ends with its last event.
func (s *State) Sessions() []Session { return slices.Clone(s.Figures.sessions) }

// WorkTime returns the time of all sessions together. A session without an end on record lasts until now, which is the
// current time if a process works on the run, or else the zero time for the last event.
func (s *State) WorkTime(now time.Time) (sum time.Duration) {
	if now.Before(s.Figures.lastEvent) {
		now = s.Figures.lastEvent
	}
	for _, x := range s.Figures.sessions {
		if x.End.IsZero() {
			x.End = now
		}
		sum += x.End.Sub(x.Start)
	}
	return sum
}

// EndedAt returns the time of the last record of an end; zero while a session has none. A run that is cancelled or
// rolled back between sessions ends then.
func (s *State) EndedAt() time.Time { return s.Figures.endedAt }

// LastEvent returns the time of the last event.
func (s *State) LastEvent() time.Time { return s.Figures.lastEvent }

// trackSession updates the sessions. It returns the time of the event before, for events that belong to no session.
func (f *figures) trackSession(e event.Event) (before time.Time) {
	end := func(at time.Time) {
		if n := len(f.sessions); n > 0 && f.sessions[n-1].End.IsZero() {
			f.sessions[n-1].End = at
		}
	}
	if b := e.Beginning(); b != nil {
		if end(f.lastEvent); !b.Resumed {
			*f = figures{}
		}
		f.Begun, f.delivering, f.endedAt = *b, false, time.Time{}
		f.sessions = append(f.sessions, Session{Start: e.Time})
	} else if b := e.End(); b != nil {
		if f.endedAt = e.Time; b.Status != event.RunCancelled {
			end(e.Time)
		}
		end(f.lastEvent) // another command cancels, perhaps long after the session was cut off
	}
	before, f.lastEvent = f.lastEvent, e.Time
	return before
}

// FailedAttempt is an attempt that ended with an error.
type FailedAttempt struct {
	Time time.Time
	event.AttemptEnded
}

// maxErrors bounds the errors that a state keeps.
const maxErrors = 50

// Errors returns the last attempts of the run that ended with an error, the oldest first. The caller must not modify
// the slice.
func (s *State) Errors() []FailedAttempt { return s.Figures.errors }

// Activities returns the work that has begun and not ended, in the order of its start. It knows no signs of life.
func (s *State) Activities() []event.Activity {
	out := slices.Clone(s.Figures.activities)
	for k := range out {
		if i, ok := s.index[out[k].Task]; ok {
			out[k].Subject = s.Plan.Tasks[i].ActiveTitle()
		}
	}
	return out
}

// trackWork updates the activities and the efforts.
func (f *figures) trackWork(e event.Event) {
	if e.Beginning() != nil || e.End() != nil {
		f.activities = nil
	}
	if w := e.Starts(); w.Kind != "" && w.Kind != event.Precheck {
		f.startActivity(w, e.Time)
	}
	if w := e.Ends(); w.Kind != "" {
		f.addEffort(w, e.Time)
		f.activities = slices.DeleteFunc(f.activities, func(a event.Activity) bool {
			return a.Kind == w.Kind && a.Task == w.Task
		})
	}
}

func (f *figures) startActivity(w event.Work, at time.Time) {
	f.activities = append(f.activities, event.Activity{Task: w.Task, Kind: w.Kind, Attempt: w.N, Since: at})
}
