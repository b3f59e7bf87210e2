package rig

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"
)

// Within waits until cond holds, and reports whether it did within d, and after how long. The end
// of ctx ends the wait. On Linux the clock is scaled by the load: of each moment it counts the
// share of a processor that a thread gets, given the number of runnable threads. So d is a bound
// for an idle machine that also works on a busy one. On other systems it is the wall clock.
func Within(ctx context.Context, d time.Duration, cond func() bool) (took time.Duration, ok bool) {
	return within(ctx, d, cond, func() float64 {
		loadavg, _ := os.ReadFile("/proc/loadavg") // missing on other systems
		return cpuShare(string(loadavg), runtime.NumCPU())
	})
}

func within(ctx context.Context, d time.Duration, cond func() bool,
	share func() float64) (took time.Duration, ok bool) {
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

// cpuShare returns the share of a processor that a runnable thread gets, by the fourth field of
// /proc/loadavg. The first number of that field is that of the runnable threads, including this
// one.
func cpuShare(loadavg string, processors int) float64 {
	var runnable, threads int
	var load float64
	if _, err := fmt.Sscanf(loadavg, "%f %f %f %d/%d", &load, &load, &load, &runnable, &threads); err != nil {
		return 1
	}
	return min(1, float64(processors)/float64(max(runnable, 1)))
}
