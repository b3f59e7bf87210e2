package run

import (
	"os"
	"runtime/debug"
)

// maxRelaxedTasks is the number of tasks up to which a heap of five times its live size does not matter.
const maxRelaxedTasks = 10_000

// relaxGC lets the heap of a small run grow to five times its live size between collections, to
// leave the processor to the tasks. It does nothing if GOGC is set. The returned function restores
// the old setting.
func relaxGC(tasks int) func() {
	if os.Getenv("GOGC") != "" || tasks > maxRelaxedTasks {
		return func() {}
	}
	old := debug.SetGCPercent(400)
	return func() { debug.SetGCPercent(old) }
}
