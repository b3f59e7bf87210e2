package rig

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"
)

// Within waits until cond holds, and reports whether it did within d, and after how long; ctx ends what hangs. The
// clock is that of a machine with nothing else to do: of each moment the part counts that a thread gets of a
// processor, given how many are runnable. So d is a bound that holds on an idle machine and on a busy one alike.
// Where the system does not tell (Linux does), it is the clock on the wall.
func Within(ctx context.Context, d time.Duration, cond func() bool) (took time.Duration, ok bool) {
	return within(ctx, d, cond, func() float64 {
		loadavg, _ := os.ReadFile("/proc/loadavg") // elsewhere there is none
		return share(string(loadavg), runtime.NumCPU())
	})
}

func within(ctx context.Context, d time.Duration, cond func() bool, share func() float64) (took time.Duration, ok bool) {
	var weighed float64
	began := time.Now()
	Until(ctx, func() bool {
		now := time.Now()
		weighed += float64(now.Sub(began)) * share()
		began, took = now, time.Duration(weighed)
		ok = cond()
		return ok || took > d
	})
	return took, ok && took <= d
}

// share returns which part of a processor a runnable thread gets, by the fourth field of /proc/loadavg; its first
// number counts the runnable threads, this one included.
func share(loadavg string, processors int) float64 {
	var runnable, threads int
	var load float64
	if _, err := fmt.Sscanf(loadavg, "%f %f %f %d/%d", &load, &load, &load, &runnable, &threads); err != nil {
		return 1
	}
	return min(1, float64(processors)/float64(max(runnable, 1)))
}
