package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/report/reporttest"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// boardOf returns a board in the middle of a story.
func boardOf(t *testing.T) (*Board, time.Time) {
	t.Helper()
	s := reporttest.New(t, "parser", reporttest.Tasks{{ID: "T-001", Subject: "Add the token type"},
		{ID: "T-002", Subject: "Write the parser"},
		{ID: "T-003", Subject: "Document the grammar, with examples", Blockers: []int{0, 1}},
		{ID: "T-004", Subject: "Publish", Blockers: []int{2}}})
	s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0).StartAttempt("T-002", 1).Advance(12*time.Second).
		EndAttempt("T-001", reporttest.PassingResult(120_000), "completed", nil).Advance(50 * time.Second)
	b := BoardOf(s.S, true)
	b.Running = []event.Activity{
		{Task: "T-002", Subject: "Write the parser", Kind: "attempt", Attempt: 2,
			Since: reporttest.Start.Add(4 * time.Second), Last: "Bash go test ./...", At: s.Now().Add(-3 * time.Second)},
		{Task: "T-009", Subject: "Name it", Kind: "counsel", Attempt: 1, Since: s.Now().Add(-9 * time.Second)},
		{Kind: "review", Attempt: 1, Since: s.Now().Add(-70 * time.Second)},
	}
	return b, s.Now()
}

func TestBoardGolden(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ columns, rows int }{{100, 24}, {60, 24}, {32, 12}, {80, 6}} {
		b, now := boardOf(t)
		o := Options{Width: func() int { return size.columns }, Height: func() int { return size.rows },
			ASCII: size.columns == 60}
		golden(t, fmt.Sprintf("board-%dx%d.txt", size.columns, size.rows), strings.Join(b.Lines(now, o), "\n")+"\n")
	}
	for name, tell := range testRuns {
		s := tell(t, nil)
		b := BoardOf(s.S, false)
		golden(t, "board-"+name+".txt", strings.Join(b.Lines(s.Now(), Options{}), "\n")+"\n")
	}
}

// The line of an attempt on another machine names the worker, while it runs and at its end.
func TestLinesNameTheWorker(t *testing.T) {
	t.Parallel()
	b, now := boardOf(t)
	b.Running[0].Worker = "w1"
	if text := strings.Join(b.Lines(now, Options{}), "\n"); !strings.Contains(text, "T-002 (attempt 2) on w1 Write") {
		t.Errorf("the board:\n%s", text)
	}
	end := event.AttemptEnded{Task: "T-002", Attempt: 2, Result: reporttest.PassingResult(120_000)}
	end.Result.Worker = "w1"
	if text := strings.Join(LogEnd(end), "\n"); !strings.Contains(text, " | on w1") {
		t.Errorf("the log ends with\n%s", text)
	}
	screen := &liveModel{running: b.Running}
	screen.observe("T-002", 2, "", now, 0, "w2")
	if text := strings.Join(screen.lines(now, 100, 24, true), "\n"); !strings.Contains(text, "(attempt 2) on w2 Write") {
		t.Errorf("the live view:\n%s", text)
	}
}

// For every size and every number of waves and tasks, no line is wider than the screen, the lines
// fit its rows, and the open wave is shown.
func TestBoardFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := &Board{Run: "r", Name: rapid.StringN(0, 80, -1).Draw(t, "name"), Status: "running",
			Stopping: rapid.SampledFrom([]string{"", "why\x1b[2J"}).Draw(t, "stop")}
		n := rapid.IntRange(0, 60).Draw(t, "waves")
		for range n {
			all := rapid.IntRange(1, 2000).Draw(t, "all")
			done := rapid.IntRange(0, all).Draw(t, "done")
			b.ByWave = append(b.ByWave, scheduler.Tally{All: all, Completed: done,
				Failed: rapid.IntRange(0, all-done).Draw(t, "failed")})
		}
		b.CurrentWave = rapid.IntRange(0, n).Draw(t, "open")
		for range rapid.IntRange(0, 40).Draw(t, "running") {
			b.Running = append(b.Running, event.Activity{Task: rapid.String().Draw(t, "task"),
				Subject: rapid.String().Draw(t, "subject"),
				Kind:    "attempt",
				Attempt: 2, Since: reporttest.Start, Last: rapid.String().Draw(t, "last"), At: reporttest.Start})
		}
		for range rapid.IntRange(0, 30).Draw(t, "lists") {
			b.Lists = append(b.Lists, report.Group{ID: rapid.String().Draw(t, "list"), Known: rapid.Bool().Draw(t, "known"),
				Items: 20, Waiting: rapid.IntRange(0, 20).Draw(t, "waiting")})
		}
		columns, rows := rapid.IntRange(12, 200).Draw(t, "columns"), rapid.IntRange(4, 60).Draw(t, "rows")
		o := Options{Width: func() int { return columns }, Height: func() int { return rows },
			ASCII: rapid.Bool().Draw(t, "ascii")}
		lines := b.Lines(reporttest.Start.Add(time.Hour), o)
		if len(lines) > rows-1 {
			t.Fatalf("%d lines on %d rows", len(lines), rows)
		}
		seen := n == 0 || b.CurrentWave == 0
		for _, l := range lines {
			if w := textfmt.Width(l); w > columns-1 {
				t.Fatalf("%q has %d columns of %d", l, w, columns)
			}
			if strings.ContainsAny(l, "\x1b\n\r") {
				t.Fatalf("%q holds controls", l)
			}
			seen = seen || strings.HasPrefix(l, ">")
		}
		if rows > 12 && !seen {
			t.Fatalf("the open wave %d is not shown:\n%s", b.CurrentWave, strings.Join(lines, "\n"))
		}
	})
}
