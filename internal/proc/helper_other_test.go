//go:build unix && !linux

package proc

// There are no control groups, and no limit that marks a process.
func inCgroup(string) int { return 96 }

func unlimit() {}
