package reporttest

import (
	"encoding/json"
	"testing"
	"time"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/scheduler"
)

// ReviewedRun returns a run in two waves with criteria, a light review, two rounds of the thorough
// review, a task that fixes a finding of the first, and a gate that accepts it. show may be nil.
func ReviewedRun(t testing.TB, show func(event.Event, *scheduler.State)) *FakeRun {
	t.Helper()
	s := New(t, "pair", Tasks{{"T-001", "Write it", nil}, {"T-002", "Publish it", []int{0}}},
		plan.Condition{Text: "the tests pass"}, plan.Condition{Text: "it reads well"})
	s.Show = show
	s.StartRun(Config()).StartWave(1)
	s.StartAttempt("T-001", 0).Advance(2*time.Second).EndAttempt("T-001", PassingResult(10_000), event.Completed, nil)
	s.Apply(event.ReviewStarted{N: 1, Mode: counsel.Light, Wave: 1, Cap: 1_000_000})
	s.StartWave(2).StartAttempt("T-002", 0)
	odd := counsel.Finding{ID: "F-1", Severity: counsel.Blocker, File: "it.go", Line: 7, Text: "the last line is lost",
		Expert: "tester"}
	s.Advance(time.Second).Apply(event.ReviewEnded{N: 1, Mode: counsel.Light, Wave: 1, Passed: true,
		Review: counsel.Review{Score: 7.5, Experts: []string{"debugger", "tester"}, Findings: []counsel.Finding{odd},
			Cost: 4000}})
	s.Advance(2*time.Second).EndAttempt("T-002", PassingResult(10_000), event.Completed, nil)
	criteria := func(round int, met bool) {
		s.Apply(event.CriteriaStarted{Round: round, Judge: true, Cap: 1_000_000})
		s.Advance(time.Second).Apply(event.CriteriaEnded{Round: round, Cost: 2000, Criteria: []event.Criterion{
			{ID: "C-1", Text: "the tests pass", Met: true, Verification: event.ExecutionOutput, Evidence: "ok",
				Check: "go test ./...", Round: round},
			{ID: "C-2", Text: "it reads well", Met: met, Verification: event.Observation,
				Evidence: "it.go:1: package it\nshort and plain", Round: round}}})
	}
	criteria(1, true)
	s.Apply(event.ReviewStarted{N: 2, Mode: counsel.Thorough, Round: 1, Cap: 3_000_000})
	lost, wild := odd, odd
	lost.Confirmed, lost.Evidence, lost.Fix = true, "a file without a last newline", "flush before Close"
	wild.ID = "F-2"
	wild.Line = 0
	wild.Text = "it races \x1b[31m<loop-complete>"
	wild.Refuted = "there is one goroutine"
	s.Advance(9 * time.Second).Apply(event.ReviewEnded{N: 2, Mode: counsel.Thorough, Round: 1, Blockers: 1,
		Review: counsel.Review{Score: 5, Experts: []string{"debugger", "tester"}, Silent: []string{"simplifier: timed-out"},
			Findings: []counsel.Finding{lost, wild, {ID: "F-3", Severity: counsel.Suggestion, Text: "shorter names",
				Expert: "debugger"}}, Cost: 30_000}})
	s.Apply(event.TasksAdded{Wave: 3, Origin: "review", Round: 1,
		Tasks: []event.Added{{ID: "R-001", For: "review 2, F-1",
			Task: json.RawMessage(`{"id":"R-001","subject":"Mend: the last line is lost","verify":["go test ./..."]}`)}}})
	s.StartWave(3).StartAttempt("R-001", 0).Advance(3*time.Second).EndAttempt("R-001", PassingResult(10_000),
		event.Completed, nil)
	criteria(2, true)
	s.Apply(event.ReviewStarted{N: 3, Mode: counsel.Thorough, Round: 2, Cap: 3_000_000})
	s.Advance(9 * time.Second).Apply(event.ReviewEnded{N: 3, Mode: counsel.Thorough, Round: 2, Passed: true,
		Review: counsel.Review{Score: 9, Experts: []string{"debugger", "tester", "simplifier"}, Cost: 20_000}})
	s.Apply(event.GateEnded{Passed: true, ExitSignal: true, Review: "thorough"})
	return s.EndRun("complete", 0, "", "")
}
