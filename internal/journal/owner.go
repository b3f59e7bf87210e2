package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Owner gives the process that holds the lock of dir, on this machine: 0 when nobody
// does. What holder.json says is believed only while the lock is held, on the host that
// it names, and where the system tells who holds a lock only when it says the same.
func Owner(dir string) (pid int, err error) {
	var held *LockedError
	if err := Free(dir); !errors.As(err, &held) {
		return 0, err
	}
	h := held.Holder
	host, _ := os.Hostname() // unknown is "", as it is for the holder
	switch {
	case h.PID <= 0:
		return 0, fmt.Errorf("%s does not say which process holds it", dir)
	case h.Host != host:
		return 0, fmt.Errorf("%s is held by process %d on %s, not on this machine", dir, h.PID, h.Host)
	}
	if holds, known := locks(filepath.Join(dir, "lock"), h.PID); known && !holds {
		return 0, fmt.Errorf("%s is not held by process %d, which holder.json names", dir, h.PID)
	}
	return h.PID, nil
}
