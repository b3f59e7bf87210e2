package ui

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
	"wavex/scheduler"
)

// The announcement of a resume names the wave with which the session begins.
func TestAnnouncementOfALaterWave(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "long", reporttest.Tasks{{ID: "T-001"}, {ID: "T-002", Blockers: []int{0}}})
	s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0).
		EndAttempt("T-001", reporttest.PassingResult(10_000), event.Completed, nil).EndRun("paused", 3, "", "")
	s.Apply(event.RunResumed{Config: reporttest.Config()})
	var a Announcer
	if got := a.Lines(s.S)[2]; got != "Progress: 1/2 tasks | Wave: 2" {
		t.Errorf("%q", got)
	}
}

// The live part and the box of wavex status show the same figures at every event.
func TestLivePartAgreesWithBox(t *testing.T) {
	t.Parallel()
	bar := regexp.MustCompile(`^wave \d+/\d+ +\d+% [^]]*\] \d+/\d+.* \| all (\d+/\d+) \| ` +
		`(\S+) \| (iteration \S+) \| \S.*$`)
	for name, tell := range testRuns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m liveModel
			var next nextTask
			tell(t, func(e event.Event, s *scheduler.State) {
				m.update(e, s, &next, 0)
				if s.Ended != nil {
					return
				}
				m.observe("T-001", 1, "Edit", e.Time, 20_000, "")
				live := m.lines(e.Time.Add(2500*time.Millisecond), 300, 50, true)
				f := bar.FindStringSubmatch(live[0])
				if f == nil {
					t.Fatalf("%q", live[0])
				}
				st := StatusOf(s, true)
				box := st.money()
				if !strings.HasPrefix(box, f[1]) || !strings.Contains(box, f[2]) || !strings.HasSuffix(box, f[3]) {
					t.Errorf("record %d: %q and %q", e.Seq, live[0], box)
				}
				upcoming := 0
				if strings.HasPrefix(live[len(live)-1], "  next: ") {
					upcoming = 1
				}
				rows := len(s.Activities()) // the running items of a list have one together
				rows += len(m.lists) - len(m.listOf)
				if l := len(live) - 1 - upcoming; s.Stop == nil && l != rows {
					t.Errorf("record %d: %d lines of %d rows", e.Seq, l, rows)
				}
				for id, g := range m.lists {
					if l := listLine(g, true); !slices.Contains(live, l) {
						t.Errorf("record %d: the line of %s is not %q", e.Seq, id, l)
					}
				}
			})
		})
	}
}

// verifiedRun returns a run in worktrees whose tasks are integrated together, one after its second attempt.
func verifiedRun(t testing.TB, show func(event.Event, *scheduler.State)) *reporttest.FakeRun {
	s := reporttest.New(t, "apart", reporttest.Tasks{{ID: "T-001", Subject: "Add it"}, {ID: "T-002", Subject: "Name it"},
		{ID: "T-003", Subject: "Use it"}, {ID: "T-004", Subject: "Test it"}})
	s.Show = show
	c := reporttest.Config()
	c.Isolation = event.Isolated
	s.StartRun(c).StartWave(1)
	for i, id := range []string{"T-001", "T-002", "T-003"} {
		s.StartAttempt(id, i).Advance(2*time.Second).EndAttempt(id, reporttest.PassingResult(120_000), event.Verified, nil)
	}
	s.StartAttempt("T-004", 0)
	s.Apply(event.IntegrationStarted{Wave: 1, Tasks: []string{"T-001", "T-002", "T-003"}})
	return s.Advance(time.Second).Apply(event.IntegrationEnded{Wave: 1, Completed: []string{"T-001", "T-002"},
		Reopened: []event.Reopened{{Task: "T-003", Kind: "conflict", Status: event.Pending,
			Result: reporttest.FailingResult(0)}}})
}

// A task in worktrees that has passed is not shown as a retry, and is marked as done once it is integrated.
func TestVerifiedTasks(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	plain, v, rows := Plain(&lines, Options{}), &LiveView{teller: teller{question: func(string) {}}}, ""
	var m liveModel
	var next nextTask
	verifiedRun(t, func(e event.Event, s *scheduler.State) {
		if s.Tasks[0].Status == event.Verified && s.Tasks[3].Status == event.Pending {
			s.Tasks[3].Status = event.Verified
			if got := next.next(s, e.Time); s.Tasks[2].Status == event.Verified && got != "integration of T-001" {
				t.Errorf("before the last integration comes %q", got)
			}
			s.Tasks[3].Status = event.Pending
		}
		plain.Event(e, s)
		for _, r := range v.eventRows(e, s) {
			rows += r.render(200, Options{}) + "\n"
		}
		m.update(e, s, &next, 0)
		if _, ok := e.Body.(event.IntegrationStarted); ok {
			bar := m.lines(e.Time, 120, 20, true)[0]
			if !strings.Contains(bar, " 75% ") || !strings.Contains(bar, "0/4, 3 verified") {
				t.Errorf("%q", bar)
			}
		}
	})
	testrepo.Must(t, plain.Close())
	for _, want := range []string{"\nT-003 Use it  2s  $0.12  passed, to be checked with the others\n",
		"\n✓ T-001 Add it  2s  $0.12\n✓ T-002 Name it  2s  $0.12\n! T-003 goes back"} {
		if !strings.Contains(rows, want) {
			t.Errorf("no %q in\n%s", want, rows)
		}
	}
	if strings.Contains(rows, "↻") {
		t.Errorf("the sign of a retry in\n%s", rows)
	}
	for _, want := range []string{"[LOOP] ✓ [T-001 Add it] complete | Progress: 1/4 | Next: [retry T-003 Use it]",
		"[LOOP] ✓ [T-002 Name it] complete | Progress: 2/4 | Next: [retry T-003 Use it]"} {
		if !strings.Contains(lines.String(), want) {
			t.Errorf("no %q in\n%s", want, lines.String())
		}
	}
}
