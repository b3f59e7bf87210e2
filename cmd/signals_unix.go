//go:build unix

package cmd

import (
	"os"
	"syscall"
)

// drainSignal asks a wavex at work to start nothing more, whatever its terminal is; wavex watch sends it.
var drainSignal os.Signal = syscall.SIGUSR1
