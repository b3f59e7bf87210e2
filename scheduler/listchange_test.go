package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// Another run of a plan whose list has other items runs exactly the tasks of new items, and what waits for the group.
// No run uses an output before it is there.
func TestChangedList(t *testing.T) {
	t.Parallel()
	letters := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(rt *rapid.T) {
		late := rapid.Bool().Draw(rt, "late")
		steps := rapid.IntRange(0, 3).Draw(rt, "steps")
		before := rapid.SliceOfNDistinct(rapid.SampledFrom(letters), 0, 4, rapid.ID).Draw(rt, "before")
		now := rapid.SliceOfNDistinct(rapid.SampledFrom(letters), 0, 4, rapid.ID).Draw(rt, "now")
		again := late && rapid.Bool().Draw(rt, "again") // the list is made again
		if late && !again {
			now = slices.Clone(before)
		}
		cfg := testConfig()
		cfg.AcceptAssumptions, cfg.Parallel = true, rapid.IntRange(1, 3).Draw(rt, "parallel")
		cfg.Schedule = rapid.SampledFrom([]event.Schedule{event.Waves, event.Eager}).Draw(rt, "schedule")

		first := runItems(rt, mustPlan(t, groupPlan(late, steps, before)), before, event.RunStarted{Config: cfg}, nil)
		work := &event.EarlierWork{}
		for i := range first.State.Tasks {
			work.Tasks = append(work.Tasks, event.EarlierTask{Task: first.State.Plan.Tasks[i].ID,
				Key: first.State.Tasks[i].Key, Run: "run-0", Evidence: event.ExecutionOutput, Output: first.State.Output(i)})
		}
		missing, want := map[string]string{}, []string{}
		if again {
			missing["x"], want = "its file is gone", []string{"x"}
		}
		for _, item := range now {
			if !slices.Contains(before, item) {
				want = append(want, itemTasks(item, steps)...)
			}
		}
		slices.Sort(before)
		if sorted := slices.Sorted(slices.Values(now)); !slices.Equal(before, sorted) {
			want = append(want, "collect", "h[1]", "h[2]", "last")
		}
		start := event.RunStarted{Config: cfg, Earlier: work}
		got := runItems(rt, mustPlan(t, groupPlan(late, steps, now)), now, start, missing)
		ran := sorted(got.runner.order())
		if slices.Sort(want); !slices.Equal(ran, want) {
			rt.Errorf("after %q, %q runs %q, want %q", before, now, ran, want)
		}
	})
}

// groupPlan returns a plan with a group g, a task that collects its outputs, one that uses that output, a group that
// waits, and a task of its own. The list of a late group is the output of x.
func groupPlan(late bool, steps int, items []string) string {
	list, err := json.Marshal(items)
	if err != nil {
		panic(err)
	}
	if late {
		list = []byte(`"${tasks.x.output.items}"`)
	}
	const work = `"subject":"Do ${item}","verify":["true"],"output":{"type":"object"}`
	g := work
	if steps > 0 {
		all := []string{`{` + work + `}`}
		for n := 1; n < steps; n++ {
			all = append(all, fmt.Sprintf(`{%s,"prompt":"${steps.%d.output | json}"}`, work, n))
		}
		g = `"steps":[` + strings.Join(all, ",") + `]`
	}
	return planText(`{"id":"x","subject":"List","verify":["true"],"output":{"type":"object"}}`,
		`{"id":"g",`+g+`,"foreach":`+string(list)+`}`,
		`{"id":"collect","subject":"Collect","verify":["true"],"prompt":"${tasks.g.outputs}","output":{"type":"object"}}`,
		`{"id":"last","subject":"Last","verify":["true"],"prompt":"${tasks.collect.output | json}"}`,
		`{"id":"h","subject":"Wait ${item}","verify":["true"],"foreach":[1,2],"blockedBy":["g"]}`, task("own"))
}

// itemTasks returns the tasks of an item of groupPlan.
func itemTasks(item string, steps int) (ids []string) {
	if steps == 0 {
		return []string{"g[" + item + "]"}
	}
	for n := 1; n <= steps; n++ {
		ids = append(ids, fmt.Sprintf("g[%s].%d", item, n))
	}
	return ids
}

// runItems runs a plan to its end. Each task has an output, that of x has the items. missing has the tasks of an
// earlier run whose files are gone.
func runItems(t *rapid.T, p *plan.Plan, list []string, start event.RunStarted, missing map[string]string) *fixture {
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	b := newFixture(t, p, start.Config)
	b.StartEvent, b.Items, b.Panel = start, items, nil
	b.Request = func(s *State, i int, e event.AttemptStarted) (runner.Request, error) {
		for _, id := range s.Plan.Tasks[i].Uses() {
			if outputs, _, err := s.Outputs(id); err != nil || slices.Contains(outputs, nil) {
				t.Errorf("%s begins without the output of %s: %v", e.Task, id, err)
			}
		}
		b.runner.mu.Lock()
		defer b.runner.mu.Unlock()
		b.runner.results[e.Task] = []runner.Result{listOutput(`[]`)}
		if e.Task == "x" {
			b.runner.results[e.Task] = []runner.Result{listOutput(string(raw))}
		}
		return runner.Request{Task: e.Task, Attempt: e.Attempt, Session: e.Session}, nil
	}
	b.Verify = func(s *State, e event.CriteriaStarted) verification {
		v := answer(s, e)
		v.Missing = missing
		return verified(v, nil)
	}
	if end, err := b.Run(context.Background()); err != nil || end.Status != event.RunComplete {
		t.Fatalf("%+v, %v", end, err)
	}
	checkOrder(t, b.journal.events, p)
	return b
}

// After an edit of the plan the attempts, panels and pre-checks of a task are counted on, also those of the items of a
// list that is made again: each has a folder of its own, and an attempt has a name on workers.
func TestNumbersAfterAnEdit(t *testing.T) {
	t.Parallel()
	text := func(subject string) string {
		return planText(`{"id":"x","subject":"`+subject+`","verify":["true"],"reversibility":"1","output":{"type":"object"}}`,
			`{"id":"g","subject":"Do ${item}","verify":["true"],"reversibility":"1","foreach":"${tasks.x.output.items}"}`)
	}
	list, cfg := doneFor(1), testConfig()
	list.Output = &runner.Output{Value: json.RawMessage(`{"items":["k"]}`)}
	cfg.Precheck = true
	session := func(b *fixture) {
		b.Items, b.runner.results["x"] = items, []runner.Result{wrong("no"), list}
		b.runner.results["g[k]"] = []runner.Result{wrong("no"), doneFor(1)}
		b.Precheck = func(*State, int, event.PrecheckStarted) func(context.Context) counsel.Challenge {
			return func(context.Context) counsel.Challenge { return counsel.Challenge{Go: true} }
		}
		b.run(t)
	}
	first := newFixture(t, mustPlan(t, text("List")), cfg)
	session(first)
	again := resumed(t, text("List anew"), cfg, first.journal.events)
	session(again)
	var got []string
	for _, e := range again.journal.events {
		if j := jobOf(e.Body); j.task != "" || strings.Contains(j.key, "precheck") {
			got = append(got, strings.TrimPrefix(j.key, "/"))
		}
	}
	want := []string{"precheck-x-1", "x/1", "x/counsel-1", "x/2", "precheck-g[k]-1", "g[k]/1", "g[k]/counsel-1", "g[k]/2",
		"precheck-x-2", "x/3", "x/counsel-2", "x/4", "precheck-g[k]-2", "g[k]/3", "g[k]/counsel-2", "g[k]/4"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
