package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// TestTimeLeft compares the estimate with the time that a simulation needs.
func TestTimeLeft(t *testing.T) {
	t.Parallel()
	timed := func(id string, seconds int, blockedBy ...string) string {
		return strings.TrimSuffix(task(id, blockedBy...), "}") + fmt.Sprintf(`,"estimate":{"seconds":%d}}`, seconds)
	}
	text := planText(timed("a", 10), timed("b", 20), timed("c", 30, "a"), timed("d", 40, "b"), timed("e", 50, "c"))
	for _, tc := range []struct {
		schedule event.Schedule
		parallel int
		only     string
		begun    string // tasks whose attempts have begun
		done     string // tasks whose attempts have succeeded
		want     time.Duration
	}{
		{event.Waves, 4, "", "", "", 110 * time.Second}, // 20 and 40 and 50
		{event.Waves, 1, "", "", "", 150 * time.Second},
		{event.Eager, 4, "", "", "", 90 * time.Second}, // a, c, e
		{event.Eager, 1, "", "", "", 150 * time.Second},
		{event.Waves, 4, "c", "", "", 40 * time.Second},
		{event.Waves, 4, "", "ab", "", 105 * time.Second},
		{event.Waves, 4, "", "a", "a", 110 * time.Second},
		{event.Eager, 4, "", "a", "a", 80 * time.Second},
		{event.Eager, 4, "", "a", "", 85 * time.Second},
	} {
		c := testConfig()
		c.Schedule, c.Parallel = tc.schedule, tc.parallel
		if tc.only != "" {
			c.Only = []string{tc.only}
		}
		s := NewState(mustPlan(t, text))
		at := time.Unix(1000, 0)
		apply := func(b event.Body) {
			testrepo.Must(t, s.apply(event.Event{Seq: s.Seq + 1, Time: at, Body: b}))
		}
		apply(event.RunStarted{Config: c})
		apply(event.WaveStarted{Wave: 1})
		for n, id := range strings.Split(tc.begun, "") {
			i, _ := s.Index(id)
			apply(event.AttemptStarted{Task: id, Key: s.Tasks[i].Key, Wave: 1, Attempt: 1, Try: 1, Iteration: n + 1, Slot: n})
			if strings.Contains(tc.done, id) {
				apply(event.AttemptEnded{Task: id, Key: s.Tasks[i].Key, Attempt: 1, Status: event.Completed,
					Result: runner.Result{Outcome: runner.Done, Duration: time.Second}})
			}
		}
		if got, known := s.TimeLeft(at.Add(5 * time.Second)); got != tc.want || !known {
			t.Errorf("%+v: %s", tc, got)
		}
	}
	s := NewState(mustPlan(t, planText(task("a"))))
	if got, known := s.TimeLeft(time.Now()); known {
		t.Errorf("%s although no duration is known", got)
	}
}
