package scheduler

import (
	"testing"
	"time"

	"wavex/counsel"
	"wavex/internal/event"
)

// Each event leads to a phase, and the loop decides the next step only in Executing.
func TestPhase(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("A"))))
	if s.Phase != Planning {
		t.Errorf("before the run: %s", s.Phase)
	}
	light := event.ReviewStarted{N: 1, Mode: counsel.Light, Wave: 1}
	for n, step := range []struct {
		body event.Body
		want string
	}{
		{event.RunStarted{Config: testConfig()}, "executing"},
		{event.WaveStarted{Wave: 1, Of: 1}, "executing"},
		{event.PrecheckStarted{Task: "A", N: 1}, "planning"},
		{event.PrecheckEnded{Task: "A", N: 1}, "executing"},
		{event.IntegrationStarted{Wave: 1}, "verifying"}, // in a shared directory
		{event.IntegrationEnded{Wave: 1}, "executing"},
		{light, "executing"},
		{event.CriteriaStarted{Round: 1}, "verifying"},
		{event.ReviewEnded{N: 1, Mode: light.Mode, Wave: 1}, "verifying"},
		{event.CriteriaEnded{Round: 1}, "executing"},
		{event.ReviewStarted{N: 2, Mode: counsel.Thorough}, "reviewing"},
		{event.ReviewEnded{N: 2, Mode: counsel.Thorough}, "executing"},
		{event.DeliveryStarted{}, "delivering"},
		{event.RunResumed{Config: testConfig()}, "executing"}, // the session was killed
		{event.DeliveryStarted{}, "delivering"},
		{event.DeliveryEnded{}, "executing"},
		{event.CriteriaStarted{Round: 2}, "verifying"},
		{event.RunEnded{Status: event.RunCancelled}, "ended"},
		{event.CriteriaEnded{Round: 2}, "ended"},
		{event.RunResumed{Config: testConfig()}, "executing"},
	} {
		if err := s.apply(event.Event{Seq: int64(n + 1), Time: epoch, Body: step.body}); err != nil {
			t.Fatal(err)
		}
		if s.Phase.String() != step.want {
			t.Errorf("after event %d, %T: %s, not %s", n+1, step.body, s.Phase, step.want)
		}
		if body := decideNext(s, epoch); body != nil != (s.Phase == Executing) {
			t.Errorf("after event %d, %s: decided %T", n+1, s.Phase, body)
		}
	}
}

// While checks are repeated the deadline stops the run, so that the remaining ones do not start. A
// verification of criteria alone is short and runs to its end.
func TestDeadlineWhileVerifying(t *testing.T) {
	t.Parallel()
	for want, again := range map[string][]event.Recheck{"": nil, "draining": {{N: 1, Tasks: []string{"A"}}}} {
		s, c := NewState(mustPlan(t, planText(task("A")))), testConfig()
		c.Limits.Wall = time.Minute
		for n, b := range []event.Body{event.RunStarted{Config: c}, event.CriteriaStarted{Round: 1, Rechecks: again}} {
			if err := s.apply(event.Event{Seq: int64(n + 1), Time: epoch, Body: b}); err != nil {
				t.Fatal(err)
			}
		}
		if body := decideNext(s, epoch.Add(time.Second)); body != nil {
			t.Errorf("before the deadline: %T", body)
		}
		got := ""
		if body := decideNext(s, epoch.Add(time.Hour)); body != nil {
			got = body.Type()
		}
		if got != want {
			t.Errorf("%d rechecks: decided %q, not %q", len(again), got, want)
		}
	}
}
