package review

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/scheduler"
)

const judgedPlan = `{"request":"build it","criteria":[
	{"text":"the doc says so","check":{"file":"doc.md","contains":"hello"}},
	{"text":"it is quick","check":"echo 12","verification":"measurement"},
	{"text":"it reads well"},
	{"text":"it is assumed","verification":"assumption"}],
	"tasks":[{"id":"a","subject":"do a","dir":"sub","files":["a.go"],"criteria":[{"text":"it runs here","check":"test -e here"},{"text":"it is kind"}]}]}`

// findCriterion returns the criterion with an id.
func findCriterion(t *testing.T, out []event.Criterion, id string) event.Criterion {
	t.Helper()
	for _, c := range out {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("there is no criterion %s in %+v", id, out)
	return event.Criterion{}
}

// runVerification runs a verification of criteria.
func runVerification(ctx context.Context, h *Coordinator, s *scheduler.State,
	e event.CriteriaStarted) ([]event.Criterion, budget.USD, error) {
	v, err := h.PrepareVerification(s, e)(ctx, func() bool { return true })
	return v.Criteria, v.Cost, err
}

func TestCriteria(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"doc.md": "hello there\n", "sub/here": "", "sub/a.go": "package kind\n"}.Write(t, dir)
	who := &fakeCaller{answers: map[string]any{"judge/round-2": map[string]any{"rulings": []counsel.Judgement{
		{ID: "C-3", Answer: "yes", Reason: "see", File: "doc.md", Line: 1, Quote: "hello  there"},
		{ID: "C-9", Answer: "yes", Reason: "nobody asked", File: "doc.md", Quote: "hello there"},
		{ID: "a/C-2", Answer: "yes", Reason: "see", File: "sub/a.go", Line: 1, Quote: "package cruel"}}}}}
	h, s := newCoordinator(t, dir, judgedPlan, who)
	out, cost, err := runVerification(t.Context(), h, s, event.CriteriaStarted{Round: 2, Judge: true})
	if err != nil || cost != 1000 || len(out) != 6 {
		t.Fatalf("%d criteria, %s, %v", len(out), cost, err)
	}
	for id, want := range map[string]struct {
		met  bool
		how  string
		says string
	}{
		"C-1":   {true, event.Observation, ""},
		"C-2":   {true, event.Measurement, "12"},
		"C-3":   {true, event.Observation, "doc.md:1: hello  there\nsee"},
		"C-4":   {false, event.Assumption, ""},
		"a/C-1": {true, event.ExecutionOutput, ""},
		"a/C-2": {false, event.Assumption, "what it quotes is not there"},
	} {
		c := findCriterion(t, out, id)
		if c.Met != want.met || c.Verification != want.how || !strings.Contains(c.Evidence, want.says) || c.Round != 2 {
			t.Errorf("%s: %+v", id, c)
		}
	}
	for _, id := range []string{"C-1", "C-3"} {
		if sum := findCriterion(t, out, id).Files["doc.md"]; len(sum) != 64 {
			t.Errorf("%s speaks of %q", id, sum)
		}
	}
	if q := who.questions["judge/round-2"]; strings.Contains(q.Prompt, "it is assumed") ||
		strings.Contains(q.Prompt, "it is quick") || !strings.Contains(q.Prompt, "it reads well") ||
		!strings.Contains(q.Prompt, "build it") || q.Dir != dir {
		t.Errorf("the judge was asked in %s:\n%s", q.Dir, q.Prompt)
	}
}

// After a wave only the criteria that its work can have changed are verified.
func TestCriteriaOfAWave(t *testing.T) {
	t.Parallel()
	h, s := newCoordinator(t, t.TempDir(), judgedPlan, &fakeCaller{})
	out, cost, err := runVerification(t.Context(), h, s, event.CriteriaStarted{Round: 1, Wave: 1,
		Only: []string{"C-2", "a/C-1"}})
	if err != nil || cost != 0 || len(out) != 2 || !findCriterion(t, out, "C-2").Met ||
		findCriterion(t, out, "a/C-1").Met {
		t.Errorf("%+v, %s, %v", out, cost, err)
	}
}

// An interrupted verification is an error.
func TestCriteriaCutShort(t *testing.T) {
	t.Parallel()
	h, s := newCoordinator(t, t.TempDir(), judgedPlan, &fakeCaller{})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	out, _, err := runVerification(ctx, h, s, event.CriteriaStarted{Round: 1, Judge: true})
	if !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	for _, c := range out {
		if c.Met {
			t.Errorf("met: %+v", c)
		}
	}
}

// The rulings of a judge lead to these results.
func TestJudgements(t *testing.T) {
	t.Parallel()
	yes := counsel.Judgement{ID: "C-3", Answer: "yes", Reason: "because"}
	of := func(file, quote string) counsel.Judgement {
		r := yes
		r.File, r.Quote = file, quote
		return r
	}
	for name, c := range map[string]struct {
		rulings []counsel.Judgement // nil: the call fails
		met     bool
		how     string
		says    string
	}{
		"no": {[]counsel.Judgement{{ID: "C-3", Answer: "no", Reason: "it does not"}}, false, event.Observation,
			"it does not"},
		"unknown": {[]counsel.Judgement{{ID: "C-3", Answer: "unknown", Reason: "who can tell"}}, false,
			event.Assumption, "who can tell"},
		"no quote": {[]counsel.Judgement{yes}, false, event.Assumption, "not there"},
		"a quote":  {[]counsel.Judgement{of("doc.md", "hello there")}, true, event.Observation, "doc.md:0: hello there"},
		"the plan": {[]counsel.Judgement{of("plan.json", "it reads well")}, false, event.Assumption,
			"no part of the work"},
		"plan, as ./": {[]counsel.Judgement{of("./plan.json", "it reads well")}, false, event.Assumption,
			"no part of the work"},
		"a prompt": {[]counsel.Judgement{of(".loop/runs/r/prompt.md", "it reads well")}, false, event.Assumption,
			"no part of the work"},
		"set aside": {[]counsel.Judgement{of(".loop.bak-1/x.md", "it reads well")}, false, event.Assumption,
			"no part of the work"},
		"git's": {[]counsel.Judgement{of(".git/description", "it reads well")}, false, event.Assumption,
			"no part of the work"},
		"says no":   {[]counsel.Judgement{}, false, event.Assumption, "did not rule"},
		"no answer": {nil, false, event.Assumption, "nobody is there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			own := "it reads well"
			testrepo.Files{"doc.md": "hello there\n", "plan.json": own, ".loop/runs/r/prompt.md": own, ".loop.bak-1/x.md": own,
				".git/description": own}.Write(t, dir)
			who := &fakeCaller{}
			if c.rulings != nil {
				who.answers = map[string]any{"judge/round-1": map[string]any{"rulings": c.rulings}}
			}
			h, s := newCoordinator(t, dir, judgedPlan, who)
			out, _, err := runVerification(t.Context(), h, s, event.CriteriaStarted{Round: 1, Judge: true})
			testrepo.Must(t, err)
			got := findCriterion(t, out, "C-3")
			if got.Met != c.met || got.Verification != c.how || !strings.Contains(got.Evidence, c.says) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// In a rehearsal the agent quotes an existing line with its place.
func TestRehearsalJudgements(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"empty": "", "a.md": "\n# \nsome words\nmore of them\n"}.Write(t, dir)
	c := counsel.JudgeCase{Files: []string{"none", "empty", "a.md"}, Statements: []counsel.Statement{{ID: "C-1"},
		{ID: "C-2"}}}
	var got struct {
		Structured struct{ Rulings []counsel.Judgement }
	}
	testrepo.Must(t, json.Unmarshal(rehearsalJudgements(dir, c), &got))
	r := got.Structured.Rulings
	if len(r) != 2 || r[1].ID != "C-2" || r[0].Answer != "yes" || r[0].File != "a.md" || r[0].Line != 3 ||
		!containsQuote(dir, r[0].File, r[0].Quote) {
		t.Errorf("%+v", r)
	}
	c.Files = c.Files[:2]
	testrepo.Must(t, json.Unmarshal(rehearsalJudgements(dir, c), &got))
	if r := got.Structured.Rulings; r[0].Answer != "unknown" {
		t.Errorf("%+v", r)
	}
	h, s := newCoordinator(t, dir, judgedPlan, &fakeCaller{})
	h.opts.Agent = agent.Agent{Name: agent.Rehearsal}
	if _, _, err := runVerification(t.Context(), h, s, event.CriteriaStarted{Round: 1, Judge: true}); err != nil {
		t.Error(err)
	}
	if q := h.panel.Caller.(*fakeCaller).questions["judge/round-1"]; len(q.Rehearse) == 0 {
		t.Error("the stand-in was told nothing")
	}
}
