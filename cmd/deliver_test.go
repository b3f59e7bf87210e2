package cmd

import (
	"errors"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/runlog"
	"wavex/internal/usererr"
)

// An unknown run is refused, whatever the journal still holds.
func TestRecallUnknownRun(t *testing.T) {
	t.Parallel()
	config := event.Config{Run: "r-1"}
	for name, bodies := range map[string][]event.Body{
		"nothing":      nil,
		"a run":        {event.RunStarted{Config: config}, event.RunEnded{Status: "paused"}},
		"no beginning": {event.RunResumed{Config: config}, event.RunEnded{Status: "paused"}},
	} {
		dir := t.TempDir()
		j, _, err := runlog.Open(loop.In(dir), "r-1", false, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range bodies {
			if err := j.Append(event.Event{Seq: int64(i + 1), Time: time.Unix(0, 0).UTC(), Body: b}); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Sync(); err != nil {
			t.Fatal(err)
		}
		j.Close()
		var wrong *usererr.UsageError
		if _, err := findJournaledRun(t.Context(), dir, "r-2"); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
