package notes

import (
	"strings"
	"testing"
	"time"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/report/reporttest"
)

// Actions of people are noted as interventions: answers at gates, findings they judged, a rollback,
// a cancel.
func TestInterventions(t *testing.T) {
	t.Parallel()
	s := reporttest.CompleteRun(t, nil).S
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	for _, c := range []struct {
		body event.Body
		want string // "": nothing
	}{
		{event.Answered{Gate: "G2", Wave: 1, Yes: true}, "a person said yes at G2 wave 1"},
		{event.Answered{Gate: "retry", Task: "T-001"}, "a person said no at retry T-001"},
		{event.Answered{Gate: "G3", Stop: &event.Stop{Reason: "nobody answered at G3"}}, ""},
		{event.ReviewEnded{N: 3, Review: counsel.Review{Findings: []counsel.Finding{{ID: "F-1", File: "a.go", Line: 2,
			Text: "odd", Resolution: "approved"}, {ID: "F-2", Text: "dull"}}}},
			"a person judged findings of review 3\n- approved F-1: a.go:2: odd"},
		{event.ReviewEnded{N: 3, Review: counsel.Review{Findings: []counsel.Finding{{ID: "F-2", Text: "dull"}}}}, ""},
		{event.RolledBack{What: "wave-2", Tasks: []string{"T-002"}, Paths: 1},
			"wave-2 rolled back with wavex rollback: 1 path, T-002 pending again"},
		{event.RunEnded{Status: event.RunCancelled}, "cancelled with wavex cancel"},
	} {
		dir := t.TempDir()
		must(t, WriteEvent(dir, nil, event.Event{Seq: 7, Time: at, Body: c.body}, s))
		text, err := ReadContext(dir)
		must(t, err)
		if c.want == "" && text != "" || !strings.Contains(text, c.want) || c.want != "" &&
			!strings.Contains(text, "### Interventions\n\n- 2026-01-02 03:04Z: ") {
			t.Errorf("%T is noted as %q, want %q", c.body, text, c.want)
		}
	}
}
