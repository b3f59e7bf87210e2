package scheduler

import (
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/runner"
)

// The run waits for a usage limit whose reset is near, until a second and the jitter after it. It ignores a reset that
// is long past, and looks again after five minutes.
func TestPauseOfAUsageLimit(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"))))
	s.Config = testConfig()
	s.Config.WaitForReset = time.Hour
	for _, tt := range []struct {
		reset, pause time.Duration // from now on
		stops        bool
	}{
		{10 * time.Minute, 10*time.Minute + 16*time.Second, false},
		{-resetPast, 16 * time.Second, false},
		{-resetPast - 1, 5*time.Minute + 16*time.Second, false},
		{time.Hour - 16*time.Second, time.Hour, false},
		{time.Hour - 15*time.Second, time.Hour + time.Second, true},
	} {
		var e event.AttemptEnded
		onLimited(s, runner.Result{ResetsAt: epoch.Add(tt.reset)}, epoch, 0.5, &e)
		at := e.PauseUntil
		if e.Stop != nil {
			at = e.Stop.ResumeAt
		}
		if want := epoch.Add(tt.pause); !at.Equal(want) || tt.stops != (e.Stop != nil) {
			t.Errorf("reset in %s: until %s, want %s, stop %+v", tt.reset, at, want, e.Stop)
		}
	}
}
