//go:build !linux

package gitwork

// stepHelper is only on Linux: elsewhere no test stops the calls of a run.
func stepHelper(_, _, _, _ string) int { return 2 }
