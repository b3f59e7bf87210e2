//go:build unix && !linux

package proc

// There is no limit that marks a process.
func unlimit() {}
