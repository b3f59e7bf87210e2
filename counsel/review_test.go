package counsel

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/runner"
)

// scriptedCaller is a Caller that chooses the answer by the expert if answers has it, or else by the first
// part of a question's name.
type scriptedCaller struct {
	t       *testing.T
	answers map[string]runner.Answer
	asked   chan runner.Question
}

func (p scriptedCaller) Ask(_ context.Context, q runner.Question) runner.Answer {
	p.asked <- q
	parts := strings.Split(q.Name, "/")
	for _, name := range []string{parts[len(parts)-1], parts[0]} {
		if a, ok := p.answers[name]; ok {
			return a
		}
	}
	p.t.Errorf("nobody answers %s", q.Name)
	return runner.Answer{Outcome: runner.Broken}
}

func said(cost budget.USD, v string) runner.Answer {
	return runner.Answer{Outcome: runner.Done, Structured: json.RawMessage(v), Cost: cost}
}

func reviewed(t *testing.T, mode Mode, answers map[string]runner.Answer) (Review, []runner.Question) {
	t.Helper()
	return reviewedCase(t, ReviewCase{Mode: mode, Name: "round-1",
		Diff:  "diff --git a/a.go b/a.go\n+x\ndiff --git a/b.go b/b.go\n+y\n",
		Files: []string{"a.go"}, Cap: budget.Dollar, MustNot: []string{"delete a.go"}}, answers)
}

func reviewedCase(t *testing.T, c ReviewCase, answers map[string]runner.Answer) (Review, []runner.Question) {
	t.Helper()
	p := scriptedCaller{t, answers, make(chan runner.Question, 100)}
	r := (&Panel{Caller: p, Experts: builtIn(t)}).Review(t.Context(), c)
	return r, allAsked(p)
}

// allAsked returns the questions of a panel that has ended.
func allAsked(p scriptedCaller) (asked []runner.Question) {
	close(p.asked)
	for q := range p.asked {
		asked = append(asked, q)
	}
	return asked
}

const oneBlocker = `{"score": 4, "findings": [{"severity": "blocker", "file": "b/a.go", "line": 3, "text": "the last line is lost", "fix": "delete a.go"}]}`

// Only light reviewers are asked for idiom, cleanliness and delivery; a thorough review has the criteria.
func TestLightReviewersAreAskedForQuality(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Light, Thorough} {
		_, asked := reviewed(t, mode, map[string]runner.Answer{"review": said(100, `{"score": 8, "findings": []}`)})
		if len(asked) < 2 {
			t.Fatalf("%s: %d questions", mode, len(asked))
		}
		for _, q := range asked {
			for _, word := range []string{"idiom:", "cleanliness:", "delivery:"} {
				if strings.Contains(q.System, word) != (mode == Light) {
					t.Errorf("%s: %s: %q", mode, word, q.System)
				}
			}
		}
	}
}

func TestBlockersNeedASecondExpert(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refute    runner.Answer
		confirmed bool
		refuted   string
		fix       string
		err       string
	}{
		"stands": {said(50, `{"refuted": false, "reason": "seen"}`), true, "", "delete a.go", ""},
		"refuted": {said(50, `{"refuted": true, "reason": "it is flushed"}`), false, "it is flushed",
			"delete a.go", ""},
		"a better fix": {said(50, `{"refuted": false, "reason": "seen", "violates": "delete a.go", "fix": "flush"}`),
			true, "", "flush", ""},
		"no allowed fix": {said(50, `{"refuted": false, "reason": "seen", "violates": "delete a.go"}`), true, "", "", ""},
		"nonsense":       {said(50, `{"stars": 5}`), false, "", "delete a.go", "could be neither confirmed nor refuted"},
		"nothing": {runner.Answer{Outcome: runner.Truncated, Cost: 50}, false, "", "delete a.go",
			"could be neither confirmed nor refuted: F-1: truncated"},
		"refuted, no words": {said(50, `{"refuted": true, "reason": ""}`), false, "no reason was given", "delete a.go", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, asked := reviewed(t, Thorough, map[string]runner.Answer{"review": said(100, oneBlocker), "refute": c.refute})
			if len(asked) != 4 || len(r.Experts) != 3 || len(r.Findings) != 1 {
				t.Fatalf("%d calls, review %+v", len(asked), r)
			}
			f := r.Findings[0]
			if f.Confirmed != c.confirmed || f.Refuted != c.refuted || f.Fix != c.fix || f.File != "a.go" ||
				f.Severity != Blocker {
				t.Errorf("finding %+v", f)
			}
			if (c.err == "") != (r.Error == "") || !strings.Contains(r.Error, c.err) || r.Cost != 350 {
				t.Errorf("error %q, cost %d", r.Error, r.Cost)
			}
			if (len(r.Blockers()) > 0) != c.confirmed {
				t.Errorf("blockers %v", r.Blockers())
			}
			for _, q := range asked {
				if !strings.HasPrefix(q.Name, "refute/") {
					same(t, "cap of a reviewer, with room for two refutations", q.Cap, budget.Dollar/5)
					continue
				}
				same(t, "the rest of the cap", q.Cap, budget.Dollar-300)
				same(t, "tools", len(q.Tools), 3)
				if strings.Contains(q.Prompt, "b.go") || !strings.Contains(q.Prompt, "delete a.go") {
					t.Errorf("the second expert is shown %s", q.Prompt)
				}
			}
		})
	}
}

// One confirmed blocker decides, whatever becomes of the others.
func TestAnUndecidedBlockerBesideAConfirmedOne(t *testing.T) {
	t.Parallel()
	two := `{"score": 4, "findings": [{"severity": "BLOCKER", "file": "a.go", "text": "the last line is lost"},
		{"severity": "BLOCKER", "file": "b.go", "text": "a lock is never released"}]}`
	lost := runner.Answer{Outcome: runner.Interrupted}
	stands := said(1, `{"refuted": false, "reason": "seen"}`)
	for _, answers := range []map[string]runner.Answer{{"F-1": stands, "F-2": lost}, {"F-1": lost, "F-2": stands}} {
		answers["review"] = said(1, two)
		r, _ := reviewed(t, Thorough, answers)
		if r.Error != "" || len(r.Blockers()) != 1 || r.Failure != runner.Interrupted {
			t.Errorf("review %+v", r)
		}
	}
}

func TestNoMoneyIsLeftToConfirm(t *testing.T) {
	t.Parallel()
	for cap, confirms := range map[budget.USD]bool{250: false, 300: false, 301: true} {
		answers := map[string]runner.Answer{"review": said(100, oneBlocker),
			"refute": said(1, `{"refuted": true, "reason": "it is flushed"}`)}
		r, asked := reviewedCase(t, ReviewCase{Mode: Thorough, Diff: "+x", Cap: cap}, answers)
		if confirms && (len(asked) != 4 || r.Error != "" || r.Cost != 301) ||
			!confirms && (len(asked) != 3 || r.Error != "no money is left to confirm its blockers" || r.Cost != 300) {
			t.Errorf("cap %s: %d calls, review %+v", cap, len(asked), r)
		}
	}
}

// Refutations have no cap if the review has none. Otherwise they share the rest of it.
func TestRefutationsShareTheRest(t *testing.T) {
	t.Parallel()
	two := `{"score": 4, "findings": [{"severity": "BLOCKER", "file": "a.go", "text": "the last line is lost"},
		{"severity": "BLOCKER", "file": "b.go", "text": "a lock is never released"}]}`
	for limit, want := range map[budget.USD]budget.USD{0: 0, 1000: 350} {
		_, asked := reviewedCase(t, ReviewCase{Mode: Thorough, Diff: "+x", Cap: limit}, map[string]runner.Answer{
			"review": said(100, two), "refute": said(1, `{"refuted": true, "reason": "it is flushed"}`)})
		same(t, "calls", len(asked), 5)
		for _, q := range asked {
			if strings.HasPrefix(q.Name, "refute/") {
				same(t, "cap", q.Cap, want)
				same(t, "log", q.LogDir, "")
				same(t, "changes", strings.Contains(q.Prompt, "+x"), true)
			}
		}
	}
}

// Another reviewer refutes, and the finder itself only if it is alone.
func TestRefuter(t *testing.T) {
	t.Parallel()
	a, b, c := Expert{Name: "a"}, Expert{Name: "b"}, Expert{Name: "c"}
	for _, tt := range []struct {
		name  string
		asked []Expert
		turn  int
		want  string
	}{
		{"another reviewer", []Expert{a, c}, 0, "c"},
		{"in turn", []Expert{a, b, c}, 1, "c"},
		{"round again", []Expert{a, b, c}, 2, "b"},
		{"no other", []Expert{a}, 3, "a"},
	} {
		same(t, tt.name, refuter(tt.asked, "a", tt.turn).Name, tt.want)
	}
}

// An open blocker is closed only by an expert who is asked about it, if its files have changed.
func TestOpenBlockers(t *testing.T) {
	t.Parallel()
	none := said(1, `{"score": 9, "findings": []}`)
	for name, c := range map[string]struct {
		changed      bool
		panel        runner.Answer
		asked        runner.Answer // about the blocker
		calls        int
		left         int
		digest       string
		err, outcome string
	}{
		"its files did not change":  {false, none, runner.Answer{}, 3, 1, "d", "", Unchanged},
		"refuted":                   {true, none, said(1, `{"refuted": true, "reason": "r"}`), 4, 0, "d", "", ""},
		"not resolved":              {true, none, said(1, `{"refuted": false, "reason": "r"}`), 4, 1, "", "", ""},
		"reported again":            {true, said(1, oneBlocker), runner.Answer{}, 3, 1, "", "", ""},
		"reported again, unchanged": {false, said(1, oneBlocker), runner.Answer{}, 3, 1, "", "", Unchanged},
		"no answer":                 {true, none, runner.Answer{Outcome: runner.Truncated}, 4, 1, "d", "F-1: truncated", ""},
		"nonsense":                  {true, none, said(1, `{"stars": 5}`), 4, 1, "d", "does not say whether", ""},
	} {
		open := Finding{Severity: Blocker, File: "a.go", Line: 3, Text: "the last line is lost", Expert: "x",
			Confirmed: true, Digest: "d", Changed: c.changed}
		if !c.changed {
			open.Resolution = Unchanged
		}
		r, asked := reviewedCase(t, ReviewCase{Mode: Thorough, Name: "round-2", Open: []Finding{open}},
			map[string]runner.Answer{"review": c.panel, "mended": c.asked})
		if len(asked) != c.calls || len(r.Blockers()) != c.left || len(r.Findings) != 1 ||
			(c.err == "") != (r.Error == "") || !strings.Contains(r.Error, c.err) {
			t.Fatalf("%s: %d calls, %+v", name, len(asked), r)
		}
		if f := r.Findings[0]; f.Digest != c.digest || f.Resolution != c.outcome || f.Text != open.Text {
			t.Errorf("%s: %+v", name, f)
		}
		if q := asked[len(asked)-1]; c.calls == 4 && (!strings.HasPrefix(q.Name, "mended/round-2/F-1") ||
			!strings.Contains(q.Prompt, open.Text) || len(q.Tools) != 3) {
			t.Errorf("%s: asked %+v", name, q)
		}
	}
}

// A thorough review asks one expert more than a light one, and broad work needs one more.
func TestReviewersOfBroadWork(t *testing.T) {
	t.Parallel()
	files := strings.Fields("a.go b.go c.go d.go e.go f.go g.go h.go i.go")
	for _, tt := range []struct {
		name            string
		files, aspects  []string
		light, thorough int
	}{
		{"narrow", files[:8], []string{"security", "ux"}, 2, 3},
		{"many files", files, nil, 3, 4},
		{"many aspects", nil, []string{"security", "ux", "data"}, 3, 4},
		{"an aspect named twice", nil, []string{"security", "ux", "UX"}, 2, 3},
	} {
		c := ReviewCase{Mode: Light, Files: tt.files, Aspects: tt.aspects}
		same(t, tt.name+", light", len(SelectReviewers(builtIn(t), c)), tt.light)
		c.Mode = Thorough
		same(t, tt.name+", thorough", len(SelectReviewers(builtIn(t), c)), tt.thorough)
	}
}

// The prompt of a reviewer holds the case, and the changes that are doubtful come first among the changes. A thorough
// reviewer has tools only if the prompt does not hold all changes.
func TestPromptOfAReviewer(t *testing.T) {
	t.Parallel()
	c := ReviewCase{Mode: Thorough, Name: "round-2", Request: "make it fast", Tasks: []string{"T-001: the cache"},
		Criteria: []string{"C-1: it is fast"}, MustNot: []string{"no new table"},
		Candidates: []Finding{{File: "a.go", Line: 3, Text: "the cache grows"}},
		Open:       []Finding{{Text: "a lock is lost"}},
		Doubts:     []Doubt{{"T-001", "b_test.go", "a check rests on it"}},
		Diff:       "diff --git a/a.go b/a.go\n+x\ndiff --git a/b_test.go b/b_test.go\n+y\n"}
	nothing := map[string]runner.Answer{"review": said(1, `{"score": 9, "findings": []}`)}
	for _, mode := range []Mode{Light, Thorough} {
		c.Mode = mode
		_, asked := reviewedCase(t, c, nothing)
		q := asked[0]
		for _, want := range []string{"make it fast", "- T-001: the cache", "- C-1: it is fast", "- no new table",
			"- a.go:3: the cache grows", "- a lock is lost", "- T-001, b_test.go: a check rests on it"} {
			if !strings.Contains(q.Prompt, want) {
				t.Errorf("%s: the prompt lacks %q", mode, want)
			}
		}
		if strings.Index(q.Prompt, "+y") > strings.Index(q.Prompt, "+x") {
			t.Errorf("%s: the doubtful changes are not first:\n%s", mode, q.Prompt)
		}
		same(t, "whole run", strings.HasPrefix(q.Prompt, "thorough review of a whole run"), mode == Thorough)
		same(t, "tools", len(q.Tools), 0)
	}
	c.Diff += strings.Repeat("z", thoroughDiff-len(c.Diff))
	_, asked := reviewedCase(t, c, nothing)
	same(t, "tools where all fits", len(asked[0].Tools), 0)
	c.Diff += "z"
	_, asked = reviewedCase(t, c, nothing)
	same(t, "tools for the rest", asked[0].Tools, []string{"Read", "Grep", "Glob"})
}

func TestNothingToReview(t *testing.T) {
	t.Parallel()
	r, asked := reviewedCase(t, ReviewCase{Mode: Thorough, Diff: " \n"}, nil)
	same(t, "calls", len(asked), 0)
	same(t, "review", r, Review{Nothing: "nothing was changed"})
}

func TestLightReviewsDoNotConfirm(t *testing.T) {
	t.Parallel()
	r, asked := reviewed(t, Light, map[string]runner.Answer{"review": said(100, oneBlocker)})
	if len(asked) != 2 || r.Error != "" || len(r.Blockers()) != 0 || r.Count(Blocker) != 1 || r.Score != 4 {
		t.Errorf("%d calls, review %+v", len(asked), r)
	}
}

// A finding names at most five aspects, each in the form of a plan.
func TestAspectsOfAFinding(t *testing.T) {
	t.Parallel()
	_, found, why := parseReview("a", said(1, `{"score": 5, "findings": [{"severity": "warning", "text": "x",
		"aspects": ["UX", "ux", "Data model", "speed", "api", "tests", "zeal", ""]}]}`))
	if why != "" || len(found) != 1 {
		t.Fatalf("%+v, %s", found, why)
	}
	same(t, "aspects", found[0].Aspects, []string{"api", "data-model", "speed", "tests", "ux"})
}

// The place of a finding is a path inside the project, or unknown.
func TestLocalPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"a.go": "a.go", "./x//a.go": "x/a.go", `x\a.go`: "x/a.go",
		"a/x/a.go": "x/a.go", "b/x/a.go": "x/a.go", "x/../a.go": "a.go", "..a": "..a", "": "", ".": "", "x/..": "",
		"..": "", "../a.go": "",
		"/etc/passwd": "", "~/a.go": "", `c:\a.go`: "", "c:": "", "c": "c"} {
		same(t, path, localPath(path), want)
	}
}

func TestWhatCountsAsAReview(t *testing.T) {
	t.Parallel()
	bad := runner.Answer{Outcome: runner.Throttled, Reason: "529"}
	good := said(10, `{"score": 8, "findings": []}`)
	experts := []Expert{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	for name, c := range map[string]struct {
		answers []runner.Answer
		ok      bool
		failure runner.Outcome
	}{
		"all":              {[]runner.Answer{good, good, good}, true, ""},
		"two of three":     {[]runner.Answer{good, bad, good}, true, ""},
		"one of two":       {[]runner.Answer{bad, good}, true, ""},
		"a score too high": {[]runner.Answer{said(1, `{"score": 10.5, "findings": []}`)}, false, runner.Done},
		"no score":         {[]runner.Answer{said(1, `{"findings": []}`)}, false, runner.Done},
		"one of three":     {[]runner.Answer{said(1, oneBlocker), bad, bad}, false, ""},
		"none, one reason": {[]runner.Answer{bad, bad, bad}, false, runner.Throttled},
		"none":             {[]runner.Answer{bad, said(1, `{}`), said(1, `{"score": 11, "findings": []}`)}, false, ""},
		"the worst and the best score": {[]runner.Answer{said(1, `{"score": 0, "findings": []}`),
			said(1, `{"score": 10, "findings": []}`)}, true, ""},
		"cut short": {[]runner.Answer{good, {Outcome: runner.Interrupted}, {Outcome: runner.Interrupted}}, false,
			runner.Interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tallyReview(experts, c.answers)
			if why := "a: throttled: 529"; c.answers[0].Outcome == runner.Throttled && r.Silent[0] != why {
				t.Errorf("silent %q, want %q", r.Silent, why)
			}
			if (r.Error == "") != c.ok || r.Failure != c.failure || !c.ok && (r.Score != 0 || len(r.Findings) > 0) {
				t.Errorf("review %+v", r)
			}
		})
	}
}

func TestTheSameFindingCountsOnce(t *testing.T) {
	t.Parallel()
	experts := []Expert{{Name: "a"}, {Name: "b"}}
	r := tallyReview(experts, []runner.Answer{
		said(1, `{"score": 5, "findings": [{"severity": "WARNING", "file": "x.go", "line": 10, "text": "the buffer is never flushed"}, {"severity": "praise", "text": "other words entirely"}]}`),
		said(1, `{"score": 8, "findings": [{"severity": "BLOCKER", "file": "x.go", "line": 12, "text": "buffer never flushed at the end"}, {"severity": "SUGGESTION", "file": "/etc/passwd", "line": -4, "text": "shorter"}]}`)})
	if r.Score != 6.5 || len(r.Findings) != 3 {
		t.Fatalf("review %+v", r)
	}
	if f := r.Findings[0]; f.ID != "F-1" || f.Severity != Blocker || f.Expert != "b" || f.Line != 12 {
		t.Errorf("first %+v", f)
	}
	if f := r.Findings[2]; f.Severity != Suggestion || f.File != "" || f.Line != 0 {
		t.Errorf("last %+v", f)
	}
	if r.Findings[1].Severity != Warning {
		t.Errorf("an unknown severity is %s", r.Findings[1].Severity)
	}
}

func TestJudgementsAreOfAskedStatements(t *testing.T) {
	t.Parallel()
	c := JudgeCase{Round: 2, Statements: []Statement{{"C-1", "it is fast"}, {"C-2", "it is nice"}}}
	for name, tt := range map[string]struct {
		answer runner.Answer
		n      int
		why    string
	}{
		"rules": {said(7, `{"rulings": [
			{"id": "C-1", "verdict": "yes", "reason": "r", "file": "../x", "line": -1, "quote": " q\n"},
			{"id": "C-1", "verdict": "no", "reason": "again"},
			{"id": "C-9", "verdict": "yes", "reason": "r"}]}`), 1, ""},
		"nonsense": {said(7, `{"rulings": 3}`), 0, "unusable"},
		"nothing":  {runner.Answer{Outcome: runner.Stalled, Cost: 7}, 0, "stalled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := scriptedCaller{t, map[string]runner.Answer{"judge": tt.answer}, make(chan runner.Question, 1)}
			got, cost, why := (&Panel{Caller: p, Experts: builtIn(t)}).Judge(t.Context(), c)
			if len(got) != tt.n || cost != 7 || (tt.why == "") != (why == "") || !strings.Contains(why, tt.why) {
				t.Errorf("%+v, %d, %q", got, cost, why)
			}
			if tt.n > 0 {
				same(t, "ruling", got[0], Judgement{ID: "C-1", Answer: "yes", Reason: "r", Quote: "q"})
			}
			if q := <-p.asked; q.Name != "judge/round-2" || len(q.Tools) != 3 {
				t.Errorf("asked %s with %v", q.Name, q.Tools)
			}
		})
	}
}

func TestLocation(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]Finding{"": {Line: 3}, "a.go: ": {File: "a.go"}, "a.go:1: ": {File: "a.go", Line: 1}} {
		same(t, "location", f.Location(), want)
	}
}

// The most severe findings come first. A finding without a text does not count. A reviewer has at most 20 findings.
func TestFindingsAreOrdered(t *testing.T) {
	t.Parallel()
	r := tallyReview([]Expert{{Name: "a"}}, []runner.Answer{said(1, `{"score": 5, "findings": [
		{"severity": "SUGGESTION", "text": "shorter"}, {"severity": "WARNING", "text": " "},
		{"severity": "WARNING", "text": "slow"}, {"severity": "BLOCKER", "text": "wrong"}]}`)})
	got := ""
	for _, f := range r.Findings {
		got += f.ID + " " + f.Text + ", "
	}
	same(t, "findings", got, "F-1 wrong, F-2 slow, F-3 shorter, ")
	many := strings.TrimSuffix(strings.Repeat(`{"severity": "WARNING", "text": "slow"},`, maxFindings+1), ",")
	r = tallyReview([]Expert{{Name: "a"}}, []runner.Answer{said(1, `{"score": 5, "findings": [`+many+`]}`)})
	same(t, "many", len(r.Findings), maxFindings)
}

// Two reviewers mean the same if their lines are at most five apart.
func TestFindingsNearEachOther(t *testing.T) {
	t.Parallel()
	at := func(line int) runner.Answer {
		return said(1, fmt.Sprintf(`{"score": 5, "findings": [{"severity": "WARNING", "file": "x.go", "line": %d,
			"text": "the buffer is never flushed"}]}`, line))
	}
	for line, want := range map[int]int{4: 2, 5: 1, 10: 1, 15: 1, 16: 2} {
		r := tallyReview([]Expert{{Name: "a"}, {Name: "b"}}, []runner.Answer{at(10), at(line)})
		same(t, fmt.Sprint(line), len(r.Findings), want)
	}
}

func FuzzReadReview(f *testing.F) {
	f.Add(oneBlocker)
	f.Add(`{"score": 1e400, "findings": null}`)
	f.Fuzz(func(t *testing.T, s string) {
		r := tallyReview([]Expert{{Name: "a"}}, []runner.Answer{said(1, s)})
		if r.Score < 0 || r.Score > 10 || len(r.Findings) > maxFindings {
			t.Errorf("review %+v", r)
		}
		for _, f := range r.Findings {
			if f.Text == "" || len(f.Text) > maxText || f.Line < 0 || strings.HasPrefix(f.File, "/") ||
				strings.HasPrefix(f.File, "..") {
				t.Errorf("finding %+v", f)
			}
		}
	})
}

// A diff is split at its files, of git and of a shared directory; the mode of a new file is a part of it.
func TestSplitDiff(t *testing.T) {
	t.Parallel()
	a := "diff --git a/a.go b/a.go\nnew file mode 100644\n+x\n"
	b := "diff --git a/b.go b/b.go\n+y\n"
	c := "new file c.go\n+z\n"
	for file, want := range map[string][2]string{"a.go": {a, b + c}, "b.go": {b, a + c}, "c.go": {c, a + b},
		"d.go": {"", a + b + c}} {
		of, rest := splitDiff(a+b+c, []string{file})
		same(t, file, [2]string{of, rest}, want)
	}
}

func TestAReviewWithTooSmallACap(t *testing.T) {
	t.Parallel()
	r := (&Panel{Caller: newFakeCaller(t), Experts: builtIn(t)}).Review(t.Context(), ReviewCase{Diff: "+x", Cap: 1})
	same(t, "error", strings.HasPrefix(r.Error, "the cap cannot be shared"), true)
}
