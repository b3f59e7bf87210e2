package crash

// This file cancels a job like a CI runner: SIGTERM, and SIGKILL soon after.

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"wavex/e2e/rig"
	"wavex/internal/testrepo"
)

// hangingPlan is a plan of three tasks side by side, then one more. The first attempts do not end by
// themselves, and one of them ignores every signal but SIGKILL.
const hangingPlan = `{"version": 1, "parallel": 3, "budget": {"usd": 5}, "tasks": [
 {"id": "a", "subject": "a", "verify": ["true"], "rehearse": {"duration": "20ms", "cost": 0.01, "turns": 2, "attempts": [{"outcome": "ignore-sigterm"}, {"outcome": "orphan", "linger": "5m"}]}},
 {"id": "b", "subject": "b", "verify": ["true"], "rehearse": {"duration": "20ms", "cost": 0.01, "turns": 2, "attempts": [{"outcome": "stall"}, {}]}},
 {"id": "c", "subject": "c", "verify": ["true"], "rehearse": {"duration": "20ms", "cost": 0.01, "runs": ["setsid sleep 300 >/dev/null 2>&1 & exec sleep 300"],
   "attempts": [{}, {"runs": []}]}},
 {"id": "d", "subject": "d", "blockedBy": ["a", "b", "c"], "verify": ["true"], "rehearse": {"duration": "20ms"}}
]}`

// interruptiblePlan is the same plan with agents that end on an interrupt.
const interruptiblePlan = `{"version": 1, "parallel": 2, "budget": {"usd": 5}, "tasks": [
 {"id": "a", "subject": "a", "verify": ["true"], "rehearse": {"cost": 0.01, "turns": 2, "duration": "20ms", "attempts": [{"outcome": "stall"}, {}]}},
 {"id": "b", "subject": "b", "verify": ["true"], "rehearse": {"cost": 0.01, "duration": "20ms", "attempts": [{"duration": "5m"}, {}]}},
 {"id": "c", "subject": "c", "blockedBy": ["a"], "verify": ["true"], "rehearse": {"duration": "20ms"}}
]}`

// A signal to a wavex without a terminal interrupts at once. It is over within seven seconds, at
// whatever moment, with agents that ignore signals; no process is left, and the resume completes.
func TestSignalledWithoutATerminal(t *testing.T) {
	t.Parallel()
	start := seed(t)
	moments := 12
	if rig.Whole() {
		moments = 30
	}
	for n := range moments {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, hangingPlan)
			w := p.Start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json")
			w.Started(1)
			moment := time.Duration(rand.New(rand.NewPCG(start, uint64(n))).Int64N(int64(600 * time.Millisecond)))
			w.OverWithin(moment)
			sig, code := syscall.SIGTERM, 143
			if n%3 == 0 {
				sig, code = syscall.SIGINT, 130
			}
			testrepo.Must(t, w.Cmd.Process.Signal(sig))
			if took, ok := rig.Within(t.Context(), 7*time.Second, w.IsOver); !ok {
				t.Errorf("%s is not over after %s", sig, took)
			}
			w.End().MustSay(t, code, "interrupting the running attempts")
			p.MustBeGone(time.Second, "the end")
			p.MustComplete()
			p.MustAddUp(false)
		})
	}
}

const interrupts = "WAVEX_OPT_ON_SIGNAL=interrupt"

func TestCancelledByARunner(t *testing.T) {
	t.Parallel()
	start := seed(t)
	for n := range 6 {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, hangingPlan)
			w := p.Start([]string{interrupts}, "run", "plan.json", "--agent", "rehearse", "--output", "json")
			w.Started(3)
			moment := time.Duration(rand.New(rand.NewPCG(start, uint64(n))).Int64N(int64(400 * time.Millisecond)))
			if w.OverWithin(moment) {
				t.Fatalf("it ended by itself: %+v", w.End())
			}
			testrepo.Must(t, w.Cmd.Process.Signal(syscall.SIGTERM))
			if w.OverWithin(time.Second) {
				w.End().MustSay(t, 143)
			} else if err := w.Cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) { // it may end just now
				t.Fatal(err)
			}
			p.MustBeGone(2*time.Second, fmt.Sprint("SIGTERM at ", moment, " and SIGKILL"))
			w.End()
			p.MustComplete()
			p.MustBeGone(time.Second, "the end")
			p.MustAddUp(false)
		})
	}
}
