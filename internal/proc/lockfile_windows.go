package proc

import "os"

// lockFile returns nil: on Windows there is no watchdog.
func lockFile(string) *os.File { return nil }
