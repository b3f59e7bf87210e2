package cmd

// This file chooses how many attempts and spare processes run at once by default.

// defaultParallel returns 4, or less if memory does not suffice: a CLI process takes about 200 MB
// (observed on claude 2.1.197), a tool's command as much again.
func defaultParallel(agent string) int {
	const want = 4
	free := freeMemory()
	if agent != "claude" || free <= 0 {
		return want
	}
	return int(min(want, max(1, free/memoryPerAttempt)))
}

// memoryPerAttempt is the memory that one attempt is assumed to need, in bytes.
const memoryPerAttempt = 400 << 20

// spareCount returns how many processes may be started ahead of their attempts: at most 2, fewer if
// memory does not hold them beside parallel attempts, and none in rehearsals.
func spareCount(agent string, parallel int) int {
	const want = 2
	free := freeMemory()
	switch {
	case agent != "claude":
		return 0
	case free <= 0:
		return want
	}
	return int(min(want, max(0, free/memoryPerAttempt-int64(parallel))))
}
