package runlog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"wavex/internal/event"
	"wavex/internal/notes"
	"wavex/internal/secret"
	"wavex/internal/statefiles"
	"wavex/internal/usererr"
	"wavex/scheduler"
)

// This file adds records to a run between its sessions: a person's decisions, or the results of a
// verification.

// Appender is a run to which records are added. The caller must hold the lock of its loop.
type Appender struct {
	State  *scheduler.State
	Events []event.Event // all events of the journal
}

// Append appends the bodies in order, each made from the state that the one before led to, and makes
// them durable. Then it updates the state and the files in .loop. It writes a warning to warn for
// each file that it cannot update.
func (a *Appender) Append(warn io.Writer, bodies ...func() event.Body) error {
	dir := a.State.Config.Loop
	to := &Journal{}
	defer to.Close()
	now, err := to.open(dir)
	if err != nil {
		return err
	}
	if len(now) != len(a.Events) {
		return usererr.Blocked(errors.New("another wavex has worked here just now; give the command again"))
	}
	secrets := secret.New(os.Environ())
	for _, body := range bodies {
		e := event.Event{Seq: a.State.Seq + 1, Time: time.Now().UTC(), Body: event.Redact(body(), secrets.Value)}
		if err := errors.Join(to.Append(e), a.State.Replay([]event.Event{e})); err != nil {
			return err
		}
		a.Events = append(a.Events, e)
	}
	if err := to.Sync(); err != nil {
		return err
	}
	if err := statefiles.Rebuild(dir, secrets.Bytes, a.State); err != nil {
		fmt.Fprintln(warn, "wavex: warning:", err)
	}
	a.writeNotes(warn, a.Events[len(a.Events)-len(bodies):])
	return nil
}

// writeNotes writes the tasks that joined a run between its sessions into its tracking directory, if it
// has one. The run itself does not depend on that.
func (a *Appender) writeNotes(warn io.Writer, events []event.Event) {
	dir := a.State.Config.Track
	if dir == "" {
		return
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return // the run itself has reported it
	}
	for _, e := range events {
		if err := notes.WriteEvent(dir, secret.New(os.Environ()).Bytes, e, a.State); err != nil {
			fmt.Fprintln(warn, "wavex: warning:", err)
			return
		}
	}
}

// Rebuild writes the files in .loop of the last run again. It refuses a run under way, which writes
// them itself.
func Rebuild(s *scheduler.State, events []event.Event) error {
	dir := s.Config.Loop
	lock, err := Lock(dir, s.Config.Run)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	switch now, err := Read(dir); {
	case err != nil:
		return err
	case len(now) != len(events):
		return fmt.Errorf("the files in %s are of the last run, and that is another one by now", dir)
	}
	return statefiles.Rebuild(dir, secret.New(os.Environ()).Bytes, s)
}
