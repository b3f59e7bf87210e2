package scheduler

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// listPlan has a task "x" whose output is the list of "g", a task "d" that waits for "g", and one that does not.
func listPlan(foreach string) string {
	return planText(`{"id":"x","command":"list","output":{"type":"object"}}`,
		`{"id":"g","subject":"Do ${item}","verify":["true"],"foreach":`+foreach+`}`,
		`{"id":"d","subject":"Collect","verify":["true"],"blockedBy":["g"]}`, task("own"))
}

const fromX = `{"items":"${tasks.x.output.items}","maxItems":20}`

// listOutput is the result of a task with an output.
func listOutput(items string) runner.Result {
	return runner.Result{Outcome: runner.Done, Output: &runner.Output{Value: json.RawMessage(`{"items":` + items + `}`)}}
}

// items reads a list as a session does.
func items(s *State, group int) ([]json.RawMessage, error) {
	outputs, isGroup, err := s.Outputs(s.Plan.Groups[group].Uses)
	if err != nil {
		return nil, err
	}
	all := []json.RawMessage{}
	for _, o := range outputs {
		all = append(all, o.Value)
	}
	if !isGroup {
		return s.Plan.Items(group, all[0])
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return s.Plan.Items(group, raw)
}

// runList runs a plan of lists, with the results of tasks, and returns the starts in their order and the end.
func runList(t testing.TB, s *State, j *memJournal, results map[string][]runner.Result, start event.Body) ([]string,
	event.RunEnded) {
	t.Helper()
	b := newFixture(t, s.Plan, s.Config)
	b.State, b.Journal, b.StartEvent, b.Items, b.Panel = s, j, start, items, nil
	b.runner.results = results
	end := b.run(t)
	return b.runner.order(), end
}

// The tasks of a list start when it is there, and what waits for the group starts behind them. A replay has the same
// state, and a resume does not ask again.
func TestListOfAnOutput(t *testing.T) {
	t.Parallel()
	for _, schedule := range []event.Schedule{event.Waves, event.Eager} {
		for list, want := range map[string][]string{`["a","b"]`: {"g[a]", "g[b]"}, `[]`: {}} {
			p, j := mustPlan(t, listPlan(fromX)), &memJournal{}
			cfg := testConfig()
			cfg.Schedule, cfg.Parallel, cfg.AcceptAssumptions = schedule, 1, true
			s := NewState(p)
			starts, end := runList(t, s, j, map[string][]runner.Result{"x": {listOutput(list)}}, event.RunStarted{Config: cfg})
			if end.Status != event.RunComplete || end.Tasks.Completed != 3+len(want) {
				t.Fatalf("%s: %+v", list, end)
			}
			at := func(id string) int { return slices.Index(starts, id) }
			for _, id := range want {
				if at(id) < at("x") || at("d") < at(id) {
					t.Errorf("%s: the starts are %v", list, starts)
				}
			}
			if i, _ := s.Index("d"); s.Tasks[i].Wave != 2+min(1, len(want)) || s.Tally(0).All != 3+len(want) {
				t.Errorf("%s: d is in wave %d", list, s.Tasks[i].Wave)
			}
			again := replayed(t, p, j.events)
			if fmt.Sprint(again.Figures.tallies) != fmt.Sprint(s.Figures.tallies) || !slices.Equal(again.Plan.Keys(),
				s.Plan.Keys()) ||
				fmt.Sprint(again.queue.members) != fmt.Sprint(s.queue.members) {
				t.Errorf("%s: a replay differs: %v, %v", list, again.Figures.tallies, s.Figures.tallies)
			}
			asked := 0
			for _, e := range j.events {
				if _, ok := e.Body.(event.ItemsAdded); ok {
					asked++
				}
			}
			if asked != 1 {
				t.Errorf("%s: the list was added %d times", list, asked)
			}
		}
	}
}

// A group may have a limit of its own, within that of the run.
func TestParallelOfGroup(t *testing.T) {
	t.Parallel()
	for limit, want := range map[string]int{`,"parallel":2`: 2, ``: 4} {
		s := NewState(mustPlan(t, planText(`{"id":"g","command":"x","foreach":{"items":[1,2,3,4,5,6]`+limit+`}}`,
			task("own"))))
		cfg := testConfig()
		cfg.Parallel, cfg.AcceptAssumptions = 4, true
		mustApply(t, s, event.RunStarted{Config: cfg})
		for body := decideNext(s, s.Time); body != nil; body = decideNext(s, s.Time) {
			mustApply(t, s, body)
		}
		if got := s.groups["g"].running; got != want {
			t.Errorf("%q: %d tasks of the group run", limit, got)
		}
	}
}

// A session can be limited to a group, before and after its list is known.
func TestOnlyGroup(t *testing.T) {
	t.Parallel()
	p, j := mustPlan(t, listPlan(fromX)), &memJournal{}
	cfg := testConfig()
	cfg.AcceptAssumptions, cfg.Parallel, cfg.Only = true, 1, []string{"g"}
	x := map[string][]runner.Result{"x": {listOutput(`["a","b"]`)}}
	starts, end := runList(t, NewState(p), j, x, event.RunStarted{Config: cfg})
	if fmt.Sprint(starts) != "[x g[a] g[b]]" || end.Tasks.Completed != 3 {
		t.Errorf("%v, %+v", starts, end)
	}
	s := replayed(t, p, j.events)
	cfg.Only = []string{"own"}
	if starts, _ = runList(t, s, j, x, event.RunResumed{Config: cfg}); fmt.Sprint(starts) != "[own]" {
		t.Errorf("%v", starts)
	}
}

// A session that is limited to a group runs the blockers of the group, also those of the lists before it. A reference
// may spell the number of a group in another way.
func TestOnlyGroupOfLists(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(`{"id":"x","command":"list","output":{"type":"object"}}`, task("a"), task("b"), task("own"),
		`{"id":"T-01","command":"one","blockedBy":["a"],"foreach":"${tasks.x.output.items}","output":{"type":"object"}}`,
		`{"id":"h","command":"two","blockedBy":["b"],"foreach":"${tasks.1.outputs[*].items[*]}"}`,
		`{"id":"d","command":"three","blockedBy":["h"]}`))
	for only, want := range map[string]string{"1": "[x a T-01[i]]", "h": "[x a b T-01[i] h[j]]",
		"d": "[x a b T-01[i] h[j] d]", "x": "[x]"} {
		cfg, j := testConfig(), &memJournal{}
		cfg.AcceptAssumptions, cfg.Parallel, cfg.Only = true, 1, []string{only}
		starts, end := runList(t, NewState(p), j, map[string][]runner.Result{"x": {listOutput(`["i"]`)},
			"T-01[i]": {listOutput(`["j"]`)}}, event.RunStarted{Config: cfg})
		if fmt.Sprint(starts) != want || end.Status != event.RunPaused {
			t.Errorf("%s: %v, %+v", only, starts, end)
		}
	}
}

// A task that joins a limited session stays selected when a list comes that the session does not need.
func TestOnlyGroupAfterAddedTasks(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, listPlan(fromX)))
	s.Config.Only = []string{"own"}
	s.selectTasks(s.Config.Only)
	grow := func(p *plan.Plan, err error) {
		t.Helper()
		testrepo.Must(t, err)
		before, isList := len(s.Plan.Tasks), p.Groups[0].Known
		if s.Plan = p; isList {
			s.selectItems(before)
		}
		s.grow(before)
	}
	grow(s.Plan.WithTasks(2, json.RawMessage(task("joined"))))
	grow(s.Plan.WithItems("g", []json.RawMessage{[]byte(`"a"`), []byte(`"b"`)}))
	for id, want := range map[string]bool{"own": true, "joined": true,
		"x": false, "d": false, "g[a]": false, "g[b]": false} {
		if i, ok := s.Index(id); !ok || s.Selected(i) != want {
			t.Errorf("%s is selected: %t", id, s.Selected(i))
		}
	}
	if s.selection.held[0] != 4 {
		t.Errorf("%d tasks are held", s.selection.held[0])
	}
}

// A list that cannot become tasks stops the run before one of them has cost money, and names the reason.
func TestListThatIsNone(t *testing.T) {
	t.Parallel()
	many := `["` + strings.Join(make([]string, 5000), `x","`) + `"]`
	for list, want := range map[string]string{`{"a":1}`: "is no list", many: "it has 5000 items; at most 20 are allowed",
		`["a","a"]`: `item 2, "a": it has the key of item 1`, `["a\u0000"]`: "NUL", `null`: "is no list"} {
		cfg, j := testConfig(), &memJournal{}
		cfg.Parallel = 1
		starts, end := runList(t, NewState(mustPlan(t, listPlan(fromX))), j,
			map[string][]runner.Result{"x": {listOutput(list)}}, event.RunStarted{Config: cfg})
		if end.Status != event.RunBlocked || end.ExitCode != event.ExitBlocked || !strings.Contains(end.Reason, want) ||
			slices.ContainsFunc(starts, func(id string) bool { return id == "d" || strings.HasPrefix(id, "g[") }) {
			t.Errorf("%.20s: %v, %+v", list, starts, end)
		}
	}
	// A plan that allows more items goes on, without asking for the list again.
	cfg, j := testConfig(), &memJournal{}
	cfg.AcceptAssumptions = true
	x := map[string][]runner.Result{"x": {listOutput(`["a","b"]`)}}
	const narrow = `{"items":"${tasks.x.output.items}","maxItems":1}`
	runList(t, NewState(mustPlan(t, listPlan(narrow))), j, x, event.RunStarted{Config: cfg})
	s := replayed(t, mustPlan(t, listPlan(fromX)), j.events)
	starts, end := runList(t, s, j, nil, event.RunResumed{Config: cfg})
	if end.Status != event.RunComplete || slices.Contains(starts, "x") || !slices.Contains(starts, "g[b]") {
		t.Errorf("after more items are allowed: %v, %+v", starts, end)
	}
}

// The output of an agent decides about the tasks of a list, and about their money: without a valid list none of them
// starts, and the run costs what the attempts at the list cost. A list without maxItems has at most 100.
func TestListOfAnAgent(t *testing.T) {
	t.Parallel()
	const price = budget.USD(1000) // of an attempt
	list := func(n int) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf("%q", fmt.Sprint("i", i))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	for name, c := range map[string]struct {
		output string // "": the attempts give none that is valid
		status event.RunStatus
		reason string
		items  int // that run
		starts int // of the task with the list
	}{
		"invalid":        {"", event.RunFailed, "1 failed, 1 blocked", 0, 3},
		"no list":        {`{"items":"many"}`, event.RunBlocked, "${tasks.x.output.items} is no list", 0, 1},
		"null":           {`{"items":null}`, event.RunBlocked, "${tasks.x.output.items} is no list", 0, 1},
		"no value":       {`{}`, event.RunBlocked, "${tasks.x.output.items} has no value", 0, 1},
		"too many":       {`{"items":` + list(101) + `}`, event.RunBlocked, "it has 101 items; at most 100", 0, 1},
		"5,000":          {`{"items":` + list(5000) + `}`, event.RunBlocked, "it has 5000 items; at most 100", 0, 1},
		"none":           {`{"items":[]}`, event.RunComplete, "", 0, 1},
		"as many as can": {`{"items":` + list(100) + `}`, event.RunComplete, "", 100, 1},
	} {
		s := NewState(mustPlan(t, planText(`{"id":"x","subject":"Find","output":{"type":"object"}}`,
			`{"id":"g","subject":"Do ${item}","verify":["true"],"foreach":"${tasks.x.output.items}"}`,
			`{"id":"d","command":"collect","blockedBy":["g"]}`)))
		cfg, j := testConfig(), &memJournal{}
		cfg.Review, cfg.Counsel, cfg.MaxRetries = event.ReviewOff, false, 2
		cfg.AcceptAssumptions = true
		cfg.Limits.Iterations = 200
		x := runner.Result{Outcome: runner.Wrong, Reason: "the output does not match its schema", Cost: price,
			Priced: "result", Turns: 1}
		if c.output != "" {
			x.Outcome, x.Reason, x.Output = runner.Done, "", &runner.Output{Value: json.RawMessage(c.output)}
		}
		starts, end := runList(t, s, j, map[string][]runner.Result{"x": {x}, "d": {{Outcome: runner.Done}}},
			event.RunStarted{Config: cfg})
		items, lists := 0, 0
		for _, id := range starts {
			if strings.HasPrefix(id, "g[") {
				items++
			} else if id == "x" {
				lists++
			}
		}
		if end.Status != c.status || !strings.Contains(end.Reason, c.reason) || items != c.items || lists != c.starts ||
			end.Cost != price*budget.USD(c.starts+c.items) {
			t.Errorf("%s: %d and %d starts, %+v", name, lists, items, end)
		}
		if g := s.Plan.Groups[0]; g.Known != (c.status == event.RunComplete) || len(g.Tasks) != c.items {
			t.Errorf("%s: the group is %+v", name, g)
		}
	}
}

// checkOrder fails if a task began before one that it waits for was completed.
func checkOrder(t *rapid.T, events []event.Event, p *plan.Plan) {
	s := NewState(p)
	for _, e := range events {
		if b, ok := e.Body.(event.AttemptStarted); ok {
			i, known := s.Index(b.Task)
			if !known {
				t.Fatalf("%s begins before it is in the plan", b.Task)
			}
			for _, blocker := range s.Plan.Graph.Blockers(i) {
				if !s.stands(int(blocker)) && !s.IsAllowed(int(blocker)) {
					t.Errorf("%s begins before %s is done", b.Task, s.Plan.Tasks[blocker].ID)
				}
			}
		}
		if err := s.apply(e); err != nil {
			t.Fatal(err)
		}
	}
}
