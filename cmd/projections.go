package cmd

import (
	"fmt"
	"os"

	"wavex/internal/loopdir"
	"wavex/internal/secret"
	"wavex/scheduler"
)

// This file drives the projections in .loop: while a run goes on, and again from its
// journal.

// projections starts to keep the files up to date. That they cannot be written is a
// warning; the run has its journal.
func (r *session) projections() *loopdir.Writer {
	return loopdir.NewWriter(r.config.Loop, r.secrets.Bytes, func(err error) {
		fmt.Fprintln(r.std.Err, "wavex: warning: the files in .loop are behind the journal; `wavex status --rebuild` writes them again:", err)
	})
}

// rebuild writes the projections of the last run again. A run under way is refused: it
// writes them itself.
func rebuild(s *scheduler.State, events []scheduler.Event) error {
	loop := s.Config.Loop
	lock, err := hold(loop, s.Config.Run)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	switch now, err := readEvents(loop); {
	case err != nil:
		return err
	case len(now) != len(events):
		return fmt.Errorf("the files in %s are of the last run, and that is another one by now", loop)
	}
	return loopdir.Rebuild(loop, secret.New(os.Environ()).Bytes, s, events)
}
