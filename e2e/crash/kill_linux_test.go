package crash

// This file sends SIGKILL at random moments, to first runs and to resumes. Most of its agents
// leave processes in their own sessions.

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"wavex/e2e/scratch"
)

// orphansPlan is a plan of seven tasks in three waves. Most agents leave a process behind: from a
// command while they still work (runs), or at their end (orphan), one of them with its stdout.
// One task fails at first, so that a panel is asked.
const orphansPlan = `{"version": 1, "parallel": 3, "budget": {"usd": 2}, "tasks": [
 {"id": "a", "subject": "a", "verify": ["true"], "rehearse": {"duration": "40ms", "cost": 0.01, "outcome": "orphan", "linger": "5m"}},
 {"id": "b", "subject": "b", "verify": ["true"], "rehearse": {"duration": "30ms", "cost": 0.02, "turns": 3, "runs": ["setsid sleep 300 >/dev/null 2>&1 & true"]}},
 {"id": "c", "subject": "c", "verify": ["true"], "rehearse": {"duration": "10ms", "cost": 0.03, "outcome": "orphan-stdout", "linger": "5m"}},
 {"id": "d", "subject": "d", "blockedBy": ["a", "b"], "verify": ["test -e d"], "rehearse": {"duration": "20ms", "cost": 0.01,
   "attempts": [{"outcome": "fail"}, {"writes": [{"path": "d", "content": "d"}]}]}},
 {"id": "e", "subject": "e", "blockedBy": ["b"], "verify": ["true"], "rehearse": {"duration": "50ms", "cost": 0.05, "turns": 4, "outcome": "orphan", "linger": "5m"}},
 {"id": "f", "subject": "f", "blockedBy": ["d", "e"], "verify": ["setsid sleep 300 >/dev/null 2>&1 & true"], "rehearse": {"duration": "20ms", "cost": 0.01}},
 {"id": "g", "subject": "g", "blockedBy": ["c", "d"], "command": "setsid sleep 300 >/dev/null 2>&1 & true", "verify": ["true"]}
]}`

// seed returns the seed of the random moments. WAVEX_CRASH_SEED sets it, to come close to a
// failure again.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := uint64(time.Now().UnixNano())
	if text := os.Getenv("WAVEX_CRASH_SEED"); text != "" {
		var err error
		if s, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("WAVEX_CRASH_SEED: %v", err)
		}
	}
	t.Logf("WAVEX_CRASH_SEED=%d", s)
	return s
}

// killsAtRandom is the number of kills. Each costs a third of a second of CPU.
var killsAtRandom = flag.Int64("kills", 24, "how many times TestKilledAtAnyMoment kills wavex")

func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	priced := killAtRandom(t, orphansPlan, *killsAtRandom, func(scratch.Project) {})
	if *killsAtRandom >= 40 && !t.Failed() && priced["stream"] == 0 {
		t.Error("no kill hit an attempt in the middle of its stream: the moments are badly spread")
	}
}

// killAtRandom runs a plan many times, kills the runs at random moments, and continues them. complete checks a run that
// was killed and is complete. It returns how many attempts were priced in each way.
func killAtRandom(t *testing.T, plan string, kills int64, complete func(scratch.Project)) map[string]int {
	t.Helper()
	start := seed(t)
	var (
		left  atomic.Int64 // kills that remain
		mu    sync.Mutex
		sums  = map[string]int{}
		moved = []time.Duration{}
		gone  = []time.Duration{}
	)
	left.Store(kills)
	t.Run("chains", func(t *testing.T) {
		for worker := range int(min(6, kills/5)) { // each also makes a run without a kill
			t.Run(strconv.Itoa(worker), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(start, uint64(worker)))
				whole := runWithoutKill(t, plan)
				for chain := 0; left.Load() > 0 && !t.Failed(); chain++ {
					t.Run(strconv.Itoa(chain), func(t *testing.T) {
						p := newProject(t, plan)
						at, took, priced := runWithKills(p, rng, whole, &left)
						if complete(p); t.Failed() {
							t.Logf("killed at %s of %s; journal:\n%s", at, whole, p.Dump())
						}
						mu.Lock()
						defer mu.Unlock()
						moved, gone = append(moved, at...), append(gone, took...)
						for by, n := range priced {
							sums[by] += n
						}
					})
				}
			})
		}
	})
	t.Logf("%d kills; attempts priced: %v", len(moved), sums)
	if slices.Sort(gone); len(gone) > 0 {
		t.Logf("all of it dead after %s in the middle, %s at most", gone[len(gone)/2], gone[len(gone)-1])
	}
	if int64(len(moved)) < kills && !t.Failed() {
		t.Errorf("only %d of %d kills hit a running wavex", len(moved), kills)
	}
	return sums
}

// runWithoutKill runs the plan without a kill, and returns its duration.
func runWithoutKill(t *testing.T, plan string) time.Duration {
	t.Helper()
	p := newProject(t, plan)
	began := time.Now()
	p.MustComplete()
	whole := time.Since(began)
	p.MustBeGone(time.Second, "the end")
	p.MustAddUp(false)
	return whole
}

// runWithKills runs the plan, kills wavex at a random moment, and continues until it is complete; it
// kills one to three of the sessions. It returns the moments, and how long processes stayed alive
// after each kill.
func runWithKills(p scratch.Project, rng *rand.Rand, whole time.Duration,
	left *atomic.Int64) (at, gone []time.Duration, priced map[string]int) {
	t := p.T
	t.Helper()
	for range 1 + rng.IntN(3) {
		run, end := scratch.LastRun(p.Events())
		if end != nil && end.Status == "complete" {
			break
		}
		args := []string{"run", "plan.json", "--agent", "rehearse", "--output", "json"}
		if run != "" && rng.IntN(2) == 0 {
			args = []string{"resume", "--output", "json"}
		}
		moment := time.Duration(rng.Int64N(int64(whole) * 11 / 10))
		w := p.Start(nil, args...)
		if !killAfter(w, moment) {
			if e := w.End(); e.Exit != 0 {
				t.Fatalf("exit %d after %s\n%s\n%s", e.Exit, at, e.Stderr, p.Dump())
			}
			break
		}
		at = append(at, moment)
		left.Add(-1)
		gone = append(gone, p.MustBeGone(2*time.Second, fmt.Sprint("the kill at ", moment)))
		p.MustProject()
	}
	if _, end := scratch.LastRun(p.Events()); end == nil || end.Status != "complete" {
		p.MustComplete()
		p.MustBeGone(time.Second, "the end")
	} else if e := p.Start(nil, "status", "--rebuild").End(); e.Exit != 0 {
		// The kill may come after the last record and before its projections.
		t.Errorf("status --rebuild: exit %d\n%s", e.Exit, e.Stderr)
	}
	priced = p.MustAddUp(false)
	p.MustRebuild()
	return at, gone, priced
}

// killAfter kills a wavex after d, unless it has ended by itself.
func killAfter(w *scratch.Process, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(w.T.Context(), d)
	defer cancel()
	select {
	case <-w.Over:
		return false
	case <-ctx.Done():
	}
	if w.Cmd.Process.Kill() != nil {
		return false
	}
	<-w.Over
	status, ok := w.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}
