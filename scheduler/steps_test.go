package scheduler

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/event"
	"wavex/runner"
)

// The second step of an item does not wait for the first step of another.
func TestStepsArePipelines(t *testing.T) {
	t.Parallel()
	for _, isolation := range []event.Isolation{"", event.Isolated} {
		for _, schedule := range []event.Schedule{event.Waves, event.Eager} {
			s := NewState(mustPlan(t, planText(`{"id":"g","foreach":["a","b"],"steps":[
				{"subject":"one","verify":["true"]},{"subject":"two","verify":["true"]}]}`, task("d", "g"))))
			cfg := testConfig()
			cfg.Isolation, cfg.Schedule, cfg.Parallel = isolation, schedule, 2
			mustApply(t, s, event.RunStarted{Config: cfg})
			held, _ := s.Index("g[b].1")
			next, _ := s.Index("g[a].2")
			for range 20 {
				body := decideNext(s, s.Time)
				if b, ok := body.(event.IntegrationStarted); ok {
					mustApply(t, s, b)
					body = event.IntegrationEnded{Wave: b.Wave, Completed: b.Tasks}
				}
				if body == nil {
					i := slices.IndexFunc(s.Tasks, func(t Task) bool { return t.Status == event.InProgress })
					if i == held || i < 0 {
						break
					}
					body = onAttempt(s, i, runner.Result{Outcome: runner.Done, Beside: true}, s.Time, 0)
				}
				mustApply(t, s, body)
			}
			if s.Tasks[held].Status != event.InProgress || s.Tasks[next].Status == event.Pending || s.Waves != 2 {
				t.Errorf("%s, %s: g[b].1 is %s, g[a].2 is %s", isolation, schedule, s.Tasks[held].Status, s.Tasks[next].Status)
			}
		}
	}
}

// Whenever the journal is cut, a resume runs each step once, after the step before it. Items of which a step failed
// count as failed items.
func TestStepsCutAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		allow := rapid.IntRange(0, 3).Draw(rt, "allow")
		p := mustPlan(t, planText(`{"id":"x","command":"list","output":{"type":"object"}}`,
			fmt.Sprintf(`{"id":"g","foreach":{"items":"${tasks.x.output.items}","allowFailures":%d,"parallel":2},"steps":[
				{"name":"one","command":"one","output":{"type":"object"}},{"command":"two ${steps.one.output | json}"},
				{"name":"last","command":"three"}]}`, allow), `{"id":"d","command":"four","blockedBy":["g"]}`))
		cfg, j := testConfig(), &memJournal{}
		cfg.AcceptAssumptions, cfg.Parallel, cfg.MaxRetries = true, rapid.IntRange(1, 3).Draw(rt, "parallel"), 0
		cfg.Schedule = rapid.SampledFrom([]event.Schedule{event.Waves, event.Eager}).Draw(rt, "schedule")
		good := map[string][]runner.Result{"x": {listOutput(`["a","b","c"]`)}}
		results, failed := map[string][]runner.Result{"x": {listOutput(`["a","b","c"]`)}}, 0
		for _, item := range []string{"a", "b", "c"} {
			good["g["+item+"].one"] = []runner.Result{listOutput(`[]`)}
			results["g["+item+"].one"] = good["g["+item+"].one"]
			if step := rapid.SampledFrom([]string{"", "one", "2", "last"}).Draw(rt, "failed step"); step != "" {
				results["g["+item+"]."+step] = []runner.Result{{Outcome: runner.Wrong, Reason: step + " of " + item}}
				failed++
			}
		}
		s := NewState(p)
		starts, end := runList(t, s, j, results, event.RunStarted{Config: cfg})
		ok := failed <= allow
		if (end.Status == event.RunComplete) != ok || slices.Contains(starts, "d") != ok || s.IsDone() != ok ||
			s.groups["g"].failed != failed {
			rt.Fatalf("%d of 3 items failed, %d may: %v, %+v", failed, allow, starts, end)
		}
		checkOrder(rt, j.events, p)
		cut := rapid.IntRange(1, len(j.events)).Draw(rt, "cut")
		again, rest := NewState(p), &memJournal{events: slices.Clone(j.events[:cut])}
		if err := again.Replay(rest.events); err != nil {
			rt.Fatal(err)
		}
		starts, end = runList(t, again, rest, good, event.RunResumed{Config: cfg})
		if (end.Status == event.RunComplete) != (again.Failures() == 0) { // failed items stay failed
			rt.Fatalf("after record %d: %v, %+v", cut, starts, end)
		}
		checkOrder(rt, rest.events, p)
		for n, id := range starts {
			if slices.Contains(starts[:n], id) {
				rt.Errorf("after record %d: %s ran twice: %v", cut, id, starts)
			}
		}
	})
}

// An item whose first step fails after its last step began on the verified work is a failure like any other, whatever
// the group allows: its outputs rest on work that does not hold.
func TestFailedStepBehindLastStep(t *testing.T) {
	t.Parallel()
	for allow := range 2 {
		s := NewState(mustPlan(t, planText(fmt.Sprintf(`{"id":"g","foreach":{"items":["a"],"allowFailures":%d},"steps":[
			{"subject":"one","verify":["true"]},{"subject":"two","verify":["true"]}]}`, allow), task("own"), task("d", "g", "own"))))
		cfg := testConfig()
		cfg.MaxRetries, cfg.Parallel = 0, 2
		mustIntegrate(t, s, cfg, []string{"g[a].2", "own"}, "g[a].1")
		d, _ := s.Index("d")
		if s.Failures() != 2 || s.IsDone() || s.Tasks[d].Status != event.Blocked || s.Tasks[d].RootCause != "g[a].1" {
			t.Errorf("%d may fail: %d failures, d is %s, done: %v", allow, s.Failures(), s.Tasks[d].Status, s.IsDone())
		}
		if got := s.GroupTally(s.Plan.Group("g")); got.Failed != 1 || got.Completed != 0 {
			t.Errorf("%d may fail: the group has %+v", allow, got)
		}
	}
}
