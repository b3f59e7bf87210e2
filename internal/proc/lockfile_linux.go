package proc

import (
	"os"

	"golang.org/x/sys/unix"

	"wavex/internal/safefile"
)

// lockFile opens and locks a file. The lock lasts until the last process that inherited the file
// has ended or closed it. It returns nil if the lock is not available at once.
func lockFile(path string) *os.File {
	// Without O_NONBLOCK a named pipe in the file's place would block.
	f, err := safefile.OpenFile(path, os.O_RDONLY|os.O_CREATE|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		_ = f.Close()
		return nil
	}
	return f
}
