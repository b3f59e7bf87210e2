package crash

// This file tests clocks that run backwards, within a session and between sessions. No wait may
// become longer by it, no limit may trip, and no order may be lost, because order is by the
// number of the record.

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wavex/internal/journal"
	"wavex/internal/testrepo"
)

// backwardsClock returns a clock that loses a minute each time it is read. Its times have no monotonic
// reading, as after a suspend or over a network file.
func backwardsClock(from time.Time) func() time.Time {
	from = from.Round(0)
	return func() time.Time {
		from = from.Add(-time.Minute)
		return from
	}
}

// shortContext bounds a session that must not wait for any clock.
func shortContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestClockRunsBackwards(t *testing.T) {
	t.Parallel()
	// f is throttled at first, which waits until a time; this clock never reaches it.
	p := parsed(t, `{"version": 1, "tasks": [{"id": "a", "subject": "a", "verify": ["true"]}, {"id": "e", "subject": "e", "verify": ["true"], "blockedBy": ["a"]}, {"id": "b", "subject": "b", "verify": ["true"]}]}`)
	path := filepath.Join(memoryDir(t), "journal")
	s, _, err := session(shortContext(t), p, path, backwardsClock(time.Now()))
	testrepo.Must(t, err)
	mustAudit(t, path, 0, s.Ended != nil && s.Ended.Status == "complete")
}

// The clock was a day ahead when wavex was killed. The wait that it then chose is in the journal,
// but the next session must not wait so long.
func TestClockWasAhead(t *testing.T) {
	t.Parallel()
	p := parsed(t, tenTasks)
	dir := memoryDir(t)
	ahead := func() time.Time { return time.Now().Add(24 * time.Hour) }
	path := filepath.Join(dir, "whole")
	if _, _, err := session(shortContext(t), p, path, ahead); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	testrepo.Must(t, err)
	throttled := bytes.Index(data, []byte(`"outcome":"throttled"`))
	if throttled < 0 {
		t.Fatal("no attempt was throttled")
	}
	n := throttled + bytes.IndexByte(data[throttled:], '\n') + 1
	path = filepath.Join(dir, "resumed")
	testrepo.Must(t, os.WriteFile(path, data[:n], 0o600))
	began := time.Now()
	s, past, err := session(shortContext(t), p, path, time.Now)
	testrepo.Must(t, err)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the resume took %s", took)
	}
	mustAudit(t, path, past, s.Ended != nil && s.Ended.Status == "complete")
}

// mustAudit asserts that the run is complete, and its records in order.
func mustAudit(t *testing.T, path string, past int, done bool) {
	t.Helper()
	records, err := journal.Read(path)
	testrepo.Must(t, err)
	events, err := decode(records)
	testrepo.Must(t, err)
	for i, e := range events {
		if e.Seq != int64(i)+1 {
			t.Errorf("record %d has the number %d", i+1, e.Seq)
		}
	}
	if !done || len(events) <= past {
		t.Errorf("the run did not complete; %d records, %d of them old", len(events), past)
	}
}
