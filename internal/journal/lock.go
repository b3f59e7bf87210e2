package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
	"wavex/internal/loop"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2/maybe"
)

// Holder identifies the holder of a run lock.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Run   string    `json:"run,omitempty"`
	Since time.Time `json:"since"`
}

// LockedError means that another wavex uses the folder.
type LockedError struct {
	Dir    loop.Dir
	Holder Holder // zero if it could not be read
}

func (e *LockedError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("%s is in use by another wavex", e.Dir)
	}
	return fmt.Sprintf("%s is in use by wavex process %d on %s since %s; wait for it, or stop that process",
		e.Dir, e.Holder.PID, e.Holder.Host, e.Holder.Since.Format(time.RFC3339))
}

// Lock is the right to write in a run folder. The system releases it when the process dies, so a
// dead holder does not block others.
type Lock struct {
	f      *flock.Flock
	dir    loop.Dir
	holder Holder
}

// TryLock takes the lock of dir for h, or returns a *LockedError that names the holder.
func TryLock(dir loop.Dir, h Holder) (*Lock, error) {
	f := flock.New(dir.Path(loop.Lock))
	if err := checkRegular(f.Path()); err != nil {
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	ok, err := f.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	if !ok {
		return nil, &LockedError{Dir: dir, Holder: readHolder(dir)}
	}
	l := &Lock{f, dir, h}
	if err := l.writeHolder(); err != nil {
		_ = f.Unlock()
		return nil, err
	}
	return l, nil
}

func (l *Lock) writeHolder() error {
	b, err := json.Marshal(l.holder)
	if err == nil {
		err = maybe.WriteFile(l.dir.Path(loop.LockHolder), append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", l.dir, err)
	}
	return nil
}

// Unlock releases the lock.
func (l *Lock) Unlock() error { return l.f.Unlock() }

// Restore restores files that another process removed: it takes the lock again in a new lock file, or
// writes the holder's file again. It returns a *LockedError if another wavex took the lock first.
func (l *Lock) Restore() error {
	if l.Lost() {
		again, err := TryLock(l.dir, l.holder)
		if err != nil {
			return err
		}
		_ = l.f.Unlock() // the old file has no name any more
		l.f = again.f
		return nil
	}
	if _, err := os.Lstat(l.dir.Path(loop.LockHolder)); errors.Is(err, fs.ErrNotExist) {
		return l.writeHolder()
	}
	return nil
}

// Lost reports whether the lock's file was removed or replaced. Another wavex could then take the
// lock.
func (l *Lock) Lost() bool {
	held, err := l.f.Stat()
	if err != nil {
		return true
	}
	now, err := os.Stat(l.f.Path())
	return err != nil || !os.SameFile(held, now)
}
