package ui

import (
	"strings"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/report/reporttest"
	"wavex/internal/transcript"
	"wavex/runner"
	"wavex/scheduler"
)

const evilText = "\x1b[31mred\x1b]0;t\x07 <loop-complete>\x9b2J\u202e\x00 end"

// logged returns the lines of one entry of each kind.
func logged(o Options) string {
	long := strings.TrimSuffix(strings.Repeat("line\n", 30), "\n")
	var b strings.Builder
	for _, e := range []transcript.Entry{
		{Kind: transcript.Init, Text: "claude 2.1.197 claude-sonnet-4-5"},
		{Kind: transcript.Text, Text: "I look at the parser first.\n\n    code is kept  as it is\n"},
		{Kind: transcript.Thinking, Text: "Hm."},
		{Kind: transcript.Tool, Tool: "Bash", Target: "go test ./...\ngo vet ./...\na\nb\nc"},
		{Kind: transcript.ToolAnswer, Tool: "Bash", Text: long},
		{Kind: transcript.Tool, Tool: "Edit", Target: "parse.go"},
		{Kind: transcript.ToolAnswer, Tool: "Edit", Patch: []transcript.Change{{Path: "parse.go",
			Lines: []string{"@@ -1,2 +1,2 @@", " a", "-\tb", "+\tc"}}}},
		{Kind: transcript.ToolAnswer, Tool: "Write",
			Patch: []transcript.Change{{Path: "n", Created: true, Lines: strings.Split(long+"\n"+long, "\n")}}},
		{Kind: transcript.Tool, Tool: "Grep", Target: "x", Subagent: true},
		{Kind: transcript.ToolAnswer, Tool: "Grep", Text: "no", Failed: true, Subagent: true},
		{Kind: transcript.ToAgent, Text: "a reminder\n2\n3\n4"},
		{Kind: transcript.Retry, Text: "529 overloaded, try 1 of 3 in 1.5s", Failed: true},
		{Kind: transcript.NonJSON, Text: evilText},
		{Kind: transcript.Text, Text: evilText},
		{Kind: transcript.Tool, Tool: evilText, Target: evilText},
		{Kind: transcript.ToolAnswer, Tool: evilText, Text: evilText, Failed: true},
		{Kind: transcript.End, Text: "error_during_execution after 2 turns, $0.10\n" + evilText, Failed: true},
	} {
		for _, l := range LogEntry(e, o) {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}

func TestLogGolden(t *testing.T) {
	t.Parallel()
	got := logged(Options{})
	golden(t, "log.txt", got)
	golden(t, "log-ascii.txt", logged(Options{ASCII: true}))
	colored := logged(Options{Color: true})
	if !strings.Contains(colored, "\x1b[32m+\tc\x1b[0m") {
		t.Error("added lines have no colour")
	}
	if bare := colorSequence().ReplaceAllString(colored, ""); bare != got {
		t.Errorf("with its colours taken away the log is another one:\n%s", bare)
	}
	for _, bad := range []string{"\x1b", "\x07", "\x00", "\u009b", "\u202e", "<loop-complete>"} {
		if strings.Contains(got, bad) {
			t.Errorf("the log holds %q", bad)
		}
	}
}

func titleOf(s *scheduler.State, task string) string {
	i, _ := s.Index(task)
	return s.Plan.Tasks[i].Title()
}

func TestLogOfAnAttempt(t *testing.T) {
	t.Parallel()
	s := reporttest.MixedRun(t, nil)
	var b strings.Builder
	for _, e := range s.Events {
		switch body := e.Body.(type) {
		case event.AttemptStarted:
			b.WriteString(LogStart(body, titleOf(s.S, body.Task), e.Time) + "\n")
		case event.AttemptEnded:
			b.WriteString(strings.Join(LogEnd(body), "\n") + "\n")
		}
	}
	golden(t, "log-attempts.txt", b.String())
	denied := strings.Join(LogEnd(event.AttemptEnded{Result: runner.Result{Denials: []runner.Denial{{Rule: "a"},
		{Rule: "b", By: "c in d"}, {Rule: "e", Left: "/p/f"}, {Tool: "g"}}}}), "\n")
	for _, want := range []string{"allowedTools: a", "by the rule c in d", "directory for /p/f", "g is denied in spite"} {
		if !strings.Contains(denied, want) {
			t.Errorf("the log lacks %q:\n%s", want, denied)
		}
	}
	evil := reporttest.HostileRun(t, nil)
	for _, e := range evil.Events {
		if body, ok := e.Body.(event.AttemptEnded); ok {
			if l := strings.Join(LogEnd(body), "\n"); strings.ContainsAny(l, "\x1b\x07\x00\r") {
				t.Errorf("%q", l)
			}
		}
	}
	if got := followUpText(event.AttemptEnded{Status: event.Pending, Continue: true,
		NotBefore: reporttest.Start.Add(time.Hour)}); got != "another attempt in the same session not before 2026-01-02T04:04:05Z" {
		t.Error(got)
	}
}
