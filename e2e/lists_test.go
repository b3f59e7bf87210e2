//go:build unix

package e2e

// This file runs the example plan of an audit on the real CLI: the structured results of the first list are the items
// of the second, and those of the second the items of the third.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

// finding is an entry of the outputs of examples/audit-fix.
type finding struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// findings returns the call of an agent that gives findings as its output.
func findings(list ...finding) fakeapi.Reply {
	all := []any{}
	for _, f := range list {
		all = append(all, map[string]any{"file": f.File, "line": f.Line, "text": f.Text})
	}
	reply := report("true")
	reply.Tools = []fakeapi.Tool{fakeapi.StructuredOutput(map[string]any{"findings": all})}
	return reply
}

// itemTask matches the conversations of the task of an item, whose id begins with a text.
func itemTask(id string) fakeapi.Match { return fakeapi.Prompt("# Your task: " + id) }

// Two agents audit a package each, two others confirm their findings, of which one is refuted, and only the confirmed
// one is fixed. The CLI refuses the first output of the first agent. Texts of agents stay data.
func TestAuditByLists(t *testing.T) {
	t.Parallel()
	onCLIs(t, *allCases, auditByLists)
}

func auditByLists(t *testing.T, c cli) {
	real := finding{"pkg/a/run.go", 7,
		"the error of Close is dropped\"; touch executed; \" $(touch executed)\n${item.file} <b>&"}
	refuted := finding{"pkg/b/b.go", 3, "there is none"}
	write := func(path string) fakeapi.Reply { return fakeapi.Use(fakeapi.Write(path, "why\n")).WithUsage(use) }
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{
		{Name: "audit a", When: itemTask("audit[pkg~a]"), Steps: []fakeapi.Reply{write("audit/pkg/a.md"),
			fakeapi.Use(fakeapi.StructuredOutput(map[string]any{"findings": "many"})).WithUsage(use), findings(real)}},
		{Name: "audit b", When: itemTask("audit[pkg~b]"), Steps: []fakeapi.Reply{write("audit/pkg/b.md"),
			findings(refuted)}},
		{Name: "confirm a", When: itemTask("confirm[pkg~a~run.go-7-"), Steps: []fakeapi.Reply{
			write("audit/pkg/a/run.go.7.md"), findings(real)}},
		{Name: "confirm b", When: itemTask("confirm[pkg~b~b.go-3-"), Steps: []fakeapi.Reply{
			write("audit/pkg/b/b.go.3.md"), findings()}},
		{Name: "fix a", When: itemTask("fix[pkg~a~run.go-7-"), Steps: []fakeapi.Reply{
			fakeapi.Use(fakeapi.Read("pkg/a/run.go")).WithUsage(use),
			fakeapi.Use(fakeapi.Edit("pkg/a/run.go", "dropped", "returned")).WithUsage(use), report("true")}}}})
	example, err := os.ReadFile(filepath.Join("..", "examples", "audit-fix", "plan.yaml"))
	testrepo.Must(t, err)
	r, env := newRepo(t, "-- pkg/a/run.go --\ndropped\n-- pkg/b/b.go --\nfine\n").on(c), Env(t, srv)
	r.write("plan.yaml", strings.Replace(string(example), "model: sonnet", "model: "+model, 1))
	e := r.wavexEnv(env, "run", "plan.yaml", "--set", `folders=["pkg/a","pkg/b"]`, "--output", "json", "--counsel", "off",
		"--parallel", "2").end()
	all, last := e.events(t)
	if charged := srv.Charged(); e.exit != 0 || last.Tasks.Completed != 6 || budget.FromFloat(last.CostUSD) != charged {
		t.Fatalf("exit %d, %+v, charged %s\n%s%s", e.exit, last, charged, e.stdout, e.stderr)
	}
	mustAddItems(t, all, map[string][]finding{"confirm": {real, refuted}, "fix": {real}})
	type output struct {
		Findings []finding `json:"findings"`
	}
	confirmed := []output{{[]finding{real}}, {[]finding{}}}
	for id, want := range map[string]any{"audit": []output{{[]finding{real}}, {[]finding{refuted}}}, "confirm": confirmed,
		"report": confirmed, "audit[pkg/b]": output{[]finding{refuted}}} {
		if got := r.wavexEnv(env, "output", id).end(); !sameJSON(t, got.stdout, mustJSON(t, want)) {
			t.Errorf("the output of %s is %s%s, want %s", id, got.stdout, got.stderr, mustJSON(t, want))
		}
	}
	mustAsk(t, srv, "audit[pkg~a]", "Read the files in pkg/a.", model, true)
	mustAsk(t, srv, "confirm[pkg~a", "Another agent says about pkg/a/run.go, line 7: "+real.Text, "claude-opus", true)
	mustAsk(t, srv, "fix[pkg~a", "Line 7: "+real.Text, model, false)
	fixed, err := os.ReadFile(filepath.Join(r.dir, "pkg", "a", "run.go"))
	if err != nil || string(fixed) != "returned\n" {
		t.Errorf("the fixed file is %q, %v", fixed, err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "executed")); err == nil {
		t.Error("the text of an agent was executed")
	}
}

// mustAddItems asserts the lists that the run added, each once.
func mustAddItems(t *testing.T, all []event, want map[string][]finding) {
	t.Helper()
	for _, v := range all {
		var added struct {
			Group string
			Items []finding
			Tasks []string
		}
		if v.Type != "items_added" {
			continue
		}
		testrepo.Must(t, json.Unmarshal(v.Data, &added))
		list, known := want[added.Group]
		if delete(want, added.Group); !known || !slices.Equal(added.Items, list) || len(added.Tasks) != len(list) {
			t.Errorf("%+v, want %+v", added, list)
		}
	}
	for group := range want {
		t.Errorf("the list of %s was not added", group)
	}
}

// mustAsk asserts the first request of a task: the words of its prompt, its model, and whether it has the tool for an
// output.
func mustAsk(t *testing.T, srv *fakeapi.Server, id, words, model string, output bool) {
	t.Helper()
	requests := srv.Messages(itemTask(id))
	if len(requests) == 0 {
		t.Errorf("%s made no request", id)
		return
	}
	first := requests[0]
	if !strings.Contains(first.FirstUser(), words) || !strings.HasPrefix(first.Model(), model) ||
		slices.Contains(first.Tools(), "StructuredOutput") != output {
		t.Errorf("%s asked %s with the tools %v:\n%s", id, first.Model(), first.Tools(), first.FirstUser())
	}
}
