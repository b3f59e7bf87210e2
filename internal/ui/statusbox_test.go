package ui

import (
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/report/reporttest"
	"wavex/internal/textfmt"
	"wavex/runner"
)

func TestBoxGolden(t *testing.T) {
	t.Parallel()
	all := map[string]runFunc{"closed": reporttest.RefusedRun}
	for name, tell := range testRuns {
		all[name] = tell
	}
	for name, tell := range all {
		s := tell(t, nil)
		st := StatusOf(s.S, s.S.Ended == nil)
		golden(t, "box-"+name+".txt", StatusBox(st, Options{Width: func() int { return 80 }}))
		for _, columns := range []int{200, 60, 30} {
			o := Options{Width: func() int { return columns }, ASCII: columns == 60}
			lines := strings.Split(strings.TrimSuffix(StatusBox(st, o), "\n"), "\n")
			for i, l := range lines {
				framed := strings.HasPrefix(l, "│") || strings.HasPrefix(l, "|")
				if w := textfmt.Width(l); framed && (w != textfmt.Width(lines[0]) || w >= columns) {
					t.Errorf("%s at %d: line %d has %d columns, the frame %d: %s", name, columns, i, w, textfmt.Width(lines[0]), l)
				}
				if strings.ContainsAny(l, "\x1b\r\x07") {
					t.Errorf("%s: controls in %q", name, l)
				}
			}
		}
		st.Plain = true
		if b := StatusBox(st, Options{}); strings.ContainsAny(b, "│┌└") {
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
		{"", 10, ""}, {"one two three", 8, "one two|three"}, {"abcdefghijkl", 8, "abcdefgh|ijkl"},
		{"a abcdefghij b", 8, "a|abcdefgh|ij b"},
		{"終わり終わり", 8, "終わり終|わり"},
	} {
		if got := strings.Join(wrapText(tc.text, tc.columns), "|"); got != tc.want {
			t.Errorf("fold(%q, %d) = %q, want %q", tc.text, tc.columns, got, tc.want)
		}
	}
}

func TestRequestBoxGolden(t *testing.T) {
	t.Parallel()
	o := &event.Origin{SpecScore: 8, FitScore: 31, Shape: "Tool", Workflow: "B"}
	var b strings.Builder
	for _, r := range []Request{
		{Text: "add a --json flag \x1b[31mto cmd/status.go", Stage: "intent", Next: "wavex start"},
		{Text: "make it better", Stage: "shape", Origin: o, Vague: true, Next: `wavex start "..."`},
		{Text: "add a --json flag", Stage: "decompose", Origin: o, Next: "wavex start", Plain: true},
		{Text: "add a --json flag", Stage: "executing", Origin: o, Planned: true, Next: "wavex start"},
		{Text: strings.Repeat("rewrite everything ", 12), Stage: "executing", Origin: o, Planned: true, Split: true,
			Next: `wavex start "..."`},
	} {
		b.WriteString(RequestBox(r, Options{Width: func() int { return 72 }}))
	}
	golden(t, "box-request.txt", b.String())
}

// A run whose failed items the plan allows is done: the box asks for nothing, and the verdict is not the best.
func TestBoxOfAllowedFailures(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "list", reporttest.Tasks{{ID: "g[a]"}, {ID: "g[b]"}})
	for i := range s.S.Plan.Tasks {
		s.S.Plan.Tasks[i].Group, s.S.Plan.Tasks[i].Command = "g", "x"
	}
	s.S.Plan.Groups = []plan.Group{{ID: "g", Known: true, Tasks: []int{0, 1}, AllowFailures: "1"}}
	s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("g[a]", 0).StartAttempt("g[b]", 1)
	s.EndAttempt("g[a]", runner.Result{Outcome: runner.Wrong, Reason: "no"}, event.Failed, nil)
	s.EndAttempt("g[b]", runner.Result{Outcome: runner.Done}, event.Completed, nil)
	s.Apply(event.GateEnded{Passed: true, ExitSignal: true, Review: event.ReviewThorough})
	s.EndRun(event.RunComplete, 0, "", "")
	waves := StatusOf(s.S, false).Stages[1]
	if want := (Stage{markWarn, "waves", "1 of 2 completed, 1 failed, as the plan allows", ""}); waves != want {
		t.Errorf("the stage is %+v", waves)
	}
	if v := report.VerdictOf(s.S); v.Word != report.Monitor ||
		!strings.Contains(strings.Join(v.Risks, "; "), "1 of 2 items of g failed; the plan allows 1") {
		t.Errorf("the verdict is %+v", v)
	}
}
