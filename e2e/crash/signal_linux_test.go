package crash

// This file cancels a job like a CI runner: SIGTERM, and SIGKILL soon after.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"wavex/e2e/rig"
	"wavex/internal/event"
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

// started waits until n attempts have started, according to the journal.
func (w *process) started(n int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	if !rig.Until(ctx, func() bool {
		have := 0
		for _, e := range w.events() {
			if _, ok := e.Body.(event.AttemptStarted); ok {
				have++
			}
		}
		return have >= n
	}) {
		w.t.Fatalf("%d attempts did not start\n%s", n, w.dump())
	}
}

// A signal to a wavex without a terminal interrupts at once. It is over within seven seconds, at
// whatever moment, with agents that ignore signals; no process is left, and the resume completes.
func TestSignalledWithoutATerminal(t *testing.T) {
	t.Parallel()
	start := seed(t)
	for n := range 30 {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, hangingPlan)
			w := p.start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json")
			w.started(1)
			moment := time.Duration(rand.New(rand.NewPCG(start, uint64(n))).Int64N(int64(600 * time.Millisecond)))
			w.overWithin(moment)
			sig, code := syscall.SIGTERM, 143
			if n%3 == 0 {
				sig, code = syscall.SIGINT, 130
			}
			if err := w.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if took, ok := rig.Within(t.Context(), 7*time.Second, w.isOver); !ok {
				t.Errorf("%s is not over after %s", sig, took)
			}
			w.end().mustSay(t, code, "interrupting the running attempts")
			p.mustBeGone(time.Second, "the end")
			p.mustComplete()
			p.mustAddUp()
		})
	}
}

// isOver reports whether the process has ended.
func (w *process) isOver() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// overWithin reports whether the process ends by itself in time.
func (w *process) overWithin(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(w.t.Context(), d)
	defer cancel()
	select {
	case <-w.over:
		return true
	case <-ctx.Done():
		return false
	}
}

func TestCancelledByARunner(t *testing.T) {
	t.Parallel()
	start := seed(t)
	for n := range 6 {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, hangingPlan)
			w := p.start(nil, "run", "plan.json", "--agent", "rehearse", "--on-signal", "interrupt", "--output", "json")
			w.started(3)
			moment := time.Duration(rand.New(rand.NewPCG(start, uint64(n))).Int64N(int64(400 * time.Millisecond)))
			if w.overWithin(moment) {
				t.Fatalf("it ended by itself: %+v", w.end())
			}
			if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if w.overWithin(time.Second) {
				w.end().mustSay(t, 143)
			} else if err := w.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) { // it may end just now
				t.Fatal(err)
			}
			p.mustBeGone(2*time.Second, fmt.Sprint("SIGTERM at ", moment, " and SIGKILL"))
			w.end()
			p.mustComplete()
			p.mustBeGone(time.Second, "the end")
			p.mustAddUp()
		})
	}
}

func TestInterruptedInTime(t *testing.T) {
	t.Parallel()
	p := newProject(t, interruptiblePlan)
	w := p.start(nil, "run", "plan.json", "--agent", "rehearse", "--on-signal", "interrupt", "--plain")
	w.started(2)
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.end().mustSay(t, 143, "interrupting the running attempts", "wavex resume")
	p.mustBeGone(time.Second, "the end")
	p.mustComplete()
	p.mustAddUp()
}
