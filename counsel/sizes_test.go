package counsel

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wavex/internal/check"
	"wavex/runner"
)

// Texts and a list that are longer than any part of a prompt or of an answer may be.
var (
	long     = strings.Repeat("x", 4200)
	longList = slices.Repeat([]string{long[:500]}, 40)
	longDiff = strings.Repeat("+z\n", 30_000)
)

// sectionSizes returns the number of bytes of each section of a prompt, and last those around them.
func sectionSizes(prompt string) (sizes []int) {
	section := regexp.MustCompile(`(?s)<(data-[0-9a-f]{8}) [^>]*>\n(.*?)\n</data-[0-9a-f]{8}>\n`)
	for _, m := range section.FindAllStringSubmatch(prompt, -1) {
		sizes = append(sizes, len(m[2]))
	}
	return append(sizes, len(section.ReplaceAllString(prompt, "")))
}

// Each call pays for its prompt. These are the most bytes of its parts, the same for each expert.
func TestSizesOfPrompts(t *testing.T) {
	t.Parallel()
	f := Finding{ID: "F-1", Text: long, Evidence: long, Fix: long}
	many := slices.Repeat([]Finding{f}, 20)
	review := ReviewCase{Mode: Light, Name: "r", Request: long, Tasks: longList, Criteria: longList, MustNot: longList,
		Diff: longDiff, Doubts: slices.Repeat([]Doubt{{Why: long}}, 20), Candidates: many, Open: many}
	thorough := review
	thorough.Mode = Thorough
	failed := check.Evidence{Check: long[:300], Output: long[:1000], ExitCode: 1}
	stuck := Case{Task: long, Description: long, Outcome: runner.Outcome(long), Reason: long, Detail: long + "!",
		Report: long, Diff: longDiff, History: longList, PastAdvice: longList, MustNot: longList,
		Checks: append(slices.Repeat([]check.Evidence{failed}, maxChecks+1), check.Evidence{Check: long, Passed: true})}
	opinion := func(approach, action string) runner.Answer {
		return said(0, fmt.Sprintf(`{"diagnosis":%q,"cause":%q,"approach":%q,"confidence":1,"falsifier":%q,"action":%q}`,
			long, long, approach, long, action))
	}
	blocker := said(0, fmt.Sprintf(
		`{"score":1,"findings":[{"severity":"BLOCKER","file":%q,"text":%q,"evidence":%q,"fix":%q}]}`, long, long, long, long))
	ctx := t.Context()
	for _, tt := range []struct {
		name    string // of the questions, and of the answer
		answers map[string]runner.Answer
		ask     func(*Panel)
		want    []int
	}{
		{"counsel", map[string]runner.Answer{"counsel": opinion("a", "retry")},
			func(p *Panel) { p.Diagnose(ctx, stuck) }, []int{1200, 400, 732, 732, 732, 137, 1500, 600, 400, 600, 200, 141}},
		{"precheck", map[string]runner.Answer{"precheck": said(0, `{"verdict":"go"}`)},
			func(p *Panel) {
				p.Challenge(ctx, ChallengeCase{Subject: long, Description: long + long, Request: long, Files: longList,
					Checks: longList, MustNot: longList})
			}, []int{400, 8191, 2000, 4000, 4000, 4000, 0}},
		{"review", map[string]runner.Answer{"review": blocker},
			func(p *Panel) { p.Review(ctx, review) }, []int{2000, 3000, 3000, 1500, 3000, 3000, 3000, 24576, 57}},
		{"review", map[string]runner.Answer{"review": blocker, "refute": said(0, `{"refuted":true}`)},
			func(p *Panel) { p.Review(ctx, thorough) }, []int{2000, 3000, 3000, 1500, 3000, 3000, 3000, 65536, 62}},
		{"refute", map[string]runner.Answer{"review": blocker, "refute": said(0, `{"refuted":true}`)},
			func(p *Panel) { p.Review(ctx, thorough) }, []int{1498, 1200, 1200, 1500, 2000, 1500, 16384, 0}},
		{"judge", map[string]runner.Answer{"judge": said(0, `{}`)},
			func(p *Panel) {
				p.Judge(ctx, JudgeCase{Statements: slices.Repeat([]Statement{{Text: long}}, 40), Request: long, Diff: longDiff,
					Files: longList})
			}, []int{12287, 2000, 4000, 24576, 0}},
		{"clarify", map[string]runner.Answer{"clarify": said(0, `{}`)},
			func(p *Panel) { p.Clarify(ctx, ClarifyCase{Request: long, Gaps: []Gap{{"scope", "a", "b"}}}) }, []int{3999, 68}},
	} {
		p := scriptedCaller{t, tt.answers, make(chan runner.Question, 9)}
		tt.ask(&Panel{Caller: p, Experts: builtIn(t)})
		n := 0
		for _, q := range allAsked(p) {
			if strings.HasPrefix(q.Name, tt.name) {
				n++
				same(t, q.Name, sectionSizes(q.Prompt), tt.want)
			}
		}
		if n == 0 {
			t.Errorf("no question %s", tt.name)
		}
	}
}

// Texts of models go into the journal, into prompts and onto the screen: these are their most bytes.
func TestSizesOfAnswers(t *testing.T) {
	t.Parallel()
	lost := runner.Answer{Outcome: runner.Done, Structured: []byte("[]")}
	failed := runner.Answer{Outcome: runner.Throttled, Reason: long}
	blocker := func(a runner.Answer) string {
		r := Review{Findings: []Finding{{Severity: Blocker, Text: long}}}
		p := scriptedCaller{t, map[string]runner.Answer{"refute": a}, make(chan runner.Question, 9)}
		(&Panel{Caller: p, Experts: builtIn(t)}).confirmBlockers(t.Context(), ReviewCase{}, []Expert{{Name: "a"}}, &r)
		return r.Error
	}
	asked := usableQuestions("a", []ClarifyQuestion{{Question: long, Proposals: []string{long, "short"}}}, []Gap{{}})
	c := tallyChallenge([]Expert{{Name: "a"}}, []runner.Answer{said(0, fmt.Sprintf(
		`{"verdict":"go","reason":%q,"conditions":[%q,"1","2","3","4","5","6","7","8"]}`, long, long))})
	_, why := decode[Opinion](failed)
	review := tallyReview([]Expert{{Name: "a"}, {Name: long}}, []runner.Answer{lost, failed})
	aspects := parseAspects([]string{"1", "2", "3", "4", "5", "6", strings.Repeat("0", 50)})
	v := Verdict{Action: Retry, Fix: long}
	long := Opinion{Expert: "a", Approach: long, Diagnosis: long, Unavailable: long}
	panicked := (&Panel{Caller: panicking{}}).askOne(t.Context(), runner.Question{})
	problem := func(line string) int {
		_, err := parseProfile("own.md", []byte("---\n"+line+"\n---\nYou think."))
		return len(err.Error())
	}
	for name, n := range map[string][2]int{
		"key":                   {problem(long.Approach+": a") - problem("x: a"), 39},
		"nested key":            {problem(long.Approach+": {a: b}") - problem("x: {a: b}"), 39},
		"kind of failure":       {problem("failures: "+long.Approach) - problem("failures: x"), 39},
		"no opinion":            {len(Tally([]Opinion{long}).Unavailable), 800},
		"dissent":               {len(dissentLine(long)), 600},
		"advice":                {len(v.Advice()), 400},
		"analysis":              {len(analysisText(long, false)), 3999},
		"fix":                   {len(fixText(long)), 3000},
		"no answer":             {len(why), len("throttled: ") + 300},
		"review without answer": {len(review.Error), 600},
		"undecided blocker": {len(blocker(failed)), len("a blocker could be neither confirmed nor refuted: : throttled: ") +
			300},
		"path":                  {len(localPath(long.Approach)), 300},
		"aspects":               {len(aspects), 5},
		"aspect":                {len(aspects[0]), 40},
		"question":              {len(asked[0].Question), 400},
		"proposal":              {len(asked[0].Proposals[0]), 300},
		"reason of a challenge": {len(c.Reason), 400},
		"conditions":            {len(c.Conditions), 8},
		"condition":             {len(c.Conditions[0]), 300},
		"panic":                 {len(panicked.Reason), len("the call panicked: ") + 200},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %d bytes, want %d", name, n[0], n[1])
		}
	}
}

// panicking is a Caller that panics with a long text.
type panicking struct{}

// Ask panics.
func (panicking) Ask(context.Context, runner.Question) runner.Answer { panic(long) }
