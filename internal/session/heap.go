package session

import (
	"os"
	"runtime/debug"
)

// smallPlan is the number of tasks up to which a heap of five times its live size does not matter.
const smallPlan = 10_000

// lazyGC lets the heap of a small run grow to five times its live size between collections, to
// leave the processor to the tasks. It does nothing if GOGC is set. The returned function restores
// the old setting.
func lazyGC(tasks int) func() {
	if os.Getenv("GOGC") != "" || tasks > smallPlan {
		return func() {}
	}
	old := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(old) }
}
