//go:build unix && !linux

package proc

// There is no limit that marks a process.
func unlimit() {}

// The limits are reached on Linux only.
func reachLimit(string, string) int { return 98 }
