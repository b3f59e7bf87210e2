//go:build unix

package safefile

import "golang.org/x/sys/unix"

// nonBlocking opens a named pipe without waiting for a writer. It has no effect on a regular file.
const nonBlocking = unix.O_NONBLOCK

// noFollow refuses to open a symbolic link.
const noFollow = unix.O_NOFOLLOW
