package cmd

import (
	"bufio"
	"strings"
	"testing"

	"wavex/counsel"
)

func TestAPersonJudgesFindings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines    []string
		want     string // resolutions
		blockers int
	}{
		"the defaults":     {[]string{"", ""}, "task,", 1},
		"approved, mended": {[]string{"a", "t"}, "approved,task", 1},
		"skipped":          {[]string{"skip", "s"}, "skipped,", 1},
		"nobody answers":   {nil, ",", 1},
		"no such word":     {[]string{"what", "approve", "s"}, "approved,", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			typed := ""
			for _, l := range c.lines {
				typed += l + "\n"
			}
			p := &prompter{in: bufio.NewReader(strings.NewReader(typed)), out: &out}
			r := counsel.Review{Findings: []counsel.Finding{
				{ID: "F-1", Severity: counsel.Blocker, Confirmed: true, File: "a.go", Line: 3, Text: "it is \x1b[31mlost"},
				{ID: "F-2", Severity: counsel.Blocker, Refuted: "no", Text: "refuted"},
				{ID: "F-3", Severity: counsel.Warning, Text: "slow"},
				{ID: "F-4", Severity: counsel.Suggestion, Text: "taste"}}}
			judgeFindings(t.Context(), p, &out, &r)
			if got := r.Findings[0].Resolution + "," + r.Findings[2].Resolution; got != c.want {
				t.Errorf("resolved as %q, want %q", got, c.want)
			}
			if len(r.Blockers()) != c.blockers || r.Findings[1].Resolution+r.Findings[3].Resolution != "" {
				t.Errorf("blockers %+v", r.Blockers())
			}
			said := out.String()
			if strings.Contains(said, "\x1b") || !strings.Contains(said, "a.go:3: ") {
				t.Errorf("shown: %q", said)
			}
		})
	}
}
