package reporttest

import (
	"encoding/json"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
	"wavex/scheduler"
)

// listPlan has a list that is known, one with steps, one of the output of a task, and an empty one.
const listPlan = `{"name":"migrate","tasks":[
	{"id":"find","subject":"Find the users of the old log","verify":["true"],"output":{"type":"object"}},
	{"id":"migrate","subject":"Migrate ${item}","verify":["true"],"blockedBy":[],
	 "foreach":{"items":["a.go","b.go","c.go","d.go","e.go","f.go"],"allowFailures":1}},
	{"id":"audit","foreach":["x","y"],"steps":[{"name":"look","subject":"Look at ${item}","verify":["true"]},
	 {"name":"confirm","subject":"Confirm what is wrong in ${item}","verify":["true"]}]},
	{"id":"none","subject":"Do ${item}","foreach":[],"verify":["true"]},
	{"id":"fix","subject":"Fix ${item}","verify":["true"],"foreach":{"items":"${tasks.find.output.files}","maxItems":10}},
	{"id":"end","subject":"Write the report","verify":["true"],"blockedBy":["migrate","audit","fix"]}]}`

// Parse returns a story about a plan by its text.
func Parse(t testing.TB, text string) *FakeRun {
	t.Helper()
	p, diags := plan.Parse("plan.json", []byte(text), plan.Options{})
	if p == nil {
		t.Fatal(diags)
	}
	return &FakeRun{S: scheduler.NewState(p), t: t, clock: Start}
}

// ListRun returns a run of a plan with lists: an item fails for good as its list allows, another one after a retry,
// and a list comes with the run. show may be nil.
func ListRun(t testing.TB, show func(event.Event, *scheduler.State)) *FakeRun {
	t.Helper()
	s := Parse(t, listPlan)
	s.Show = show
	s.StartRun(Config()).StartWave(1)
	done := func(id string) {
		s.Advance(4*time.Second).EndAttempt(id, PassingResult(50_000), event.Completed, nil)
	}
	s.StartAttempt("find", 0).StartAttempt("migrate[a.go]", 1).StartAttempt("migrate[b.go]", 2)
	done("migrate[a.go]")
	s.StartAttempt("migrate[c.go]", 1).Advance(9*time.Second).EndAttempt("migrate[b.go]", FailingResult(80_000),
		event.Pending, nil)
	s.StartAttempt("migrate[b.go]", 2).Advance(7*time.Second).EndAttempt("migrate[b.go]", FailingResult(90_000),
		event.Failed, func(b *event.AttemptEnded) { b.Note = "failed after 1 retries" })
	s.StartAttempt("audit[x].look", 2)
	done("migrate[c.go]")
	s.StartAttempt("migrate[d.go]", 1)
	done("audit[x].look")
	s.StartAttempt("audit[x].confirm", 2)
	found := PassingResult(30_000)
	list := json.RawMessage(`{"files":["p","q"]}`)
	found.Output = &runner.Output{Value: list, Size: len(list)}
	s.Advance(2*time.Second).EndAttempt("find", found, event.Completed, nil)
	s.Apply(event.ItemsAdded{Group: "fix", Items: []json.RawMessage{[]byte(`"p"`), []byte(`"q"`)},
		Tasks: []string{"fix[p]", "fix[q]"}})
	s.StartAttempt("migrate[e.go]", 0)
	done("migrate[d.go]")
	s.StartAttempt("migrate[f.go]", 1)
	done("audit[x].confirm")
	s.StartAttempt("audit[y].look", 2)
	done("audit[y].look")
	s.StartAttempt("audit[y].confirm", 2)
	for _, id := range []string{"migrate[e.go]", "migrate[f.go]", "audit[y].confirm"} {
		done(id)
	}
	s.StartWave(2).StartAttempt("fix[p]", 0).StartAttempt("fix[q]", 1)
	done("fix[p]")
	done("fix[q]")
	s.StartWave(3).StartAttempt("end", 0)
	done("end")
	return s.EndRun("complete", 0, "", "")
}
