package ui

import (
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/report/reporttest"
)

// The line of an attempt on another machine names the worker, while it runs and at its end.
func TestLinesNameTheWorker(t *testing.T) {
	t.Parallel()
	end := event.AttemptEnded{Task: "T-002", Attempt: 2, Result: reporttest.PassingResult(120_000)}
	end.Result.Worker = "w1"
	if text := strings.Join(LogEnd(end), "\n"); !strings.Contains(text, " | on w1") {
		t.Errorf("the log ends with\n%s", text)
	}
	m := &liveModel{running: []event.Activity{{Task: "T-002", Subject: "Write the parser", Kind: "attempt", Attempt: 2}}}
	m.observe("T-002", 2, "", reporttest.Start, 0, "w2")
	text := strings.Join(m.lines(reporttest.Start, 100, 24, true), "\n")
	if !strings.Contains(text, "(attempt 2) on w2 Write") {
		t.Errorf("the live view:\n%s", text)
	}
}
