package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Free tells whether TryLock of dir would be given now: nil, or a *LockedError that
// names the holder. It makes no file. It holds a shared lock for an instant, so a
// TryLock in that instant is refused.
func Free(dir string) error {
	path := filepath.Join(dir, "lock")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	f := flock.New(path)
	err := plain(path)
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
	return &LockedError{Dir: dir, Holder: holderOf(dir)}
}

// Held tells whether somebody holds the lock of dir, as far as can be seen: a lock that
// cannot be looked at is nobody's, and who tries to take it is told why he cannot.
func Held(dir string) bool {
	var held *LockedError
	return errors.As(Free(dir), &held)
}
