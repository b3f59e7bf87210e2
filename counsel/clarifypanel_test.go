package counsel

import (
	"context"
	"encoding/json"
	"fmt"
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
	c := (&Panel{Caller: f}).Clarify(t.Context(), ClarifyCase{Request: "make it fast", Gaps: openGaps(), Cap: 600,
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
	c := (&Panel{Caller: f}).Clarify(t.Context(), ClarifyCase{Request: "x", Gaps: []Gap{{Dimension: "success"}}, Cap: 50})
	if c.Unavailable == "" || c.Questions != nil || c.Cost != 50 {
		t.Errorf("%+v", c)
	}
	if c := (&Panel{Caller: f}).Clarify(t.Context(), ClarifyCase{Request: "x"}); c.Unavailable != "" ||
		c.Questions != nil {
		t.Errorf("nothing is open: %+v", c)
	}
}
