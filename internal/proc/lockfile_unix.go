//go:build unix

package proc

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"wavex/internal/safefile"
)

// lockFile opens and locks a file. The lock lasts until the last process that inherited the file
// has ended or closed it. It returns nil if the lock is not available within a second; another process may hold it for
// an instant.
func lockFile(path string) *os.File {
	// Without O_NONBLOCK a named pipe in the file's place would block.
	f, err := safefile.OpenFile(path, os.O_RDONLY|os.O_CREATE|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case err == nil:
			return f
		case err != unix.EWOULDBLOCK || time.Since(began) > time.Second:
			_ = f.Close()
			return nil
		}
	}
}
