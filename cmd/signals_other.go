//go:build !unix

package cmd

import "os"

// drainSignal is not there.
var drainSignal os.Signal
