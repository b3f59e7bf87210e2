package report_test

import (
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/report/reporttest"
	"wavex/runner"
	"wavex/scheduler"
)

func TestAnnotations(t *testing.T) {
	t.Parallel()
	s := report.Summary{Status: "paused", ExitCode: 3, Reason: "the money is spent", Resume: "wavex resume --budget +10",
		Tasks: []report.Task{
			{ID: "A", Subject: "works", Status: event.Completed},
			{ID: "B", Subject: "colons: commas, and 100%", Status: event.Failed, Outcome: runner.Wrong,
				Reason: "check failed: 50%\n::error::not ours\x1b[31m", Pos: plan.Pos{Line: 7, Column: 3}},
			{ID: "C", Subject: "asks", Status: event.Pending, Outcome: runner.Denied, Reason: "may not run rm"},
			{ID: "D", Subject: "waits", Status: event.Pending},
			{ID: "E", Subject: "is blocked", Status: event.Blocked, Reason: "blocked by B"},
		}}
	want := `::error file=plans/a%2Cb.json,title=B failed (wrong)%3A colons%3A commas%2C and 100%25,line=7,col=3::check failed: 50%25%0A::error::not ours
::error file=plans/a%2Cb.json,title=C pending (denied)%3A asks::may not run rm
::warning title=wavex%3A paused::the money is spent%0AContinue with: wavex resume --budget +10
`
	if got := s.Annotations("plans/a,b.json"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (&report.Summary{Status: "complete"}).Annotations("p"); got != "" {
		t.Errorf("%q", got)
	}
	s.Tasks = nil
	for range 13 {
		s.Tasks = append(s.Tasks, report.Task{ID: "X", Status: event.Failed, Outcome: runner.Wrong})
	}
	if got := s.Annotations("p"); strings.Count(got, "::error") != 10 || !strings.Contains(got, "3 more tasks failed") {
		t.Error(got)
	}
}

// TestWorkflowCommandsAreEscaped checks that foreign text never becomes a command.
func TestWorkflowCommandsAreEscaped(t *testing.T) {
	t.Parallel()
	story := reporttest.HostileRun(t, func(event.Event, *scheduler.State) {})
	sum := report.Of(story.S, story.Events)
	out := sum.Annotations("plan.json")
	if out == "" {
		t.Fatal("nothing to look at")
	}
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "::error file=plan.json,title=") && !strings.HasPrefix(line, "::warning title=") ||
			strings.ContainsAny(line, "\r\x1b") {
			t.Errorf("%q", line)
		}
	}
	for line := range strings.Lines(sum.Outputs()) {
		if k, _, ok := strings.Cut(line, "="); !ok || strings.ContainsAny(k, " <") {
			t.Errorf("%q", line)
		}
	}
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	story := reporttest.PausedRun(t, func(event.Event, *scheduler.State) {})
	sum := report.Of(story.S, story.Events)
	out := sum.Outputs()
	for _, want := range []string{"status=" + string(sum.Status) + "\n", "completed=",
		"cost-usd=", "resume-at=", "exit-code="} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
