package runlog

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/internal/usererr"
)

// A journal that is decoded in parts gives the same events, and the first bad record, wherever it stands.
func TestDecodeInParts(t *testing.T) {
	t.Parallel()
	const n = 5*leastPart + 7
	records := make([][]byte, n)
	for i := range records {
		b, err := event.Event{Seq: int64(i + 11), Time: time.Unix(int64(i), 0).UTC(),
			Body: event.Notice{Level: "info", Text: fmt.Sprint(i)}}.Encode()
		testrepo.Must(t, err)
		records[i] = b
	}
	events, err := decode(records, 10)
	if err != nil || len(events) != n || events[n-1].Body.(event.Notice).Text != fmt.Sprint(n-1) {
		t.Fatalf("%d events, %v", len(events), err)
	}
	for _, bad := range []int{0, leastPart - 1, leastPart, n / 2, n - 1} {
		damaged := append([][]byte(nil), records...)
		damaged[bad], damaged[n-1] = []byte("{}"), []byte("nonsense")
		var blocked *usererr.BlockedError
		events, err := decode(damaged, 10)
		if len(events) != bad || !errors.As(err, &blocked) {
			t.Errorf("record %d is bad: %d events, %v", bad, len(events), err)
		}
	}
}
