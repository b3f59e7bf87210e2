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
	}{{`0`, 1, false}, {`1`, 1, true}, {`1`, 2, false}, {`"50%"`, 2, true}, {`"50%"`, 3, false}, {`"100%"`, 4, true}} {
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
			if c.ok && (s.Failures() != 0 || !s.Gate.Passed || !strings.Contains(strings.Join(s.Gate.Reasons, "; "),
				fmt.Sprintf("%d of 4 items of g failed; the plan allows ", c.failed))) {
				t.Errorf("%s: %+v", name, s.Gate)
			}
			again := NewState(p)
			if err := again.Replay(j.events); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(again.Counts, again.allowedFailures()) != fmt.Sprint(s.Counts, s.allowedFailures()) {
				t.Errorf("%s: a replay has %v", name, again.Counts)
			}
			// A resume gives the failed items another chance, and then they need no allowance.
			starts, end = runList(t, again, j, nil, event.RunResumed{Config: cfg})
			if end.Status != event.RunComplete || end.Tasks.Failed != 0 || slices.Contains(starts, "d") == c.ok {
				t.Errorf("%s, resumed: %v, %+v", name, starts, end)
			}
		}
	}
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

// Items that fail together in one integration count together.
func TestAllowFailuresOfIntegration(t *testing.T) {
	t.Parallel()
	for allow, blocked := range map[string]int{"1": 1, "2": 0} {
		s := NewState(mustPlan(t, planText(`{"id":"g","subject":"x","verify":["true"],
			"foreach":{"items":["a","b","c"],"allowFailures":`+allow+`}}`, task("d", "g"))))
		cfg := testConfig()
		cfg.Isolation, cfg.MaxRetries, cfg.Parallel = event.Isolated, 0, 3
		m := simulation{s: s}
		if err := m.apply(event.RunStarted{Config: cfg}); err != nil {
			t.Fatal(err)
		}
		for body := decideNext(s, s.Time); s.Tally(0).Verified < 3; body = decideNext(s, s.Time) {
			if body == nil {
				i := slices.IndexFunc(s.Tasks, func(t Task) bool { return t.Status == event.InProgress })
				body = onAttempt(s, i, runner.Result{Outcome: runner.Done}, s.Time, 0)
			}
			if err := m.apply(body); err != nil {
				t.Fatal(err)
			}
		}
		ids := []string{"g[a]", "g[b]", "g[c]"}
		if err := m.apply(event.IntegrationStarted{Wave: 1, Tasks: ids}); err != nil {
			t.Fatal(err)
		}
		end := onIntegration(s, 1, Integrated{Completed: ids[2:],
			Culprits: []Culprit{{Task: ids[0], Kind: "red"}, {Task: ids[1], Kind: "red"}}}, nil)
		if err := m.apply(end); err != nil {
			t.Fatal(err)
		}
		if s.Counts.Failed != 2 || s.Counts.Blocked != blocked || s.isReady(3) == (blocked > 0) {
			t.Errorf("%s may fail: %+v", allow, s.Counts)
		}
	}
}
