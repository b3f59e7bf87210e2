package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/runner"
)

// A group is complete for those who wait while at most so many items failed as it allows. The gate passes and says how
// many. More failed items are as a failed task.
func TestAllowFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allow  string
		failed int
		ok     bool
	}{{`0`, 1, false}, {`1`, 1, true}, {`1`, 2, false}, {`2`, 2, true}, {`2`, 3, false}, {`4`, 4, true}} {
		for _, schedule := range []event.Schedule{event.Waves, event.Eager} {
			p := mustPlan(t, planText(`{"id":"g","command":"x","criteria":["good"],
				"foreach":{"items":["a","b","c","d"],"allowFailures":`+c.allow+`}}`,
				`{"id":"h","command":"y","foreach":["z"],"blockedBy":["g"]}`, `{"id":"d","command":"z","blockedBy":["h"]}`))
			cfg, j, results := testConfig(), &memJournal{}, map[string][]runner.Result{}
			cfg.Schedule, cfg.Parallel, cfg.AcceptAssumptions, cfg.MaxRetries, cfg.FailFast = schedule, 2, true, 0, c.ok
			for _, id := range []string{"d", "c", "b", "a"}[:c.failed] {
				results["g["+id+"]"] = []runner.Result{{Outcome: runner.Wrong, Reason: "no " + id}}
			}
			s := NewState(p)
			starts, end := runList(t, s, j, results, event.RunStarted{Config: cfg})
			name := fmt.Sprintf("%s of 4, %d failed, %s", c.allow, c.failed, schedule)
			if (end.Status == event.RunComplete) != c.ok || slices.Contains(starts, "d") != c.ok ||
				s.IsDone() != c.ok || end.Tasks.Failed != c.failed {
				t.Errorf("%s: %v, %+v", name, starts, end)
			}
			if c.ok && (s.Failures() != 0 || !s.Assessment.Gate.Passed ||
				!strings.Contains(strings.Join(s.Assessment.Gate.Reasons, "; "),
					fmt.Sprintf("%d of 4 items of g failed; the plan allows ", c.failed))) {
				t.Errorf("%s: %+v", name, s.Assessment.Gate)
			}
			again := replayed(t, p, j.events)
			if fmt.Sprint(again.Counts, again.allowedFailures()) != fmt.Sprint(s.Counts, s.allowedFailures()) {
				t.Errorf("%s: a replay has %v", name, again.Counts)
			}
			starts, end = runList(t, again, j, nil, event.RunResumed{Config: cfg})
			if (end.Status == event.RunComplete) != c.ok || len(starts) > 0 || end.Tasks.Failed != c.failed {
				t.Errorf("%s, resumed: %v, %+v", name, starts, end)
			}
			// A retry gives the failed items another chance, and then they need no allowance.
			starts, end = runRetry(t, again, j, nil, cfg, "g")
			mustRecordUsers(t, j)
			if end.Status != event.RunComplete || end.Tasks.Failed != 0 || slices.Contains(starts, "d") == c.ok {
				t.Errorf("%s, tried again: %v, %+v", name, starts, end)
			}
		}
	}
}

// runRetry runs a session that is limited to tasks and groups, and then one with the rest.
func runRetry(t *testing.T, s *State, j *memJournal, results map[string][]runner.Result, cfg event.Config,
	only ...string) (starts []string, end event.RunEnded) {
	t.Helper()
	named := cfg
	named.Only = only
	starts, _ = runList(t, s, j, results, event.RunResumed{Config: named})
	rest, end := runList(t, s, j, results, event.RunResumed{Config: cfg})
	return append(starts, rest...), end
}

// A retry tries an allowed failure again. Then the tasks that used the outputs without it are repeated too.
func TestRetryRepeatsUsersOfOutputs(t *testing.T) {
	t.Parallel()
	p, j := mustPlan(t, planText(`{"id":"g","command":"one","output":{"type":"object"},
		"foreach":{"items":["a","b"],"allowFailures":1}}`,
		`{"id":"d","command":"cat ${tasks.g.outputs}","output":{"type":"object"}}`,
		`{"id":"e","command":"echo ${tasks.d.output | json}"}`, `{"id":"f","command":"two","blockedBy":["g"]}`,
		`{"id":"late","command":"three"}`)), &memJournal{}
	cfg := testConfig()
	cfg.AcceptAssumptions, cfg.MaxRetries, cfg.Parallel = true, 0, 1
	wrong := []runner.Result{{Outcome: runner.Wrong}}
	starts, end := runList(t, NewState(p), j, map[string][]runner.Result{"g[a]": wrong, "late": wrong,
		"g[b]": {listOutput(`["x"]`)}, "d": {listOutput(`[]`)}}, event.RunStarted{Config: cfg})
	if end.Status != event.RunFailed || !slices.Contains(starts, "e") {
		t.Fatalf("%v, %+v", starts, end)
	}
	again := replayed(t, p, j.events)
	starts, end = runRetry(t, again, j, nil, cfg, "g", "late")
	if d := slices.Index(starts, "d"); end.Status != event.RunComplete || d < slices.Index(starts, "g[a]") ||
		slices.Index(starts, "e") < d || slices.Contains(starts, "f") || slices.Contains(starts, "g[b]") {
		t.Errorf("tried again: %v, %+v", starts, end)
	}
	mustRecordUsers(t, j, "d", "e")
}

// The list of a group can be made of the outputs of another group, of which items may have failed.
func TestListOfAllowedFailures(t *testing.T) {
	t.Parallel()
	p, j := mustPlan(t, planText(`{"id":"g","command":"one","output":{"type":"object"},
		"foreach":{"items":["a","b"],"allowFailures":1}}`,
		`{"id":"h","command":"two","foreach":"${tasks.g.outputs[*].items[*]}"}`)), &memJournal{}
	cfg := testConfig()
	cfg.AcceptAssumptions, cfg.MaxRetries = true, 0
	starts, end := runList(t, NewState(p), j, map[string][]runner.Result{"g[a]": {{Outcome: runner.Wrong}},
		"g[b]": {listOutput(`["x"]`)}}, event.RunStarted{Config: cfg})
	if end.Status != event.RunComplete || !slices.Contains(starts, "h[x]") {
		t.Errorf("%v, %+v", starts, end)
	}
}

// A list that was made of outputs stays as it is when the failed items are tried again: it is not read again.
func TestListStaysOnRetry(t *testing.T) {
	t.Parallel()
	for _, schedule := range []event.Schedule{event.Waves, event.Eager} {
		p, j := mustPlan(t, planText(`{"id":"g","command":"one","output":{"type":"object"},
			"foreach":{"items":["a","b"],"allowFailures":1}}`,
			`{"id":"h","command":"two","foreach":"${tasks.g.outputs[*].items[*]}"}`, `{"id":"late","command":"three"}`,
			`{"id":"d","command":"four","blockedBy":["h"]}`)), &memJournal{}
		cfg := testConfig()
		cfg.AcceptAssumptions, cfg.MaxRetries, cfg.Schedule = true, 0, schedule
		wrong := []runner.Result{{Outcome: runner.Wrong}}
		starts, end := runList(t, NewState(p), j, map[string][]runner.Result{"g[a]": wrong, "late": wrong,
			"g[b]": {listOutput(`["x"]`)}}, event.RunStarted{Config: cfg})
		if end.Status != event.RunFailed || !slices.Contains(starts, "h[x]") {
			t.Fatalf("%s: %v, %+v", schedule, starts, end)
		}
		again := replayed(t, p, j.events)
		starts, end = runRetry(t, again, j, map[string][]runner.Result{"g[a]": {listOutput(`["y"]`)}}, cfg, "g", "late")
		slices.Sort(starts)
		if end.Status != event.RunComplete || fmt.Sprint(starts) != "[g[a] late]" || len(of[event.ItemsAdded](j)) != 1 {
			t.Errorf("%s, tried again: %v, %+v", schedule, starts, end)
		}
	}
}

// What an item cost stays in the account of its group when an edit of the plan takes the item off the list.
func TestCostOfARemovedItem(t *testing.T) {
	t.Parallel()
	text := func(list, steps string) string {
		return planText(`{"id":"g",`+steps+`,"foreach":`+list+`}`, task("own"))
	}
	for _, steps := range []string{`"subject":"x","verify":["true"]`, `"steps":[{"subject":"x","verify":["true"]}]`} {
		j, cfg := &memJournal{}, testConfig()
		cfg.AcceptAssumptions = true
		s := NewState(mustPlan(t, text(`["a","b"]`, steps)))
		runList(t, s, j, nil, event.RunStarted{Config: cfg})
		again := NewState(mustPlan(t, text(`["a"]`, steps)))
		if err := again.Replay(j.events); err != nil || s.GroupCost("g") != 2000 || again.GroupCost("g") != 2000 {
			t.Errorf("%s: the group cost %s, and %s without b, %v", steps, s.GroupCost("g"), again.GroupCost("g"), err)
		}
	}
}

// Items that fail together in one integration count together. Two steps of one item that fail are one failed item.
func TestFailuresOfAnIntegration(t *testing.T) {
	t.Parallel()
	list := func(allow int) string {
		return fmt.Sprintf(`{"id":"g","subject":"x","verify":["true"],"foreach":{"items":["a","b","c"],"allowFailures":%d}}`,
			allow)
	}
	steps := func(allow int) string {
		return fmt.Sprintf(`{"id":"g","foreach":{"items":["a"],"allowFailures":%d},"steps":[
			{"subject":"one","verify":["true"]},{"subject":"two","verify":["true"]},{"subject":"three","verify":["true"]}]}`,
			allow)
	}
	for _, c := range []struct {
		group     string
		isolation event.Isolation
		completed []string
		culprits  []string
		blocked   int
	}{
		{list(1), event.Isolated, []string{"g[c]"}, []string{"g[a]", "g[b]"}, 1},
		{list(2), event.Isolated, []string{"g[c]"}, []string{"g[a]", "g[b]"}, 0},
		{steps(0), "", nil, []string{"g[a].1", "g[a].2"}, 2}, // more than allowed: d too
		{steps(1), "", nil, []string{"g[a].1", "g[a].2"}, 1},
	} {
		s := NewState(mustPlan(t, planText(c.group, task("own"), task("d", "g"))))
		cfg := testConfig()
		cfg.Isolation, cfg.MaxRetries, cfg.Parallel = c.isolation, 0, 3
		mustIntegrate(t, s, cfg, c.completed, c.culprits...)
		if s.Counts.Failed != 2 || s.Counts.Blocked != c.blocked {
			t.Errorf("%s: %+v, want %d blocked", c.group, s.Counts, c.blocked)
		}
	}
}

// mustIntegrate begins a run, and integrates tasks as soon as all of them are verified.
func mustIntegrate(t *testing.T, s *State, cfg event.Config, completed []string, culprits ...string) {
	t.Helper()
	mustApply(t, s, event.RunStarted{Config: cfg})
	tasks := slices.Concat(completed, culprits)
	for body := decideNext(s, s.Time); s.Tally(0).Verified < len(tasks); body = decideNext(s, s.Time) {
		if body == nil {
			i := slices.IndexFunc(s.Tasks, func(t Task) bool { return t.Status == event.InProgress })
			body = onAttempt(s, i, runner.Result{Outcome: runner.Done, Beside: true}, s.Time, 0)
		}
		mustApply(t, s, body)
	}
	in := Integrated{Completed: completed}
	for _, id := range culprits {
		in.Culprits = append(in.Culprits, Culprit{Task: id, Kind: "red"})
	}
	mustApply(t, s, event.IntegrationStarted{Wave: 1, Tasks: tasks})
	mustApply(t, s, onIntegration(s, 1, in, nil))
}
