//go:build unix && !linux

package proc

// There are no control groups.
func inCgroup(string) int { return 96 }
