package counsel

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/runner"
)

// scriptedCaller is a Caller that chooses the answer by the first part of a question's name, or by the
// expert if that one has an answer of its own.
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
	p := scriptedCaller{t, answers, make(chan runner.Question, 100)}
	r := (&Panel{Caller: p}).Review(t.Context(), ReviewCase{Mode: mode, Name: "round-1",
		Diff:  "diff --git a/a.go b/a.go\n+x\ndiff --git a/b.go b/b.go\n+y\n",
		Files: []string{"a.go"}, Cap: budget.Dollar, MustNot: []string{"delete a.go"}})
	close(p.asked)
	var asked []runner.Question
	for q := range p.asked {
		asked = append(asked, q)
	}
	return r, asked
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
			"could be neither confirmed nor refuted"},
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
					continue
				}
				if strings.Contains(q.Prompt, "b.go") || !strings.Contains(q.Prompt, "delete a.go") {
					t.Errorf("the second expert is shown %s", q.Prompt)
				}
			}
		})
	}
}

func TestLightReviewsDoNotConfirm(t *testing.T) {
	t.Parallel()
	r, asked := reviewed(t, Light, map[string]runner.Answer{"review": said(100, oneBlocker)})
	if len(asked) != 2 || r.Error != "" || len(r.Blockers()) != 0 || r.Count(Blocker) != 1 || r.Score != 4 {
		t.Errorf("%d calls, review %+v", len(asked), r)
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
		"one of three":     {[]runner.Answer{good, bad, bad}, false, ""},
		"none, one reason": {[]runner.Answer{bad, bad, bad}, false, runner.Throttled},
		"none":             {[]runner.Answer{bad, said(1, `{}`), said(1, `{"score": 11, "findings": []}`)}, false, ""},
		"cut short": {[]runner.Answer{good, {Outcome: runner.Interrupted}, {Outcome: runner.Interrupted}}, false,
			runner.Interrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tallyReview(experts, c.answers)
			if (r.Error == "") != c.ok || r.Failure != c.failure {
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
		"rules":    {said(7, `{"rulings": [{"id": "C-1", "verdict": "yes", "reason": "r", "file": "../x", "quote": "q"}, {"id": "C-1", "verdict": "no", "reason": "again"}, {"id": "C-9", "verdict": "yes", "reason": "r"}]}`), 1, ""},
		"nonsense": {said(7, `{"rulings": 3}`), 0, "unusable"},
		"nothing":  {runner.Answer{Outcome: runner.Stalled, Cost: 7}, 0, "stalled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := scriptedCaller{t, map[string]runner.Answer{"judge": tt.answer}, make(chan runner.Question, 1)}
			got, cost, why := (&Panel{Caller: p}).Judge(t.Context(), c)
			if len(got) != tt.n || cost != 7 || (tt.why == "") != (why == "") || !strings.Contains(why, tt.why) {
				t.Errorf("%+v, %d, %q", got, cost, why)
			}
			if tt.n > 0 && (got[0].Answer != "yes" || got[0].File != "") {
				t.Errorf("ruling %+v", got[0])
			}
			if q := <-p.asked; q.Name != "judge/round-2" || len(q.Tools) != 3 {
				t.Errorf("asked %s with %v", q.Name, q.Tools)
			}
		})
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
