package counsel

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wavex/runner"
)

func openGaps() []Gap {
	var gaps []Gap
	for _, d := range []string{"outcome", "constraints", "success", "scope", "done"} {
		gaps = append(gaps, Gap{d, "about " + d, "an example"})
	}
	return gaps
}

func asked(items ...string) runner.Answer {
	return runner.Answer{Outcome: runner.Done, Structured: json.RawMessage(`{"items":[` + strings.Join(items, ",") + `]}`),
		Cost: 100}
}

func item(dimension, question string, proposals ...string) string {
	b, err := json.Marshal(ClarifyQuestion{Dimension: dimension, Question: question, Proposals: proposals})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Each expert is asked once, for all of its dimensions, with its share. The answers come in the
// order of the gaps. Answers about other dimensions, and half answers, are left out.
func TestClarify(t *testing.T) {
	t.Parallel()
	f := newFakeCaller(t)
	f.answers["clarify/domain-modeller"] = func(_ context.Context, q runner.Question) runner.Answer {
		if !strings.Contains(q.Prompt, "- outcome (about outcome)") || !strings.Contains(q.Prompt, "- scope (") ||
			strings.Contains(q.Prompt, "- done (") ||
			!strings.Contains(q.Prompt, "make it fast") || q.Cap != 200 || len(q.Tools) > 0 {
			t.Errorf("%+v\n%s", q, q.Prompt)
		}
		return asked(item("scope", "Which\npart?", "cmd/", "api/"), item("outcome", "How fast?", "100 ms", "1 s"),
			item("done", "not yours", "a", "b"))
	}
	f.answers["clarify/tester"] = func(context.Context, runner.Question) runner.Answer {
		return asked(item("success", "How is it seen?", "same", "same"))
	}
	f.answers["clarify/delivery-manager"] = func(context.Context, runner.Question) runner.Answer {
		return runner.Answer{Outcome: runner.Throttled, Reason: "busy", Cost: 7}
	}
	c := clarify(t, f, ClarifyCase{Request: "make it fast", Gaps: openGaps(), Cap: 600,
		Dir: t.TempDir()})
	got := ""
	for _, a := range c.Questions {
		got += fmt.Sprintf("%s by %s: %s %q\n", a.Dimension, a.Expert, a.Question, a.Proposals)
	}
	want := "outcome by domain-modeller: How fast? [\"100 ms\" \"1 s\"]\nscope by domain-modeller: Which part? [\"cmd/\" \"api/\"]\n"
	if got != want || c.Unavailable != "" || c.Cost != 207 {
		t.Errorf("%s%+v, want\n%s", got, c, want)
	}
}

func TestClarifyUnavailable(t *testing.T) {
	t.Parallel()
	f := newFakeCaller(t)
	f.answers["clarify/tester"] = func(context.Context, runner.Question) runner.Answer { panic("no") }
	c := clarify(t, f, ClarifyCase{Request: "x", Gaps: []Gap{{Dimension: "success"}}, Cap: 50})
	if c.Unavailable != "broken: the call panicked: no" || c.Questions != nil || c.Cost != 50 {
		t.Errorf("%+v", c)
	}
	if c := clarify(t, f, ClarifyCase{Request: "x"}); c.Unavailable != "" ||
		c.Questions != nil {
		t.Errorf("nothing is open: %+v", c)
	}
}

// The answers of several experts come in the order of the gaps. Of three proposals the first two count.
func TestClarifyOrder(t *testing.T) {
	t.Parallel()
	f := newFakeCaller(t)
	f.answers["clarify/domain-modeller"] = func(context.Context, runner.Question) runner.Answer {
		return asked(item("outcome", "How fast?", "100 ms", "1 s", "2 s"), item("scope", "Which part?", "cmd/", "api/"))
	}
	f.answers["clarify/delivery-manager"] = func(context.Context, runner.Question) runner.Answer {
		return asked(item("constraints", "By when?", "today", "tomorrow"))
	}
	gaps := []Gap{{Dimension: "outcome"}, {Dimension: "constraints"}, {Dimension: "scope"}}
	c := clarify(t, f, ClarifyCase{Request: "x", Gaps: gaps})
	got := ""
	for _, q := range c.Questions {
		got += fmt.Sprintf("%s %q\n", q.Dimension, q.Proposals)
	}
	same(t, "questions", got, "outcome [\"100 ms\" \"1 s\"]\n"+
		"constraints [\"today\" \"tomorrow\"]\nscope [\"cmd/\" \"api/\"]\n")
}

// An answer that cannot be read as a whole, or is about something else, is not used.
func TestClarifyUnusable(t *testing.T) {
	t.Parallel()
	half := asked(item("success", "How is it seen?", "a", "b"), "3")
	other := asked(item("scope", "Which?", "this", "that"))
	for want, a := range map[string]runner.Answer{
		"unusable answer: it is not the JSON asked for": half, "no expert gave a usable answer": other} {
		f := newFakeCaller(t)
		f.answers["clarify/tester"] = func(context.Context, runner.Question) runner.Answer { return a }
		c := clarify(t, f, ClarifyCase{Request: "x", Gaps: []Gap{{Dimension: "success"}}})
		same(t, "questions", len(c.Questions), 0)
		same(t, "why", c.Unavailable, want)
	}
}

// A dimension that the expert did not answer is left out.
func TestDimensionWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	items := []ClarifyQuestion{{Dimension: "scope", Question: "Which?", Proposals: []string{"this", "that"}}}
	got := usableQuestions("tester", items, openGaps())
	if len(got) != 1 || got[0].Dimension != "scope" || got[0].Expert != "tester" {
		t.Errorf("%+v", got)
	}
}

// The expert of a dimension is the best of those that the roster has.
func TestClarifyWithAnotherRoster(t *testing.T) {
	t.Parallel()
	all := names(builtIn(t).Experts())
	without := func(left ...string) (missing []string) {
		for _, name := range all {
			if !slices.Contains(left, name) {
				missing = append(missing, name)
			}
		}
		return missing
	}
	for _, tt := range []struct {
		dimension string
		missing   []string
		want      string
	}{
		{"outcome", []string{"domain-modeller"}, "ux-designer"},
		{"scope", []string{"domain-modeller"}, "api-designer"},
		{"constraints", []string{"delivery-manager"}, "simplifier"},
		{"success", []string{"tester"}, "debugger"},
		{"done", []string{"delivery-manager"}, "operator"},
		{"done", without("ux-designer", "debugger"), "debugger"},
		{"done", without("ux-designer"), "ux-designer"},
	} {
		t.Run(tt.dimension+" by "+tt.want, func(t *testing.T) {
			t.Parallel()
			r := rosterWithout(t, tt.missing...)
			f := newFakeCaller(t)
			f.answers["clarify/"+tt.want] = func(context.Context, runner.Question) runner.Answer {
				return asked(item(tt.dimension, "Which?", "this", "that"))
			}
			c := (&Panel{Caller: f, Experts: r}).Clarify(t.Context(), ClarifyCase{Request: "x",
				Gaps: []Gap{{Dimension: tt.dimension}}})
			if len(c.Questions) != 1 || c.Questions[0].Expert != tt.want || c.Unavailable != "" {
				t.Errorf("%+v", c)
			}
		})
	}
}

// rosterWithout returns the embedded experts but some.
func rosterWithout(t *testing.T, names ...string) *Roster {
	t.Helper()
	r := builtIn(t)
	r.experts = slices.DeleteFunc(r.experts, func(e Expert) bool { return slices.Contains(names, e.Name) })
	return r
}

// clarify asks the embedded experts about a case.
func clarify(t *testing.T, f *fakeCaller, c ClarifyCase) Clarification {
	t.Helper()
	return (&Panel{Caller: f, Experts: builtIn(t)}).Clarify(t.Context(), c)
}
