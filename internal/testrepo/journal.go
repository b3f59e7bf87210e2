package testrepo

import (
	"os"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
)

// Journal appends to the journal of a .loop directory, which it creates if it is missing, and
// returns the appended events: one per second, from the epoch on.
func Journal(t testing.TB, dir loop.Dir, bodies ...event.Body) []event.Event {
	t.Helper()
	Must(t, os.MkdirAll(string(dir), 0o755))
	log, before, err := journal.Open(dir.Path(loop.Journal))
	Must(t, err)
	defer func() { Must(t, log.Close()) }()
	var out []event.Event
	for i, b := range bodies {
		at := len(before) + i
		e := event.Event{Seq: int64(at + 1), Time: time.Unix(int64(at), 0).UTC(), Body: b}
		text, err := e.Encode()
		Must(t, err)
		Must(t, log.Append(text))
		out = append(out, e)
	}
	Must(t, log.Sync())
	return out
}
