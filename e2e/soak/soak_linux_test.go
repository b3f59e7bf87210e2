package soak

// This file runs the plans of seeds, one after the other or side by side, and prints the table.

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "wavex/cmd" // go test must not serve a cached result when only wavex itself changed
	"wavex/e2e/rig"
	"wavex/internal/testrepo"
)

var (
	duration = flag.Duration("for", 0, "how long plans are started; 0: the few plans of the ordinary tests")
	seedFlag = flag.Uint64("seed", 0, "the first seed; 0: by the time")
	count    = flag.Int64("n", 0, "how many plans; 0: no limit")
	beside   = flag.Int("j", 4, "plans side by side")
)

// shared is set by TestMain before any test runs and is read-only afterwards.
var shared struct {
	wavex  string // the executable
	mounts bool   // the process is in a private mount namespace
}

func TestMain(m *testing.M) {
	if rig.OnlyLists() {
		os.Exit(m.Run())
	}
	// Children of a soak that was started with nohup must not ignore SIGHUP.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	rig.MainWithMounts("soak", func(wavex string, mounts bool) int {
		shared.wavex, shared.mounts = wavex, mounts
		return rig.Run(m, "soak", *beside)
	})
}

// ordinarySeed and ordinaryPlans are the seeds of the ordinary tests, which take about five seconds.
const (
	ordinarySeed  = 1
	ordinaryPlans = 8
)

func TestSoak(t *testing.T) {
	first, plans, long := *seedFlag, *count, *duration != 0 || *seedFlag != 0
	switch {
	case !long:
		first, plans = ordinarySeed, ordinaryPlans
	case first == 0:
		first = uint64(time.Now().Unix())
	}
	sum := newTable(first)
	if long {
		fmt.Printf("the first seed is %d\n", first)
		t.Cleanup(func() { fmt.Print(sum) })
	}
	began := time.Now()
	var next atomic.Int64
	due := func() (seed uint64, ok bool) {
		n := next.Add(1) - 1
		return first + uint64(n), (plans == 0 || n < plans) && (*duration == 0 || time.Since(began) < *duration)
	}
	for worker := range *beside {
		t.Run(strconv.Itoa(worker), func(t *testing.T) {
			t.Parallel()
			for seed, ok := due(); ok; seed, ok = due() {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { soakSeed(t, seed, !long, sum) })
			}
		})
	}
}

// soakSeed runs the plan of a seed, and keeps its folder if it fails.
func soakSeed(t *testing.T, seed uint64, short bool, sum *table) {
	dir, err := os.MkdirTemp("", fmt.Sprintf("wavex-soak-%d-", seed))
	testrepo.Must(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(dir) // a leftover in the temporary folder is harmless
			return
		}
		fmt.Printf("FAILED: seed %d, its folder is %s, and `make soak SEED=%d` repeats it\n", seed, dir, seed)
	})
	rng := rand.New(rand.NewPCG(seed, 0))
	most := 12
	if short {
		most = 4
	}
	c := &soaked{t: t, seed: seed, dir: dir, bin: filepath.Join(dir, "bin"),
		plan: newPlan(rng, short, most, filepath.Join(dir, "home", "trace"))}
	for range rng.IntN(6) {
		c.strikes = append(c.strikes, newStrike(rng))
	}
	defer sum.add(c)
	c.prepare(rng)
	c.run(rng)
	c.compare()
}
