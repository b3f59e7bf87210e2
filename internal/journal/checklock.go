package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"wavex/internal/loop"

	"github.com/gofrs/flock"
)

// CheckLock returns nil if the lock of dir is free, or a *LockedError that names its holder. It creates
// no file. It holds a shared lock for an instant; a TryLock in that instant is refused.
func CheckLock(dir loop.Dir) error {
	f := flock.New(dir.Path(loop.Lock))
	err := checkRegular(f.Path())
	_, serr := os.Stat(f.Path())
	missing := errors.Is(serr, fs.ErrNotExist)
	if missing {
		f = projectLock(dir)
	}
	var ok bool
	if err == nil {
		ok, err = f.TryRLock()
	}
	switch {
	case err != nil && missing:
		return nil // a project that cannot be locked
	case err != nil:
		return fmt.Errorf("looking at the lock of %s: %w", dir, err)
	case ok:
		return f.Unlock()
	}
	return &LockedError{Dir: dir, Holder: readHolder(dir)}
}

// Locked reports whether a process holds the lock of dir. If the lock cannot be read, Held returns
// false; TryLock returns the error.
func Locked(dir loop.Dir) bool {
	var held *LockedError
	return errors.As(CheckLock(dir), &held)
}
