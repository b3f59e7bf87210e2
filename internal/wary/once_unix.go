//go:build unix

package wary

import "golang.org/x/sys/unix"

// atOnce opens a named pipe without waiting for a writer. It has no effect on a regular file.
const atOnce = unix.O_NONBLOCK

// noLink refuses to open a symbolic link.
const noLink = unix.O_NOFOLLOW
