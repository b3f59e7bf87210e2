package rehearse

// This file handles session ids. The CLI refuses an id that is in use, and does not find one that
// it never saw, or that ran in another directory. The agent does the same only if SessionsVar names
// a directory to remember ids in.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"wavex/internal/proc"
	"wavex/internal/safefile"
)

// claimSession determines the session's id. The CLI prints the error's text.
func (a *agent) claimSession(lost bool) error {
	store := proc.Getenv(a.env, SessionsVar)
	if a.cmd.has("--resume") {
		id := a.cmd.value("--resume")
		missing := usageErrorf("No conversation found with session ID: %s", id)
		if lost || uuid.Validate(id) != nil {
			return missing
		}
		if store != "" {
			if dir, err := safefile.Read(filepath.Join(store, id), 1<<16); err != nil || string(dir) != a.dir {
				return missing
			}
		}
		a.session = id
		return nil
	}
	if id := a.cmd.value("--session-id"); id != "" {
		a.session = id
	}
	return a.saveSession()
}

// saveSession stores the session's id and its directory.
func (a *agent) saveSession() error {
	store := proc.Getenv(a.env, SessionsVar)
	if store == "" || a.cmd.has("--no-session-persistence") {
		return nil
	}
	if err := safefile.MkdirAll(store, 0o700); err != nil {
		return fmt.Errorf("wavex agent: remembering the session: %w", err)
	}
	f, err := safefile.OpenFile(filepath.Join(store, a.session), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return usageErrorf("Error: Session ID %s is already in use.", a.session)
	case err != nil:
		return fmt.Errorf("wavex agent: remembering the session: %w", err)
	}
	_, err = f.WriteString(a.dir)
	return errors.Join(err, f.Close())
}
