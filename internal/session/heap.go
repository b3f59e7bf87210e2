package session

import (
	"os"
	"runtime/debug"
)

// smallPlan is how many tasks make so small a heap that five times of it are no matter.
const smallPlan = 10_000

// lazyGC lets the heap of a small run grow to five times what lives before it is
// collected: the processor belongs to the tasks. GOGC, when given, is obeyed. The
// returned function undoes it.
func lazyGC(tasks int) func() {
	if os.Getenv("GOGC") != "" || tasks > smallPlan {
		return func() {}
	}
	old := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(old) }
}
