package journal

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"wavex/internal/loop"
)

// LockOwner returns the process on this machine that holds the lock of dir, or 0. See LockHolder.
func LockOwner(dir loop.Dir) (pid int, err error) {
	h, err := LockHolder(dir)
	return h.PID, err
}

// LockHolder returns the holder of the lock of dir, on this machine, or a zero Holder. It trusts holder.json only while
// the lock is held, only on the host that the file names, and, if the system names the lock's holder, only if both
// agree.
func LockHolder(dir loop.Dir) (Holder, error) {
	var held *LockedError
	if err := CheckLock(dir); !errors.As(err, &held) {
		return Holder{}, err
	}
	h := held.Holder
	host, _ := os.Hostname() // "" if unknown, as for the holder
	switch {
	case h.PID <= 0:
		return Holder{}, fmt.Errorf("%s does not say which process holds it", dir)
	case h.Host != host:
		return Holder{}, fmt.Errorf("%s is held by process %d on %s, not on this machine", dir, h.PID, h.Host)
	}
	if pids := lockOwners(dir.Path(loop.Lock)); pids != nil && !slices.Contains(pids, h.PID) {
		return Holder{}, fmt.Errorf("%s is not held by process %d, which holder.json names", dir, h.PID)
	}
	return h, nil
}
