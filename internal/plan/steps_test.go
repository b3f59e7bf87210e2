package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Each item becomes a task for each step. Those who wait for the group wait for the last ones, and the first ones wait
// for the blockers of the group.
func TestSteps(t *testing.T) {
	t.Parallel()
	const text = `{"tasks":[{"id":"a","command":"x","output":{"type":"object"}},
	{"id":"g","blockedBy":"a","foreach":LIST,"steps":[
		{"name":"audit","command":"x ${item}","output":{"type":"object","properties":{"n":{"type":"number"}}}},
		{"subject":"Look at ${item}","verify":"x","description":"It has ${steps.audit.output.n} in ${run.id}.",
			"files":["out/${item}"]},
		{"name":"fix","command":"fix ${steps.audit.output.n}","output":{"type":"object"}}]},
	{"id":"z","command":"x ${tasks.g.outputs}"}]}`
	check := func(p *Plan, order, blockers string) {
		t.Helper()
		all := make([]int, len(p.Tasks))
		for i := range all {
			all[i] = i
		}
		edges := ""
		for i := range p.Tasks {
			edges += fmt.Sprint(p.Graph.Blockers(i))
		}
		if got := fmt.Sprint(IDs(p, all)); got != order || edges != blockers {
			t.Errorf("the tasks are %s with the blockers %s", got, edges)
		}
		waves, total := p.Waves()
		for _, i := range p.Groups[0].All() {
			if waves[i] != 2 || total != 3 {
				t.Errorf("%s is in wave %d of %d", p.Tasks[i].ID, waves[i], total)
			}
		}
	}
	p := mustParse(t, strings.Replace(text, "LIST", `["u/v","w"]`, 1))
	check(p, "[a g[u~v].audit g[u~v].2 g[u~v].fix g[w].audit g[w].2 g[w].fix z]", "[][0][1][2][0][4][5][3 6]")
	if g := p.Groups[0]; g.Steps != 3 || fmt.Sprint(g.Tasks, g.All()) != "[3 6] [1 2 3 4 5 6]" {
		t.Errorf("%+v", g)
	}
	for _, id := range []string{"g[u/v].2", "g[u~v].2"} {
		if i, ok := p.Lookup(id); !ok || i != 2 {
			t.Errorf("%s is task %d", id, i)
		}
	}
	outputs := map[string]json.RawMessage{"g[u~v].audit": json.RawMessage(`{"n":7}`)}
	if uses := p.Tasks[2].Uses(); fmt.Sprint(uses) != "[g[u~v].audit]" || p.Tasks[2].Files[0].Path != "out/u/v" {
		t.Errorf("%v, %+v", uses, p.Tasks[2].Files)
	}
	if got, err := p.Tasks[2].Resolve("R", outputs, nil); err != nil || got.Description != "It has 7 in R." {
		t.Errorf("%s, %v", got.Description, err)
	}
	if got, err := p.Tasks[3].Resolve("R", outputs, nil); err != nil || !strings.Contains(fmt.Sprint(got.Env), ":7") {
		t.Errorf("%v, %v", got.Env, err)
	}
	// The same with a list that comes with the run.
	p = mustParse(t, strings.Replace(text, "LIST", `"${tasks.a.output.items}"`, 1))
	q, err := p.WithItems("g", []json.RawMessage{json.RawMessage(`"u/v"`), json.RawMessage(`"w"`)})
	must(t, err)
	check(q, "[a z g[u~v].audit g[u~v].2 g[u~v].fix g[w].audit g[w].2 g[w].fix]", "[][0 4 7][0][2][3][0][5][6]")
}

// The steps of an item may declare one file: they follow each other.
func TestStepsOfOneFile(t *testing.T) {
	t.Parallel()
	const text = `{"id":"g","foreach":["a","b"],"steps":[{"subject":"x","verify":"x","files":["ITEM"]},
		{"subject":"y","verify":"x","files":["ITEM"]}]}`
	for path, want := range map[string]int{"${item}": 0, "same": 1} {
		p, ds := Parse("plan.json", []byte(tasks(strings.ReplaceAll(text, "ITEM", path))), Options{})
		if p == nil || len(ds) != want {
			t.Errorf("%s: %v", path, ds)
		}
	}
}

func TestStepMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{`[]`, `an item has at least one step`},
		{`{}`, `a list of steps`},
		{`[{"name":"a"}]`, `has neither subject nor prompt nor command`},
		{`[{"command":"x","id":1}]`, `unknown field "id"`},
		{`[{"command":"x","blockedBy":"a"}]`, `unknown field "blockedBy"`},
		{`[{"command":"x","name":"a.b"}]`, `the name of a step has at most`},
		{`[{"command":"x","name":"a"},{"command":"x","name":"A"}]`, `two steps have the name "A"`},
		{`[{"command":"x ${steps.a.output.n}"}]`, `there is no earlier step a`},
		{`[{"command":"x","name":"a"},{"command":"x ${steps.a.output.n}"}]`, `step a has no output`},
		{`[{"command":"x ${steps.a.output}","name":"a","output":{}}]`, `there is no earlier step a`},
		{`[{"command":"x"}],"command":"x"`, `a task with steps has no command of its own`},
		{`[{"command":"x ${item.n}"}]`, `the reference ${item.n}`},
		{`[{"command":"x","name":"a","output":{"type":"object"}},{"command":"x ${steps.a.output}"}]`,
			`the value is an object`},
	} {
		steps, want := c[0], c[1]
		p, ds := Parse("plan.json", []byte(tasks(`{"id":"g","foreach":["i"],"steps":`+steps+`}`)), Options{})
		if p != nil || !strings.Contains(fmt.Sprint(ds), want) {
			t.Errorf("%s: %v", steps, ds)
		}
	}
	p, ds := Parse("plan.json", []byte(tasks(`{"id":"g","steps":[{"command":"x"}]}`,
		`{"id":"h","command":"x ${steps.a.output}","output":{}}`)), Options{})
	if text := fmt.Sprint(ds); p != nil || !strings.Contains(text, "steps belong to a task with foreach") {
		t.Error(text)
	}
}
