package counsel

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"wavex/budget"
	"wavex/internal/check"
	"wavex/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeCaller is a scripted Caller with an answer for each name that may ask. A question without a
// script, and an answer that is never requested, fail the test.
type fakeCaller struct {
	t       *testing.T
	answers map[string]func(context.Context, runner.Question) runner.Answer

	mu    sync.Mutex
	asked map[string]runner.Question
}

func newFakeCaller(t *testing.T) *fakeCaller {
	f := &fakeCaller{t: t, answers: map[string]func(context.Context, runner.Question) runner.Answer{},
		asked: map[string]runner.Question{}}
	t.Cleanup(func() {
		for name := range f.answers {
			if _, ok := f.asked[name]; !ok {
				t.Errorf("%s was scripted and never asked", name)
			}
		}
	})
	return f
}

func (f *fakeCaller) Ask(ctx context.Context, q runner.Question) runner.Answer {
	f.mu.Lock()
	answer, scripted := f.answers[q.Name]
	_, again := f.asked[q.Name]
	f.asked[q.Name] = q
	f.mu.Unlock()
	if !scripted || again {
		f.t.Errorf("%s was asked: scripted %t, asked before %t", q.Name, scripted, again)
		return runner.Answer{Outcome: runner.Broken}
	}
	return answer(ctx, q)
}

func (f *fakeCaller) on(expert string, answer func(context.Context, runner.Question) runner.Answer) {
	f.answers["counsel/"+expert] = answer
}

func (f *fakeCaller) says(expert string, a runner.Answer) {
	f.on(expert, func(context.Context, runner.Question) runner.Answer { return a })
}

// opinion returns a good answer that costs cost.
func opinion(action Action, approach string, confidence float64, cost budget.USD) runner.Answer {
	data, err := json.Marshal(map[string]any{
		"diagnosis": "the sum is a product", "cause": "a wrong operator", "approach": approach,
		"confidence": confidence, "falsifier": "go test ./... passes with a*b", "action": action})
	if err != nil {
		panic(err)
	}
	return runner.Answer{Outcome: runner.Done, Structured: data, Cost: cost}
}

// stuck returns a small case for which Pick chooses debugger and tester.
func stuck() Case {
	return Case{
		Task: "T-002", Subject: "Add the function Sum",
		Description: "Write sum.go with a function Sum(a, b int) int.",
		Attempt:     1, Retries: 3, Outcome: runner.Wrong, Reason: "check failed: go test ./...",
		Checks: []check.Evidence{{Check: "go test ./...", ExitCode: 1,
			Output: "--- FAIL: TestSum (0.00)\n    sum_test.go:8: Sum(2, 3) = 6, want 5\nFAIL\tmodule/sum\t0.002s\nFAIL\n"}},
		Report: "I added Sum and ran the tests.",
		Dir:    "/project", LogDir: "/project/.loop/runs/r1/T-002/1/counsel",
	}
}

func builtIn(t testing.TB) *Roster {
	t.Helper()
	r, err := LoadRoster("")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func names(experts []Expert) []string {
	var out []string
	for _, e := range experts {
		out = append(out, e.Name)
	}
	return out
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}
