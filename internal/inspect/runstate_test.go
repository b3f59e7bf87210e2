package inspect

import (
	"testing"

	"wavex/internal/event"
)

// The number of gaps is recorded once in each session of a run.
func TestLastGaps(t *testing.T) {
	t.Parallel()
	events := func(bodies ...event.Body) (out []event.Event) {
		for _, b := range bodies {
			out = append(out, event.Event{Body: b})
		}
		return out
	}
	for want, past := range map[int][]event.Event{
		-1: events(event.RunStarted{}, event.Inspected{Gaps: 3}, event.RunResumed{}),
		3:  events(event.RunStarted{}, event.RunResumed{}, event.Inspected{Gaps: 3}),
		0:  events(event.RunStarted{}, event.Inspected{Gaps: 3}, event.Inspected{}),
	} {
		if got := (&Inspection{Events: past}).lastGaps(); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}
