//go:build unix

package wary

import "golang.org/x/sys/unix"

// atOnce opens a named pipe without waiting for somebody who writes to it. To a regular file
// it means nothing.
const atOnce = unix.O_NONBLOCK

// noLink opens nothing that a link leads to.
const noLink = unix.O_NOFOLLOW
