package runlog

import (
	"errors"
	"testing"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// A session that is left at once closes the journal while the loop still writes to it.
func TestWritesAfterClose(t *testing.T) {
	t.Parallel()
	dir := loop.In(t.TempDir())
	j, _, err := Open(dir, "r", false, 0)
	testrepo.Must(t, err)
	j.Close()
	j.Close()
	for name, err := range map[string]error{"append": j.Append(event.Event{Body: event.AttemptStarted{}}),
		"write": j.Write(), "sync": j.Sync()} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
	next, events, err := Open(dir, "r", false, 0)
	testrepo.Must(t, err)
	defer next.Close()
	if len(events) != 0 || j.Restored() != 0 {
		t.Errorf("%d events, restored %d times", len(events), j.Restored())
	}
}
