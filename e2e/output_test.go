//go:build unix

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
	"wavex/runner"
)

const outputPlan = `
-- plan.json --
{"defaults": {"model": "` + model + `", "maxRetries": 1}, "tasks": [
 {"id": "T-001", "subject": "List", "verify": ["test -e made.txt"], "files": ["made.txt"],
  "output": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["items"],
   "properties": {"items": {"type": "array", "items": {"type": "object", "required": ["path"],
    "properties": {"path": {"type": "string"}, "size": {"type": "integer"}}}}}}},
 {"id": "T-002", "subject": "Count", "output": {"type": "object", "required": ["n"],
   "properties": {"n": {"type": "integer"}}}}
]}
`

// An agent works, gives an output that the CLI refuses, and then a valid one. Another one gives none, and learns that
// from the prompt of its retry.
func TestOutput(t *testing.T) {
	t.Parallel()
	items := []any{map[string]any{"path": "a<b>&\"; rm -rf $HOME; \"\n"}, map[string]any{"path": "$(touch x)", "size": 3}}
	lists := fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
		switch r.ToolTurns() {
		case 0:
			return fakeapi.Use(fakeapi.Write("made.txt", "made\n")).WithUsage(use)
		case 1:
			return fakeapi.Use(fakeapi.StructuredOutput(map[string]any{"items": "many"})).WithUsage(use)
		}
		reply := report("true").WithUsage(use)
		reply.Tools = []fakeapi.Tool{fakeapi.StructuredOutput(map[string]any{"items": items})}
		return reply
	})
	counts := fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
		if strings.Contains(r.Users(), "no output") {
			return fakeapi.Use(fakeapi.StructuredOutput(map[string]any{"n": 7})).WithUsage(use)
		}
		return report("true").WithUsage(use)
	})
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{
		{Name: "T-001", When: task("T-001"), Then: &lists}, {Name: "T-002", When: task("T-002"), Then: &counts}}})
	r, env := newRepo(t, outputPlan), Env(t, srv)
	e := r.wavexEnv(env, "run", "plan.json", "--output", "json", "--review", "off", "--counsel", "off",
		"--accept-assumptions").end()
	all, last := e.events(t)
	if charged := srv.Charged(); e.exit != 0 || budget.FromFloat(last.CostUSD) != charged {
		t.Fatalf("exit %d, cost %v, charged %s\n%s%s", e.exit, last.CostUSD, charged, e.stdout, e.stderr)
	}
	var ends []runner.Result
	for _, v := range all {
		var end struct {
			Task   string
			Result runner.Result
		}
		if v.Type == "attempt_ended" {
			testrepo.Must(t, json.Unmarshal(v.Data, &end))
			ends = append(ends, end.Result)
			if end.Task == "T-001" && (end.Result.Outcome != runner.Done ||
				!strings.Contains(end.Result.Report, "LOOP_STATUS")) {
				t.Errorf("T-001 ended as %+v", end.Result)
			}
		}
	}
	if len(ends) != 3 || !slices.ContainsFunc(ends, func(r runner.Result) bool {
		return r.Outcome == runner.Wrong && r.Reason == "no output: the agent did not call StructuredOutput"
	}) {
		t.Errorf("the attempts ended as %+v", ends)
	}
	for id, want := range map[string]any{"T-001": map[string]any{"items": items}, "T-002": map[string]any{"n": 7}} {
		got := r.wavexEnv(env, "output", id).end()
		text, err := json.Marshal(want)
		testrepo.Must(t, err)
		if !sameJSON(t, got.stdout, string(text)) {
			t.Errorf("the output of %s is %s, want %s", id, got.stdout, text)
		}
	}
	if first := srv.Messages(task("T-001"))[0]; !slices.Contains(first.Tools(), "StructuredOutput") {
		t.Errorf("the agent has the tools %v", first.Tools())
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var v [2]any
	for i, text := range []string{a, b} {
		if err := json.Unmarshal([]byte(text), &v[i]); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	x, y := mustJSON(t, v[0]), mustJSON(t, v[1])
	return x == y
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	testrepo.Must(t, err)
	return string(text)
}
