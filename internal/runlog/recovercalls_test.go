package runlog

import (
	"os"
	"path/filepath"
	"testing"

	"wavex/budget"
	"wavex/internal/agent"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

func TestRecoverCalls(t *testing.T) {
	t.Parallel()
	const (
		limit    = budget.Dollar
		begun    = `{"type":"system","subtype":"init","session_id":"s","model":"m"}` + "\n"
		response = `{"type":"assistant","message":{"id":"1","model":"claude-opus-4-8",` +
			`"usage":{"input_tokens":1000,"output_tokens":1}}}` + "\n"
		result = `{"type":"result","subtype":"success","total_cost_usd":0.25,"usage":{"input_tokens":1}}` + "\n"
	)
	prices, err := budget.LoadPrices(nil)
	testrepo.Must(t, err)
	for _, c := range []struct {
		name  string
		files map[string]string
		cost  budget.USD
		known bool
	}{
		{"nobody was asked", nil, 0, true},
		{"an expert without a stream", map[string]string{"debugger/prompt.md": "?"}, 0, true},
		{"one over the API, by an older wavex", map[string]string{"debugger/request.json": "{}"}, 0, false},
		{"one ended, one was under way", map[string]string{"debugger/stream.jsonl": begun + response + result,
			"tester/stream.jsonl": begun + response}, 255_025, true},
		{"a model without a price", map[string]string{"debugger/stream.jsonl": begun +
			`{"type":"assistant","message":{"id":"1","model":"x","usage":{"input_tokens":9}}}`}, 135, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "counsel-1")
			for name, text := range c.files {
				path := filepath.Join(dir, name)
				testrepo.Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
				testrepo.Must(t, os.WriteFile(path, []byte(text), 0o644))
			}
			if cost := RecoverCalls(dir, agent.Claude, prices, 0); cost != c.cost {
				t.Errorf("cost %d, want %d", cost, c.cost)
			}
			if cost := RecoverCalls(dir, agent.Claude, prices, limit); (cost == c.cost) != c.known || !c.known && cost != limit {
				t.Errorf("cost %d with a limit of %d, want it known: %v", cost, limit, c.known)
			}
		})
	}
}

// Calls of an earlier session without a recorded end are priced by their streams, or at the limit if
// the cost is unknown.
func TestRecoveryFindsTheCalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const stream = `{"type":"result","subtype":"success","total_cost_usd":0.25,"usage":{"input_tokens":1}}` + "\n"
	testrepo.Files{".loop/runs/r/reviews/3/x/stream.jsonl": stream, ".loop/runs/r/criteria-2/judge/stream.jsonl": stream,
		".loop/runs/r/tasks/a/counsel-1/x/stream.jsonl": stream}.Write(t, dir)
	l := Recovery{Loop: loop.In(dir), Run: "r", Prices: budget.Prices{}}
	for _, c := range []struct {
		task, calls string
		want        budget.USD
	}{
		{"", "review-3", 250_000}, {"", "criteria-2", 250_000}, {"", "review-9", 0},
		{"", "precheck-a-1", 0}, {"a", "counsel-1", 250_000}, {"a", "counsel-3", 0},
	} {
		if got := l.Cost(c.task, c.calls, 900_000); got != c.want {
			t.Errorf("%s of %q: %s, want %s", c.calls, c.task, got, c.want)
		}
	}
}
