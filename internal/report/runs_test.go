package report_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

// journals returns several stories in one journal, one after the other.
func journals(t *testing.T) []event.Event {
	t.Helper()
	var all []event.Event
	for i, s := range []*reporttest.FakeRun{reporttest.CompleteRun(t, nil), reporttest.MixedRun(t, nil),
		reporttest.PausedRun(t, nil)} {
		for _, e := range s.Events {
			if b, ok := e.Body.(event.RunStarted); ok {
				b.Config.Run = []string{"r-1", "r-2", "r-3"}[i]
				e.Body = b
			}
			all = append(all, e)
		}
	}
	return all
}

func TestRuns(t *testing.T) {
	t.Parallel()
	all := journals(t)
	got := report.Runs(all, all[len(all)-1].Time, true)
	if len(got) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []struct {
		status              event.RunStatus
		completed, sessions int
		cost                int64
		worked              time.Duration
	}{{"complete", 2, 1, 20_000, 4 * time.Second}, {"failed", 4, 1, 1_659_000, 220 * time.Second},
		{"running", 1, 2, 10_000, 2 * time.Second}} {
		g := got[i]
		if g.Status != want.status || g.Completed != want.completed || g.Sessions != want.sessions ||
			int64(g.Cost) != want.cost || g.WorkTime != want.worked {
			t.Errorf("run %d is %+v, want %+v", i, g, want)
		}
	}
	if !got[2].Ended.IsZero() || got[1].ExitCode != 1 || got[1].Tasks != 6 {
		t.Errorf("%+v", got)
	}
	if off := report.Runs(all, time.Time{}, false); off[2].Status != "cut off" || off[2].Ended.IsZero() {
		t.Errorf("%+v", off[2])
	}
	if report.Runs(nil, time.Time{}, false) != nil {
		t.Error("runs of an empty journal")
	}
	table := report.RunsTable(got, 0)
	lines := strings.Split(table, "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[1], "r-3  running") || !strings.Contains(lines[2], "$1.66") {
		t.Errorf("\n%s", table)
	}
	b, err := report.RunsJSON(got)
	testrepo.Must(t, err)
	var w struct {
		V    int
		Runs []struct {
			Run     string
			Status  string
			CostUSD float64 `json:"cost_usd"`
			Ended   *time.Time
		}
	}
	if err := json.Unmarshal(b, &w); err != nil || w.V != 1 || len(w.Runs) != 3 || w.Runs[1].CostUSD != 1.659 ||
		w.Runs[2].Ended != nil {
		t.Errorf("%v\n%s", err, b)
	}
}

// A session that was cut off counts as far as its records go: every prefix of a journal gives a
// list, and the cost never shrinks.
func TestRunsOfEveryPrefix(t *testing.T) {
	t.Parallel()
	all := journals(t)
	for n := range all {
		var runs int
		for _, e := range all[:n] {
			if _, ok := e.Body.(event.RunStarted); ok {
				runs++
			}
		}
		got := report.Runs(all[:n], time.Time{}, false)
		if len(got) != runs {
			t.Fatalf("after %d records: %d runs, want %d", n, len(got), runs)
		}
		for _, p := range got {
			if p.Status == "" || p.WorkTime < 0 || p.Cost < 0 || p.Completed > p.Tasks {
				t.Errorf("after %d records: %+v", n, p)
			}
		}
	}
}

// A rollback or a cancel between sessions adds an end but no work time.
func TestRunsEndedTwice(t *testing.T) {
	t.Parallel()
	s := reporttest.CompleteRun(t, nil)
	last := s.Events[len(s.Events)-1]
	again := event.Event{Seq: last.Seq + 1, Time: last.Time.Add(time.Hour),
		Body: event.RunEnded{Status: event.RunCancelled, ExitCode: 1}}
	one, two := report.Runs(s.Events, time.Time{}, false), report.Runs(append(s.Events, again), time.Time{}, false)
	if two[0].WorkTime != one[0].WorkTime || two[0].Status != event.RunCancelled || !two[0].Ended.Equal(again.Time) {
		t.Errorf("worked %s, want %s; %+v", two[0].WorkTime, one[0].WorkTime, two[0])
	}
}

// A journal from which a record is missing has the figures up to there, and the runs after it are whole.
func TestRunsWithoutARecord(t *testing.T) {
	t.Parallel()
	all := journals(t)
	for i, e := range all {
		if _, begins := e.Body.(event.RunStarted); begins {
			continue
		}
		got := report.Runs(slices.Concat(all[:i], all[i+1:]), all[len(all)-1].Time, false)
		if len(got) != 3 || i < len(all)/4 && got[1].Cost != 1_659_000 {
			t.Fatalf("without record %d: %+v", i, got)
		}
	}
}

// If the start of a journal is missing, its remaining runs are listed.
func TestRunsOfEverySuffix(t *testing.T) {
	t.Parallel()
	all := journals(t)
	for n := range all {
		for _, p := range report.Runs(all[n:], time.Time{}, false) {
			if p.Status == "" || p.WorkTime < 0 || p.Cost < 0 {
				t.Errorf("without %d records: %+v", n, p)
			}
		}
	}
}
