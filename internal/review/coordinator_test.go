package review

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/counsel"
	"wavex/internal/agent"
	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/secret"
	"wavex/internal/testrepo"
	"wavex/runner"
)

func TestNew(t *testing.T) {
	t.Parallel()
	p := &plan.Plan{}
	dir := t.TempDir()
	testrepo.Files{"experts/x.md": "no profile"}.Write(t, dir)
	if _, err := New(Options{Plan: p, Config: event.Config{Loop: loop.Dir(dir)}, Caller: &fakeCaller{}}); err == nil {
		t.Error("a file that is no profile is read")
	}
	o := Options{Plan: p, Config: event.Config{Loop: loop.Dir(t.TempDir())}, Caller: &fakeCaller{},
		Agent: agent.Agent{Name: agent.Claude}}
	h, err := New(o)
	testrepo.Must(t, err)
	if h.Panel() != nil {
		t.Error("there is a panel without counsel")
	}
	o.Config.Counsel = true
	h, err = New(o)
	testrepo.Must(t, err)
	if h.Panel() == nil {
		t.Error("there is no panel")
	}
}

// The case of a stuck task has all its material, and shares no memory with the state.
func TestPreparePanel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h, s := newCoordinator(t, dir, `{"mustNot":["break"],"tasks":[{"id":"a","subject":"do a","prompt":"how","dir":"sub","files":["a.go",{"path":"b.go","action":"read"}]}]}`, nil)
	k := &s.Tasks[0]
	k.Tries, k.SameError, k.PastAdvice = 2, 2, append(make([]string, 0, 4), "first")
	k.Advice = &counsel.Verdict{Fix: "second"}
	k.Last = &runner.Result{Outcome: runner.Wrong, Reason: "red", Detail: "more",
		Checks: []check.Evidence{{Check: "c"}}}
	c := h.PreparePanel(s, 0, event.CounselStarted{Task: "a", Attempt: 3, Panel: 2, Cap: 7, Thorough: true})
	if c.Task != "a" || c.Attempt != 3 || c.Retries != 2 || c.Cap != 7 || !c.Thorough || !c.SameError ||
		c.Reason != "red" || len(c.Checks) != 1 ||
		c.Dir != filepath.Join(dir, "sub") || c.LogDir != filepath.Join(dir, ".loop/runs/r/tasks/a/counsel-2") ||
		!slices.Equal(c.Files, []string{"a.go", "b.go"}) || !slices.Equal(c.MustNot, []string{"break"}) ||
		len(c.PastAdvice) != 2 || c.PastAdvice[0] != "first" || !strings.Contains(c.PastAdvice[1], "second") {
		t.Errorf("%+v", c)
	}
	if len(k.PastAdvice) != 1 || k.PastAdvice[:2][1] != "" {
		t.Errorf("the state's own advice has become %q", k.PastAdvice[:2])
	}
	k.Tries = 9
	if c := h.PreparePanel(s, 0, event.CounselStarted{}); c.Retries != 0 {
		t.Errorf("%d retries are left", c.Retries)
	}
}

// The witness adds the changes of the attempt.
func TestDiffPanel(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{"a.go": "old\n"})
	who := &fakeCaller{}
	h, _ := newCoordinator(t, dir, onePlan, who)
	testrepo.Files{"a.go": "new\n"}.Write(t, dir)
	diffPanel{h.panel, h}.Diagnose(t.Context(), counsel.Case{Task: "a", Outcome: runner.Wrong,
		Files: []string{"a.go"}, Dir: dir})
	if len(who.questions) < 2 {
		t.Errorf("%d were asked", len(who.questions))
	}
	for name, q := range who.questions {
		if !strings.Contains(q.Prompt, "+new") || q.Dir != dir {
			t.Errorf("%s was shown, in %s:\n%s", name, q.Dir, q.Prompt)
		}
	}
}

func TestPreparePrecheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	who := &fakeCaller{}
	h, s := newCoordinator(t, dir, `{"request":"ship it","mustNot":["drop data"],"tasks":[{"id":"a","subject":"migrate","dir":"sub","reversibility":"1","files":["a.sql",{"path":"read.me","action":"read"}],"verify":["make check"]}]}`, who)
	h.PreparePrecheck(s, 0, event.PrecheckStarted{Task: "a", N: 2, Cap: 1000})(t.Context())
	if len(who.questions) == 0 {
		t.Fatal("nobody was asked")
	}
	for _, q := range who.questions {
		for _, want := range []string{"ship it", "migrate", "a.sql", "make check", "drop data"} {
			if !strings.Contains(q.Prompt, want) {
				t.Errorf("%q is not in\n%s", want, q.Prompt)
			}
		}
		if strings.Contains(q.Prompt, "read.me") || q.Dir != filepath.Join(dir, "sub") ||
			filepath.Dir(q.LogDir) != filepath.Join(dir, ".loop/runs/r/precheck-a-2") {
			t.Errorf("asked in %s, kept in %s:\n%s", q.Dir, q.LogDir, q.Prompt)
		}
	}
}

// taskFiles returns the files of completed tasks, as paths of the project, sorted, without
// duplicates.
func TestTaskFiles(t *testing.T) {
	t.Parallel()
	_, s := newCoordinator(t, t.TempDir(), `{"tasks":[{"id":"a","subject":"a","dir":"sub","files":["z.go",{"path":"r.go","action":"read"}]},{"id":"b","subject":"b","files":["sub/z.go","a.go"]},
		{"id":"c","subject":"c","blockedBy":["a"],"files":["c.go"]},{"id":"d","subject":"d","files":["d.go"]}]}`, nil)
	for i := range 3 {
		s.Tasks[i].Status = event.Completed
	}
	s.Tasks[0].Last = &runner.Result{Surplus: []string{"own.go"}}
	for wave, want := range map[int]string{0: "[a.go c.go sub/own.go sub/z.go]", 1: "[a.go sub/own.go sub/z.go]",
		2: "[c.go]", 3: "[]"} {
		if got := fmt.Sprint(taskFiles(s, wave)); got != want {
			t.Errorf("wave %d: %s, want %s", wave, got, want)
		}
	}
}

// A light review shows one wave; a thorough review shows everything, and the claims of light ones.
func TestPrepareReview(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, nil)
	who := &fakeCaller{}
	h, s := newCoordinator(t, dir, `{"request":"build it","criteria":["it is good"],"tasks":[{"id":"a","subject":"first thing","files":["a.go"]},{"id":"b","subject":"second thing","blockedBy":["a"],"files":["b.go"]},{"id":"c","subject":"third thing","blockedBy":["a"]}]}`, who)
	testrepo.Files{"a.go": "package a\n", "b.go": "package b\n"}.Write(t, dir)
	s.Tasks[0].Status, s.Tasks[1].Status = event.Completed, event.Completed
	s.Assessment.Reviews = []event.ReviewEnded{{Mode: counsel.Light, Wave: 1,
		Review: counsel.Review{Findings: []counsel.Finding{
			{Severity: counsel.Blocker, Text: "claimed before", Expert: "x"}, {Severity: counsel.Suggestion, Text: "a trifle",
				Expert: "x"}}}}}
	h.PrepareReview(s, event.ReviewStarted{N: 1, Mode: counsel.Light, Wave: 2})(t.Context())
	if len(who.questions) == 0 {
		t.Fatal("nobody was asked for a light review")
	}
	for name, q := range who.questions {
		if !strings.HasPrefix(name, "review/wave-2/") || filepath.Dir(q.LogDir) != filepath.Join(dir,
			".loop/runs/r/reviews/1") ||
			!strings.Contains(q.Prompt, "second thing") || !strings.Contains(q.Prompt, "package b") || strings.Contains(q.Prompt,
			"first thing") || strings.Contains(q.Prompt, "third thing") || strings.Contains(q.Prompt, "package a") {
			t.Errorf("%s in %s:\n%s", name, q.LogDir, q.Prompt)
		}
	}
	who.questions = nil
	s.Tasks[1].Last = &runner.Result{Tampered: []runner.Tamper{{Path: "plan.json", Why: "it is the plan"}},
		Rests: []string{"b.go"}}
	h.PrepareReview(s, event.ReviewStarted{N: 2, Mode: counsel.Thorough, Round: 1})(t.Context())
	for name, q := range who.questions {
		if !strings.Contains(q.Prompt, "- b, b.go: its checks pass only with this change") ||
			strings.Contains(q.Prompt, "changed plan.json") ||
			strings.Index(q.Prompt, "package b") > strings.Index(q.Prompt, "package a") {
			t.Errorf("the doubtful change is not first:\n%s", q.Prompt)
		}
		if !strings.HasPrefix(name, "review/round-1/") || strings.Contains(q.Prompt, "third thing") ||
			strings.Contains(q.Prompt, "a trifle") {
			t.Errorf("%s:\n%s", name, q.Prompt)
		}
		for _, want := range []string{"first thing", "second thing", "package a", "package b", "C-1: it is good (not met",
			"build it", "claimed before"} {
			if !strings.Contains(q.Prompt, want) {
				t.Errorf("%q is not in\n%s", want, q.Prompt)
			}
		}
	}
}

// A review without a diff has failed; it does not count as one without findings.
func TestReviewWithoutADiff(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{"a.go": "a\n"})
	h, s := newCoordinator(t, dir, onePlan, &fakeCaller{})
	if got := h.PrepareReview(s, event.ReviewStarted{N: 1, Mode: counsel.Thorough})(t.Context()); got.Nothing == "" ||
		got.Error != "" {
		t.Errorf("of nothing: %+v", got)
	}
	testrepo.Files{".git/index": "no index"}.Write(t, dir)
	if got := h.PrepareReview(s, event.ReviewStarted{N: 1, Mode: counsel.Thorough})(t.Context()); got.Nothing != "" ||
		!strings.Contains(got.Error, "git read-tree") {
		t.Errorf("of what cannot be told: %+v", got)
	}
}

func TestJudgeOfFindings(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, nil)
	who := &fakeCaller{}
	h, s := newCoordinator(t, dir, onePlan, who)
	testrepo.Files{"a.go": "package a\n"}.Write(t, dir)
	asked := 0
	h.opts.Judge = func(context.Context, *counsel.Review) { asked++ }
	if h.PrepareReview(s, event.ReviewStarted{N: 1, Mode: counsel.Thorough, Round: 1})(t.Context()); asked != 0 ||
		len(who.questions) == 0 {
		t.Errorf("asked %d times about a review that failed", asked)
	}
	who.answers = map[string]any{}
	for name := range who.questions {
		who.answers[name] = map[string]any{"score": 8, "findings": []any{}}
	}
	if h.PrepareReview(s, event.ReviewStarted{N: 2, Mode: counsel.Light, Wave: 1})(t.Context()); asked != 0 {
		t.Error("asked about a light review")
	}
	if h.PrepareReview(s, event.ReviewStarted{N: 3, Mode: counsel.Thorough, Round: 1})(t.Context()); asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// A paid answer is reused for the same question, and for no other.
func TestCachedAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	done := func(text string) string {
		b, err := json.Marshal(runner.Answer{Outcome: runner.Done, Text: text, Cost: 5})
		testrepo.Must(t, err)
		return string(b)
	}
	who := &fakeCaller{answers: map[string]any{"q": "fresh"}}
	h, _ := newCoordinator(t, dir, onePlan, who)
	h.opts.Redactor = secret.New([]string{"API_KEY=a-very-secret-value-of-mine"})
	at := ".loop/runs/r/reviews/"
	testrepo.Files{at + "1/x/prompt.md": "what", at + "1/x/result.json": done("of the first"),
		at + "2/x/prompt.md": "what", at + "2/x/result.json": done("of the second"),
		at + "1/y/prompt.md": "what", at + "1/y/result.json": `{"outcome":"broken"}`,
		at + "1/z/prompt.md": "what", at + "1/z/result.json": `{"outc`,
		at + "1/s/prompt.md":   string(h.opts.Redactor.Bytes([]byte("what a-very-secret-value-of-mine"))),
		at + "1/s/result.json": done("without secrets")}.Write(t, dir)
	a := cachedAnswers{who, h, []int{9, 1, 2}}
	for _, c := range []struct{ expert, prompt, want string }{
		{"x", "what", "of the first"}, {"x", "what else", ""}, {"y", "what", ""}, {"z", "what", ""}, {"nobody", "what", ""},
		{"s", "what a-very-secret-value-of-mine", "without secrets"},
	} {
		got := a.Ask(t.Context(), runner.Question{Name: "q", Prompt: c.prompt, LogDir: filepath.Join(dir, at, "5", c.expert)})
		if got.Text != c.want || got.Outcome != runner.Done || c.want != "" && got.Cost != 0 || c.want == "" &&
			string(got.Structured) != `"fresh"` {
			t.Errorf("%s, %q: %+v", c.expert, c.prompt, got)
		}
	}
}
