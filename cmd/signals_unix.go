//go:build unix

package cmd

import (
	"os"
	"syscall"
)

// drainSignal asks a wavex at work to start nothing more, whatever its terminal is; the page of wavex watch sends it.
var drainSignal os.Signal = syscall.SIGUSR1
