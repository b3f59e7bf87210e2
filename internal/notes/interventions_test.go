package notes

import (
	"strings"
	"testing"
	"time"

	"wavex/counsel"
	"wavex/internal/report/reporttest"
	"wavex/scheduler"
)

// Actions of people are noted as interventions: answers at gates, findings they judged, a rollback,
// a cancel.
func TestInterventions(t *testing.T) {
	t.Parallel()
	s := reporttest.CompleteRun(t, nil).S
	at := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	for _, c := range []struct {
		body scheduler.Body
		want string // "": nothing
	}{
		{scheduler.Answered{Gate: "G2", Wave: 1, Yes: true}, "a person said yes at G2 wave 1"},
		{scheduler.Answered{Gate: "retry", Task: "T-001"}, "a person said no at retry T-001"},
		{scheduler.Answered{Gate: "G3", Stop: &scheduler.Stop{Reason: "nobody answered at G3"}}, ""},
		{scheduler.ReviewEnded{N: 3, Review: counsel.Review{Findings: []counsel.Finding{{ID: "F-1", File: "a.go", Line: 2,
			Text: "odd", Resolution: "approved"}, {ID: "F-2", Text: "dull"}}}},
			"a person judged findings of review 3\n- approved F-1: a.go:2: odd"},
		{scheduler.ReviewEnded{N: 3, Review: counsel.Review{Findings: []counsel.Finding{{ID: "F-2", Text: "dull"}}}}, ""},
		{scheduler.RolledBack{What: "wave-2", Tasks: []string{"T-002"}, Paths: 1},
			"wave-2 rolled back with wavex rollback: 1 path, T-002 pending again"},
		{scheduler.RunEnded{Status: scheduler.Cancelled}, "cancelled with wavex cancel"},
	} {
		dir := t.TempDir()
		must(t, WriteEvent(dir, nil, scheduler.Event{Seq: 7, Time: at, Body: c.body}, s))
		text, err := ReadContext(dir)
		must(t, err)
		if c.want == "" && text != "" || !strings.Contains(text, c.want) || c.want != "" &&
			!strings.Contains(text, "### Interventions\n\n- 2026-01-02 03:04Z: ") {
			t.Errorf("%T is noted as %q, want %q", c.body, text, c.want)
		}
	}
}
