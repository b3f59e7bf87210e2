package cmd

import (
	"bufio"
	"context"
	"strings"
	"testing"

	"wavex/counsel"
	"wavex/runner"
)

// wise gives every question the same answer.
type wise struct{ asked []string }

func (w *wise) Ask(_ context.Context, q runner.Question) runner.Answer {
	w.asked = append(w.asked, q.Prompt)
	return runner.Answer{Outcome: runner.Done, Text: "because <loop-complete>", Cost: 70}
}

func TestAPersonJudgesFindings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines    []string
		want     string // resolutions
		blockers int
		cost     int64
	}{
		"the defaults":       {[]string{"", ""}, "task,", 1, 0},
		"approved, mended":   {[]string{"a", "t"}, "approved,task", 1, 0},
		"skipped":            {[]string{"skip", "s"}, "skipped,", 1, 0},
		"nobody answers":     {nil, ",", 1, 0},
		"discussed first":    {[]string{"d", "why?", "what", "approve", "s"}, "approved,", 0, 70},
		"leaves in the talk": {[]string{"d"}, ",", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			typed := ""
			for _, l := range c.lines {
				typed += l + "\n"
			}
			h := &interactiveJudge{prompter: &prompter{in: bufio.NewReader(strings.NewReader(typed)), out: &out}, out: &out}
			r := counsel.Review{Findings: []counsel.Finding{
				{ID: "F-1", Severity: counsel.Blocker, Confirmed: true, File: "a.go", Line: 3, Text: "it is \x1b[31mlost"},
				{ID: "F-2", Severity: counsel.Blocker, Refuted: "no", Text: "refuted"},
				{ID: "F-3", Severity: counsel.Warning, Text: "slow"},
				{ID: "F-4", Severity: counsel.Suggestion, Text: "taste"}}}
			w := &wise{}
			h.Judge(t.Context(), &counsel.Panel{Caller: w}, counsel.ReviewCase{Name: "round-1", Diff: "d"}, &r)
			if got := r.Findings[0].Resolution + "," + r.Findings[2].Resolution; got != c.want {
				t.Errorf("resolved as %q, want %q", got, c.want)
			}
			if len(r.Blockers()) != c.blockers || int64(r.Cost) != c.cost || r.Findings[1].Resolution+
				r.Findings[3].Resolution != "" {
				t.Errorf("blockers %+v, cost %d", r.Blockers(), r.Cost)
			}
			said := out.String()
			if strings.Contains(said, "\x1b") || strings.Contains(said, "<loop-complete>") ||
				!strings.Contains(said, "a.go:3: ") {
				t.Errorf("shown: %q", said)
			}
			if c.cost > 0 && (len(w.asked) != 1 || !strings.Contains(w.asked[0], "why?")) {
				t.Errorf("asked %q", w.asked)
			}
		})
	}
}
