//go:build unix && !linux

package proc

func inCgroup(string) int { return 96 } // there are no control groups
