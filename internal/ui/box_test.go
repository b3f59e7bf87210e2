package ui

import (
	"strings"
	"testing"
	"time"

	"wavex/counsel"
	"wavex/internal/plan"
	"wavex/internal/report/reporttest"
	"wavex/internal/ui/safe"
	"wavex/scheduler"
)

// closed is a run of one task with a review, unmet criteria and a gate that refuses.
func closed(t *testing.T) *reporttest.Story {
	t.Helper()
	s := reporttest.New(t, "closing", reporttest.Tasks{{ID: "T-001", Subject: "First"}})
	s.S.Plan.Criteria = []plan.Condition{{Text: "it is fast"}, {Text: "it is right"}}
	c := reporttest.Config()
	c.Isolation = scheduler.Isolated
	s.Begin(c).Wave(1).Run("T-001", 0).After(2*time.Second).End("T-001", reporttest.Good(10_000), scheduler.Completed, nil)
	s.Tell(scheduler.ReviewStarted{N: 1, Mode: counsel.Thorough, Round: 1})
	s.Tell(scheduler.ReviewEnded{N: 1, Mode: counsel.Thorough, Round: 1, Blockers: 1, Review: counsel.Review{Score: 4, Experts: []string{"tester"},
		Findings: []counsel.Finding{{ID: "F-1", Severity: counsel.Blocker, Confirmed: true, Text: "the cache is never emptied", Expert: "tester"}}}})
	s.Tell(scheduler.GateEnded{Reasons: []string{"1 confirmed blocker"}})
	s.Tell(scheduler.DeliveryStarted{}).Tell(scheduler.DeliveryEnded{How: "branch", Ref: "wavex/r-1", Command: "git merge wavex/r-1"})
	return s.Over("failed", 1, "the gate refuses", "wavex resume")
}

func TestBoxGolden(t *testing.T) {
	t.Parallel()
	all := map[string]telling{"closed": func(tb testing.TB, _ func(scheduler.Event, *scheduler.State)) *reporttest.Story { return closed(t) }}
	for name, tell := range stories {
		all[name] = tell
	}
	for name, tell := range all {
		s := tell(t, nil)
		st := Standing{State: s.S, Alive: s.S.Ended == nil}
		for _, e := range s.Events {
			if b, ok := e.Body.(scheduler.DeliveryEnded); ok {
				st.Delivered = &b
			}
		}
		golden(t, "box-"+name+".txt", Box(st, Options{Width: func() int { return 80 }}))
		for _, columns := range []int{200, 60, 30} {
			o := Options{Width: func() int { return columns }, ASCII: columns == 60}
			lines := strings.Split(strings.TrimSuffix(Box(st, o), "\n"), "\n")
			for i, l := range lines {
				framed := strings.HasPrefix(l, "│") || strings.HasPrefix(l, "|")
				if w := safe.Width(l); framed && (w != safe.Width(lines[0]) || w >= columns) {
					t.Errorf("%s at %d: line %d has %d columns, the frame %d: %s", name, columns, i, w, safe.Width(lines[0]), l)
				}
				if strings.ContainsAny(l, "\x1b\r\x07") {
					t.Errorf("%s: controls in %q", name, l)
				}
			}
		}
		st.Plain = true
		if b := Box(st, Options{}); strings.ContainsAny(b, "│┌└") {
			t.Errorf("%s: a frame in plain text:\n%s", name, b)
		}
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text    string
		columns int
		want    string
	}{
		{"", 10, ""}, {"one two three", 8, "one two|three"}, {"abcdefghijkl", 8, "abcdefgh|ijkl"}, {"a abcdefghij b", 8, "a|abcdefgh|ij b"},
		{"終わり終わり", 8, "終わり終|わり"},
	} {
		if got := strings.Join(fold(tc.text, tc.columns), "|"); got != tc.want {
			t.Errorf("fold(%q, %d) = %q, want %q", tc.text, tc.columns, got, tc.want)
		}
	}
}
