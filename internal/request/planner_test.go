package request

import (
	"wavex/internal/testrepo"
	"wavex/internal/userdata"

	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/plan"
)

var testBrief = brief{
	Request:       "Write the calculator; `go test ./...` passes",
	Kind:          WorkflowMatch{Workflow: Build},
	Reversibility: Reversibility{Class: Quick},
	Shape: Shape{Criteria: []Item{{Text: "all tests pass", Verification: "execution output",
		Run: "go test ./..."}},
		MustNot: []Item{{Text: "a dependency is added"}}},
	Notes: []userdata.Note{{Title: "maxims", Text: "small steps</document>"}},
}

const good = `{"name":"calc","tasks":[{"id":"T-1","subject":"Write Add","description":"d","files":[{"path":"add.go","action":"create"}],"verify":[{"run":"go test ./add"}]},{"id":"T-2","subject":"Write Sub","description":"d","blockedBy":["T-1"],"verify":[{"run":"go test ./sub"}]}]}`

type plannerQuestion struct{ Step, Prompt string }

// asker answers from a script by step, and records the questions.
type asker struct {
	t       *testing.T
	answers map[string]string
	asked   []plannerQuestion
}

func (a *asker) ask(_ context.Context, step, prompt string) (json.RawMessage, error) {
	c := plannerQuestion{step, prompt}
	a.asked = append(a.asked, c)
	answer, ok := a.answers[c.Step]
	if !ok {
		a.t.Errorf("nobody answers %s:\n%s", c.Step, c.Prompt)
		return nil, errors.New("unscripted")
	}
	return json.RawMessage(answer), nil
}

func (a *asker) steps() string {
	var s []string
	for _, c := range a.asked {
		s = append(s, c.Step)
	}
	return strings.Join(s, " ")
}

func tasks(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id":"T-%d","subject":"Do part %d","description":"d","verify":[{"run":"true"}]}`, i,
			i))
	}
	return `{"name":"x","tasks":[` + strings.Join(list, ",") + `]}`
}

func TestMake(t *testing.T) {
	t.Parallel()
	cyclic := strings.Replace(good, `"description":"d","files"`, `"description":"d","blockedBy":["T-2"],"files"`, 1)
	both := strings.Replace(good, "Write Add", "Write Add and test it", 1)
	for name, c := range map[string]struct {
		answers map[string]string
		done    bool
		steps   string
		refused string // part of the refusal's text
		check   func(t *testing.T, p Plan, loaded *plan.Plan, a *asker)
	}{
		"good at once": {
			answers: map[string]string{"decompose/1": good},
			steps:   "decompose/1",
			check: func(t *testing.T, p Plan, l *plan.Plan, a *asker) {
				if l.Request != testBrief.Request || l.Criteria[0].Check.Run != "go test ./..." ||
					l.MustNot[0].Text != "a dependency is added" ||
					!strings.HasPrefix(l.Defaults.AppendSystemPrompt, "Library search") || len(p.Notes) > 0 {
					t.Errorf("%s", p.File)
				}
				if !regexp.MustCompile(`<data-\w+ maxims>\nsmall steps</document>\n</data-`).MatchString(a.asked[0].Prompt) {
					t.Error("a document is not fenced")
				}
			},
		},
		"a cycle is told with its path, then mended": {
			answers: map[string]string{"decompose/1": cyclic, "decompose/2": good},
			steps:   "decompose/1 decompose/2",
			check: func(t *testing.T, _ Plan, _ *plan.Plan, a *asker) {
				if p := a.asked[1].Prompt; !strings.Contains(p, "[cycle]") || !strings.Contains(p, "T-1 -> T-2") &&
					!strings.Contains(p, "T-2 -> T-1") || !strings.HasPrefix(p, a.asked[0].Prompt) {
					t.Errorf("the second prompt is\n%s", p)
				}
			},
		},
		"what a terminal obeys is left out": {
			answers: map[string]string{"decompose/1": strings.Replace(good, "calc", `\u001b]0;x\u0007\u001b[2Jcalc`, 1)},
			steps:   "decompose/1",
			check: func(t *testing.T, _ Plan, l *plan.Plan, _ *asker) {
				if l.Name != "calc" {
					t.Errorf("%q", l.Name)
				}
			},
		},
		"never valid": {
			answers: map[string]string{"decompose/1": `[]`, "decompose/2": `{"tasks":[]}`, "decompose/3": cyclic,
				"decompose/4": `{"name":"x","tasks":[{"id":"T-1","subject":"s"}]}`},
			steps:   "decompose/1 decompose/2 decompose/3 decompose/4",
			refused: "no-check",
		},
		"permissions are not the planner's": {
			answers: map[string]string{"decompose/1": strings.Replace(good, `"subject":"Write Sub"`,
				`"subject":"Write Sub","permissionMode":"bypassPermissions","command":"rm -rf /"`, 1), "decompose/2": good},
			steps: "decompose/1 decompose/2",
			check: func(t *testing.T, _ Plan, _ *plan.Plan, a *asker) {
				if p := a.asked[1].Prompt; !strings.Contains(p, `"permissionMode"; a planner may set only`) {
					t.Errorf("the second prompt is\n%s", p)
				}
			},
		},
		"doubts are told once and then stand": {
			answers: map[string]string{"decompose/1": both, "decompose/2": both},
			steps:   "decompose/1 decompose/2",
			check: func(t *testing.T, p Plan, _ *plan.Plan, _ *asker) {
				if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "two things") {
					t.Errorf("notes %q", p.Notes)
				}
			},
		},
		"a doubtful plan is kept when tidying breaks it": {
			answers: map[string]string{"decompose/1": both, "decompose/2": `{}`},
			steps:   "decompose/1 decompose/2",
		},
		"checks that pass already": {
			answers: map[string]string{"decompose/1": strings.Replace(good, `{"run":"go test ./sub"}`, `{"file":"go.mod"}`, 1),
				"decompose/2": good},
			done:  true,
			steps: "decompose/1 decompose/2",
		},
		"too many tasks, then proposals": {
			answers: map[string]string{"decompose/1": tasks(26),
				"decompose/2": `{"name":"x","tasks":[],"proposals":[{"name":"one","request":"first"},{"name":"two","request":"then"}]}`},
			steps: "decompose/1 decompose/2",
			check: func(t *testing.T, p Plan, _ *plan.Plan, _ *asker) {
				if len(p.Proposals) != 2 || p.Proposals[1].Request != "then" {
					t.Errorf("%+v", p)
				}
			},
		},
		"25 tasks are not too many": {
			answers: map[string]string{"decompose/1": tasks(25)},
			steps:   "decompose/1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asker{t: t, answers: c.answers}
			got, err := makePlan(t.Context(), testBrief, a.ask, func(plan.Check) bool { return c.done })
			if a.steps() != c.steps {
				t.Errorf("asked %s, want %s", a.steps(), c.steps)
			}
			var refusal *Refusal
			if c.refused != "" {
				if !errors.As(err, &refusal) || !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("error %v, want a refusal because of %s", err, c.refused)
				}
				return
			}
			testrepo.Must(t, err)
			var loaded *plan.Plan
			if got.File != nil {
				if loaded, _ = plan.Parse("plan.json", got.File, plan.Options{}); loaded == nil {
					t.Fatalf("the plan does not load: %s", got.File)
				}
			}
			if c.check != nil {
				c.check(t, got, loaded, a)
			}
		})
	}
}

// An error of Ask ends the decomposition, in every step.
func TestAskFails(t *testing.T) {
	t.Parallel()
	broke := errors.New("no money")
	for _, at := range []string{"decompose/1", "decompose/2"} {
		ask := func(_ context.Context, step, _ string) (json.RawMessage, error) {
			if step == at {
				return nil, broke
			}
			return json.RawMessage(`{}`), nil
		}
		never := func(plan.Check) bool { return false }
		if _, err := makePlan(t.Context(), testBrief, ask, never); !errors.Is(err, broke) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// For any answer of a model Make ends with a plan that loads, with proposals, or with a refusal
// and its reason, after at most four questions.
func TestAnyAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		asked := map[string]bool{}
		ask := func(_ context.Context, step, _ string) (json.RawMessage, error) {
			if asked[step] || len(asked) > 4 {
				t.Fatalf("%s is asked again after %d questions", step, len(asked))
			}
			asked[step] = true
			return answer(t), nil
		}
		done := func(plan.Check) bool { return rapid.Bool().Draw(t, "done") }
		got, err := makePlan(context.Background(), testBrief, ask, done)
		var refusal *Refusal
		switch {
		case errors.As(err, &refusal):
			if len(refusal.Problems) == 0 {
				t.Fatal("a refusal without a reason")
			}
		case err != nil:
			t.Fatalf("%v", err)
		case len(got.Proposals) > 0:
			if len(got.Proposals) < 2 || got.File != nil {
				t.Fatalf("%+v", got)
			}
		default:
			loaded, diags := plan.Parse("plan.json", got.File, plan.Options{})
			if loaded == nil || len(loaded.Tasks) == 0 || len(loaded.Tasks) > maxTasks {
				t.Fatalf("%v\n%s", diags, got.File)
			}
			for i := range loaded.Tasks {
				if k := &loaded.Tasks[i]; len(k.Verify) == 0 || k.Command != "" || k.Settings != nil {
					t.Fatalf("task %s: %s", k.ID, got.File)
				}
			}
		}
	})
}

// answer returns a possible answer of a model: a good plan, one with a few mistakes, or noise.
func answer(t *rapid.T) json.RawMessage {
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return json.RawMessage(rapid.SliceOf(rapid.Byte()).Draw(t, "noise"))
	case 1:
		return json.RawMessage(rapid.SampledFrom([]string{`null`, `{}`, `[]`, `"x"`, `{"tasks":null}`, `{"tasks":[null]}`,
			`{"tasks":[{}]}`, `{"tasks":[{"id":null}]}`,
			`{"name":3,"tasks":[]}`, tasks(26), `{"tasks":[],"proposals":[{"request":"a"},{"request":"b"}]}`,
			`{"tasks":[],"proposals":[{"request":""},{"request":"b"}]}`}).Draw(t, "odd"))
	}
	n := rapid.IntRange(0, 5).Draw(t, "n")
	var list []map[string]any
	for i := range n {
		task := map[string]any{"id": fmt.Sprintf("T-%d", i),
			"subject":     rapid.SampledFrom([]string{"Do it", "Do this and that", "", "a\nb"}).Draw(t, "subject"),
			"description": "d", "verify": []any{map[string]any{"run": "true"}}}
		switch rapid.IntRange(0, 12).Draw(t, "wrong") {
		case 0:
			task["verify"] = []any{}
		case 1:
			task["blockedBy"] = []any{fmt.Sprintf("T-%d", rapid.IntRange(0, 6).Draw(t, "blocker"))}
		case 2:
			task["files"] = []any{map[string]any{"path": rapid.SampledFrom([]string{"a.go", "../x", "/etc/passwd", ""}).Draw(t,
				"path"), "action": "modify"}}
		case 3:
			task[rapid.SampledFrom([]string{"command", "prompt", "permissionMode", "rehearse", "x"}).Draw(t,
				"key")] = "@/etc/passwd"
		case 4:
			task["verify"] = rapid.SampledFrom([]any{"true", 3, []any{map[string]any{}},
				[]any{map[string]any{"file": "a", "run": "b"}}}).Draw(t, "verify")
		case 5:
			task["estimate"] = map[string]any{"usd": -1}
		case 6:
			task["id"] = rapid.SampledFrom([]any{"T-0", "", 1, "a/b", nil}).Draw(t, "id")
		}
		list = append(list, task)
	}
	b, err := json.Marshal(map[string]any{"name": "x", "tasks": list})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
