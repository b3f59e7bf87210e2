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
	path := dir.Path(loop.Lock)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f := flock.New(path)
	err := checkRegular(path)
	ok := false
	if err == nil {
		ok, err = f.TryRLock()
	}
	if err != nil {
		return fmt.Errorf("looking at the lock of %s: %w", dir, err)
	}
	if ok {
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
