package scheduler

import (
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/testrepo"
)

// The time from a kill of wavex to a later command is not time of the run.
func TestWorkTimeOfARunThatWasCutOff(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	cut := []event.Event{{Seq: 1, Time: start, Body: event.RunStarted{Config: testConfig()}},
		{Seq: 2, Time: start.Add(time.Minute), Body: event.WaveStarted{Wave: 1}}}
	for name, later := range map[string][]event.Body{
		"verified":  {event.Inspected{Gaps: 1}},
		"delivered": {event.DeliveryEnded{How: "branch"}},
		"cancelled": {event.Inspected{Gaps: 1}, event.RunEnded{Status: event.RunCancelled}},
		"resumed":   {event.Inspected{Gaps: 1}, event.RunResumed{Config: testConfig()}},
	} {
		s := NewState(mustPlan(t, planText(task("a"))))
		events := cut
		for i, b := range later {
			events = append(events[:len(events):len(events)],
				event.Event{Seq: int64(3 + i), Time: start.Add(72 * time.Hour), Body: b})
		}
		testrepo.Must(t, s.Replay(events))
		if got := s.WorkTime(time.Time{}); got != time.Minute {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A session shows the plan that it was started with. A delivery of a session that was cut off is not under way in the
// next one, so the time of a later command that delivers is not counted as the run's.
func TestFiguresOfTheNextSession(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	s := NewState(mustPlan(t, planText(task("a"))))
	for n, b := range []event.Body{event.RunStarted{Config: testConfig(), Plan: "plan.json"}, event.DeliveryStarted{},
		event.RunResumed{Config: testConfig(), Plan: "moved.json"}, event.DeliveryEnded{How: "branch"}} {
		at := start.Add(time.Duration(n) * time.Hour)
		testrepo.Must(t, s.apply(event.Event{Seq: int64(n + 1), Time: at, Body: b}))
	}
	if s.Figures.Begun.Plan != "moved.json" || s.WorkTime(time.Time{}) != time.Hour {
		t.Errorf("the plan is %s, and the sessions took %s", s.Figures.Begun.Plan, s.WorkTime(time.Time{}))
	}
}
