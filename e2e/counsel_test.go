//go:build unix

package e2e

// This file tests a panel of experts as real processes, between the first failure and the second
// attempt, whose prompt has the advice.

import (
	"slices"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/fakeapi"
)

// expert matches the lean calls of a panel.
func expert(r *fakeapi.Request) bool { return strings.Contains(r.Users(), "stuck on task") }

func TestPanelAdvisesTheRetry(t *testing.T) {
	t.Parallel()
	opinion := fakeapi.Use(fakeapi.StructuredOutput(map[string]any{
		"diagnosis": "The file has goats in it.", "cause": "The animals were mixed up.",
		"approach": "Write sheep in place of goats.", "confidence": 0.9,
		"falsifier": "grep finds sheep in the file", "action": "retry"})).WithUsage(use)
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{
		{Name: "experts", When: expert, Then: &opinion},
		{Name: "T-001", When: task("T-001"), Steps: []fakeapi.Reply{
			fakeapi.Use(fakeapi.Write("f0.txt", "goats\n")).WithUsage(use), report("true"),
			fakeapi.Use(fakeapi.Read("f0.txt")).WithUsage(use),
			fakeapi.Use(fakeapi.Edit("f0.txt", "goats", "sheep")).WithUsage(use), report("true"),
		}},
	}})
	e := newRepo(t, manyTasks(1, 1)).wavex(srv, "run", "plan.json", "--output", "json").end()
	_, last := e.events(t)
	if e.exit != 0 || last.Tasks.Completed != 1 || last.Iterations != 2 {
		t.Fatalf("exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	asked := srv.Messages(expert)
	if len(asked) < 2 {
		t.Errorf("%d experts asked, want a panel", len(asked))
	}
	for _, q := range asked {
		if len(q.Body) > per(shared.cli, 4096, 5120) || !slices.Equal(offered(q), []string{"StructuredOutput"}) {
			t.Errorf("an expert's call has %d bytes and the tools %v", len(q.Body), offered(q))
		}
	}
	// Order: the first attempt, the panel, the second attempt.
	work := srv.Messages(task("T-001"))
	if first, second := work[1], work[2]; asked[0].Index < first.Index || asked[len(asked)-1].Index > second.Index {
		t.Errorf("experts asked at %d to %d, the attempts are at %d and %d", asked[0].Index, asked[len(asked)-1].Index,
			first.Index, second.Index)
	}
	if got := work[2].Users(); !strings.Contains(got, "Write sheep in place of goats.") {
		t.Error("the advice is not in the prompt of the second attempt")
	}
	if got := budget.FromFloat(last.CostUSD); got != srv.Charged() {
		t.Errorf("cost %d, the API charged %d", got, srv.Charged())
	}
}
