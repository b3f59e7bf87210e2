package reporttest

import (
	"testing"
	"time"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/scheduler"
)

// RefusedRun returns an isolated run of two tasks whose work is integrated and reviewed, whose
// criteria are checked, and which the gate refuses. show may be nil.
func RefusedRun(t testing.TB, show func(event.Event, *scheduler.State)) *FakeRun {
	t.Helper()
	s := New(t, "closing", Tasks{{"T-001", "Empty the cache", nil}, {"T-002", "Measure it", nil}})
	s.S.Plan.Criteria = []plan.Condition{{Text: "it is fast"}, {Text: "it is right"}}
	s.Show = show
	c := Config()
	c.Isolation = event.Isolated
	s.StartRun(c).StartWave(1).StartAttempt("T-001", 0).StartAttempt("T-002", 1)
	s.Advance(21*time.Second).EndAttempt("T-001", PassingResult(110_000), event.Verified, nil)
	s.Advance(9*time.Second).EndAttempt("T-002", PassingResult(90_000), event.Verified, nil)
	s.Apply(event.IntegrationStarted{Wave: 1, Tasks: []string{"T-001", "T-002"}})
	s.Advance(6 * time.Second).Apply(event.IntegrationEnded{Wave: 1, Commit: "c0ffee",
		Completed: []string{"T-001", "T-002"}})
	s.Apply(event.CriteriaStarted{Round: 1, Judge: true})
	s.Advance(5 * time.Second).Apply(event.CriteriaEnded{Round: 1, Cost: 20_000, Criteria: []event.Criterion{
		{ID: "C-1", Text: "it is fast", Met: true, Verification: event.ExecutionOutput, Check: "go test -bench .",
			Evidence: "BenchmarkGet  12 ns/op", Round: 1},
		{ID: "C-2", Text: "it is right", Verification: event.Assumption, Evidence: "nobody looked", Round: 1}}})
	s.Apply(event.ReviewStarted{N: 1, Mode: counsel.Thorough, Round: 1})
	s.Advance(24 * time.Second).Apply(event.ReviewEnded{N: 1, Mode: counsel.Thorough, Round: 1, Blockers: 1,
		Review: counsel.Review{
			Score: 4.5, Experts: []string{"tester", "debugger"}, Cost: 70_000, Findings: []counsel.Finding{
				{ID: "F-1", Severity: counsel.Blocker, Confirmed: true, File: "cache/cache.go", Line: 41,
					Text: "The cache is never emptied.", Evidence: "Get returns a value that was deleted.",
					Fix: "Delete the entry in Drop.", Expert: "tester"},
				{ID: "F-2", Severity: counsel.Warning, File: "cache/cache.go", Line: 12, Text: "The lock is held while loading.",
					Expert: "debugger"},
				{ID: "F-3", Severity: counsel.Blocker, Text: "The map is shared.", Refuted: "it is copied first",
					Expert: "debugger"}}}})
	s.Apply(event.GateEnded{Reasons: []string{"1 confirmed blocker"}})
	s.Apply(event.DeliveryStarted{}).Advance(time.Second).Apply(event.DeliveryEnded{How: "branch",
		Ref:     "wavex/r-1",
		Command: "git merge wavex/r-1"})
	return s.EndRun("failed", 1, "the gate refuses: 1 confirmed blocker", "wavex resume")
}
