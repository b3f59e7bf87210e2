package record

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wavex/internal/journal"
	"wavex/internal/refuse"
	"wavex/scheduler"
)

func lengthen(t *testing.T, loop, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(loop, journalName), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// What stands before a record that cannot be read is told, and then what is wrong.
func TestPollTellsWhatStandsBeforeAnError(t *testing.T) {
	t.Parallel()
	notice := func(seq int64) []byte {
		b, err := scheduler.Event{Seq: seq, Time: time.Unix(seq, 0).UTC(), Body: scheduler.Notice{Level: "info", Text: "hello"}}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		records [][]byte
		after   string
		wrong   any
	}{
		"a line that is no record": {[][]byte{notice(2)}, "nonsense\n", new(*journal.CorruptError)},
		"one of another version":   {[][]byte{notice(2), []byte(`{"seq":3,"type":"of_tomorrow","data":{}}`)}, "", new(*refuse.BlockedError)},
		"a record is missing":      {[][]byte{notice(2), notice(4)}, "", new(*refuse.BlockedError)},
		"both":                     {[][]byte{notice(2), notice(4)}, "nonsense\n", new(*refuse.BlockedError)},
	} {
		loop, _ := written(t, started("r-1"))
		plan := filepath.Join(filepath.Dir(loop), "plan.json")
		if err := os.WriteFile(plan, []byte(`{"tasks":[{"id":"a","subject":"a"}]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		f := Follow(loop, plan)
		if _, err := f.Poll(nil); err != nil || f.State == nil {
			t.Fatalf("%s: %v", name, err)
		}
		log, _, err := journal.Open(filepath.Join(loop, journalName))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.records {
			if err := log.Append(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(log.Sync(), log.Close()); err != nil {
			t.Fatal(err)
		}
		lengthen(t, loop, c.after)
		told := 0
		changed, err := f.Poll(func(scheduler.Event, *scheduler.State) { told++ })
		if !changed || !errors.As(err, c.wrong) || told != 1 || len(f.Events) != 2 || f.State.Seq != 2 {
			t.Errorf("%s: changed %v, %v; told of %d, has %d", name, changed, err, told, len(f.Events))
		}
	}
}

// A journal that somebody has taken a record out of is refused, not replayed.
func TestReadRefusesAGap(t *testing.T) {
	t.Parallel()
	loop, _ := written(t, started("r-1"), scheduler.RunEnded{Status: "paused"})
	log, records, err := journal.Open(filepath.Join(loop, journalName))
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	var blocked *refuse.BlockedError
	for name, left := range map[string][][]byte{"the first is gone": records[1:], "one is twice": {records[0], records[0]}, "in another order": {records[1], records[0]}} {
		if _, err := decode(left, 0); !errors.As(err, &blocked) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if events, err := decode(records, 0); err != nil || len(events) != 2 {
		t.Errorf("%d events, %v", len(events), err)
	}
}
