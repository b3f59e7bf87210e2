package cmd

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"wavex/internal/runlog"
	"wavex/internal/usererr"
	"wavex/scheduler"
)

// An unknown run is refused, whatever the journal still holds.
func TestRecallUnknownRun(t *testing.T) {
	t.Parallel()
	config := scheduler.Config{Run: "r-1"}
	for name, bodies := range map[string][]scheduler.Body{
		"nothing":      nil,
		"a run":        {scheduler.RunStarted{Config: config}, scheduler.RunEnded{Status: "paused"}},
		"no beginning": {scheduler.RunResumed{Config: config}, scheduler.RunEnded{Status: "paused"}},
	} {
		dir := t.TempDir()
		j, _, err := runlog.Open(filepath.Join(dir, ".loop"), "r-1", false, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range bodies {
			if err := j.Append(scheduler.Event{Seq: int64(i + 1), Time: time.Unix(0, 0).UTC(), Body: b}); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Sync(); err != nil {
			t.Fatal(err)
		}
		j.Close()
		var wrong *usererr.UsageError
		if _, err := findJournaledRun(dir, "r-2"); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
