package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"wavex/internal/journal"
	"wavex/internal/loopdir"
	"wavex/internal/secret"
	"wavex/internal/track"
	"wavex/scheduler"
)

// This file adds to the record of a run between its sessions: what a person decided, or a
// verification found.

// hold takes the lock of a .loop between sessions, for a run ("" for none).
func hold(loop, run string) (*journal.Lock, error) {
	host, _ := os.Hostname() // for people; unknown is ""
	return journal.TryLock(loop, journal.Holder{PID: os.Getpid(), Host: host, Run: run, Since: time.Now().UTC()})
}

// amendment is a run whose record is added to. The caller holds the lock of its loop.
type amendment struct {
	state  *scheduler.State
	events []scheduler.Event // all that the journal has
}

// add appends bodies that follow from each other, makes them durable, and brings state and
// files in .loop up to them.
func (a *amendment) add(std Stdio, bodies ...func() scheduler.Body) error {
	loop := a.state.Config.Loop
	log, records, err := journal.Open(filepath.Join(loop, "journal.jsonl"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	if len(records) != len(a.events) {
		return &blockedError{errors.New("another wavex has worked here just now; give the command again")}
	}
	to, secrets := eventLog{log}, secret.New(os.Environ())
	for _, body := range bodies {
		e := scheduler.Event{Seq: a.state.Seq + 1, Time: time.Now().UTC(), Body: secrets.Value(body()).(scheduler.Body)}
		if err := errors.Join(to.Append(e), a.state.Replay([]scheduler.Event{e})); err != nil {
			return err
		}
		a.events = append(a.events, e)
	}
	if err := to.Sync(); err != nil {
		return err
	}
	if err := loopdir.Rebuild(loop, secrets.Bytes, a.state, a.events); err != nil {
		fmt.Fprintln(std.Err, "wavex: warning:", err)
	}
	noted(a.state, std, a.events[len(a.events)-len(bodies):]...)
	return nil
}

// noted writes what joined a run between its sessions into its tracking directory, where
// it has one (LEDGER S3-15). The run itself does not depend on that.
func noted(s *scheduler.State, std Stdio, events ...scheduler.Event) {
	dir := s.Config.Track
	if dir == "" {
		return
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return // said when the run went on without it
	}
	for _, e := range events {
		if err := track.Record(dir, secret.New(os.Environ()).Bytes, e, s); err != nil {
			fmt.Fprintln(std.Err, "wavex: warning:", err)
			return
		}
	}
}
