package rig

import (
	"context"
	"crypto/md5"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Within waits until cond holds, and reports whether it did within d, and after how long. The end
// of ctx ends the wait. On Linux the clock is scaled by the load: of each moment it counts the
// share of a processor that a thread gets, given the number of runnable threads and the niceness of
// this process, and on every system less on a slow processor. So d is a bound for an idle machine
// that also works on a busy or slow one.
func Within(ctx context.Context, d time.Duration, cond func() bool) (took time.Duration, ok bool) {
	return within(ctx, d, cond, func() float64 {
		loadavg, _ := os.ReadFile("/proc/loadavg") // missing on other systems
		stat, _ := os.ReadFile("/proc/self/stat")
		return speed() * cpuShare(string(loadavg), string(stat), runtime.NumCPU())
	})
}

// speed returns the speed of a processor, as a share of that of the machine on which the bounds were set; at most 1. It
// takes the best of many measurements, because other work may interrupt some.
var speed = sync.OnceValue(func() float64 {
	const usual = 400 * time.Microsecond
	text, least := make([]byte, 256<<10), time.Hour
	for range 50 {
		began := time.Now()
		md5.Sum(text)
		least = min(least, time.Since(began))
	}
	return min(1, float64(usual)/float64(least))
})

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

// cpuShare returns the share of a processor that a runnable thread of this process gets beside threads
// that are not nice, by the fourth field of /proc/loadavg and the niceness in /proc/self/stat. The
// first number of that field is that of the runnable threads, including this one.
func cpuShare(loadavg, stat string, processors int) float64 {
	var runnable, threads int
	var load float64
	if _, err := fmt.Sscanf(loadavg, "%f %f %f %d/%d", &load, &load, &load, &runnable, &threads); err != nil {
		return 1
	}
	others := max(runnable, 1) - 1
	if others < processors {
		return 1
	}
	weight := math.Pow(1.25, -float64(max(niceness(stat), 0))) // of Linux; 1 if it is not nice
	return float64(processors) * weight / (weight + float64(others))
}

// niceness returns the 19th field of /proc/self/stat, and 0 if there is none. The second field, the name in
// parentheses, may have spaces.
func niceness(stat string) int {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 17 {
		return 0
	}
	nice, err := strconv.Atoi(fields[16])
	if err != nil {
		return 0
	}
	return nice
}
