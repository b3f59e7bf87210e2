package cmd

import "golang.org/x/sys/unix"

// The requests that read and set the modes of a terminal; the second waits for output that is on its way.
const getModes, setModes = unix.TIOCGETA, unix.TIOCSETAW
