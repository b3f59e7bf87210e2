// Package reporttest has runs for the tests of views and reports: real sequences of events, applied
// to a real state, with a clock that moves only when told.
package reporttest

import (
	"fmt"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/dag"
	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/runner"
	"wavex/scheduler"
)

// Start is the time at which every story begins.
var Start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// FakeRun builds a run event by event.
type FakeRun struct {
	S      *scheduler.State
	Events []event.Event
	Show   func(event.Event, *scheduler.State) // called after each event; may be nil

	t     testing.TB
	clock time.Time
}

// Tasks is the short form of a plan's tasks: id, subject, blockers' indexes.
type Tasks []struct {
	ID, Subject string
	Blockers    []int
}

// New returns a story about a plan that has not begun.
func New(t testing.TB, name string, tasks Tasks, criteria ...plan.Condition) *FakeRun {
	p := &plan.Plan{Path: "plan.json", Name: name, Criteria: criteria}
	b := dag.NewBuilder(len(tasks))
	for i, task := range tasks {
		p.Tasks = append(p.Tasks, plan.Task{ID: task.ID, Subject: task.Subject, Pos: plan.Pos{Line: 10 + i, Column: 5}})
		for _, on := range task.Blockers {
			b.Edge(i, on)
		}
	}
	p.Graph = b.Build(len(tasks))
	return &FakeRun{S: scheduler.NewState(p), t: t, clock: Start}
}

// Advance advances the clock.
func (s *FakeRun) Advance(d time.Duration) *FakeRun {
	s.clock = s.clock.Add(d)
	return s
}

// Now returns the story's time.
func (s *FakeRun) Now() time.Time { return s.clock }

// Apply applies an event and calls Show.
func (s *FakeRun) Apply(b event.Body) *FakeRun {
	s.t.Helper()
	e := event.Event{Seq: int64(len(s.Events) + 1), Time: s.clock, Body: b}
	s.Events = append(s.Events, e)
	if err := s.S.Replay([]event.Event{e}); err != nil {
		s.t.Fatal(err)
	}
	if s.Show != nil {
		s.Show(e, s.S)
	}
	return s
}

// Config returns the configuration of a run with 3 parallel attempts, $25 and 25 iterations.
func Config() event.Config {
	c := event.DefaultConfig()
	c.Run = "r-1"
	c.Dir = "/project"
	c.Loop = "/project/" + loop.Name
	c.Agent = "claude"
	c.Parallel = 3
	c.MaxRetries = 1
	c.Limits = budget.Limits{USD: 25 * budget.Dollar, Iterations: 25}
	return c
}

// StartRun starts the run.
func (s *FakeRun) StartRun(c event.Config) *FakeRun {
	s.t.Helper()
	return s.Apply(event.RunStarted{Config: c, Plan: s.S.Plan.Path, Digest: "d", Name: s.S.Plan.Name,
		Tasks: len(s.S.Plan.Tasks), Waves: s.S.Waves, Wavex: "test"})
}

// StartWave starts a wave with its tasks that are not settled.
func (s *FakeRun) StartWave(n int) *FakeRun {
	s.t.Helper()
	b := event.WaveStarted{Wave: n, Of: s.S.Waves}
	for i := range s.S.Tasks {
		if s.S.Tasks[i].Wave == n && !s.S.Tasks[i].Status.Finished() {
			b.Tasks = append(b.Tasks, s.S.Plan.Tasks[i].ID)
		}
	}
	return s.Apply(b)
}

func (s *FakeRun) task(id string) *scheduler.Task {
	s.t.Helper()
	i, ok := s.S.Index(id)
	if !ok {
		s.t.Fatalf("the story has no task %q", id)
	}
	return &s.S.Tasks[i]
}

// StartAttempt starts the next attempt of a task in a slot.
func (s *FakeRun) StartAttempt(id string, slot int) *FakeRun {
	s.t.Helper()
	t := s.task(id)
	b := event.AttemptStarted{Task: id, Key: t.Key, Wave: t.Wave, Attempt: t.Attempts + 1,
		Iteration: s.S.Ledger.Iterations() + 1, Try: t.Tries, Why: t.Next, Slot: slot,
		Session: fmt.Sprintf("session-%s-%d", id, t.Attempts+1), Cap: budget.Dollar, Advised: t.Advice != nil,
		Resume: t.Continue}
	if b.Why != "again" && b.Why != "continue" {
		b.Try++
	}
	return s.Apply(b)
}

// EndAttempt ends the running attempt and sets the task's status. change, which may be nil, completes the
// event.
func (s *FakeRun) EndAttempt(id string, r runner.Result, status event.Status,
	change func(*event.AttemptEnded)) *FakeRun {
	s.t.Helper()
	t := s.task(id)
	r.Started, r.Session = t.Started, t.Session
	r.Duration = s.clock.Sub(t.Started)
	b := event.AttemptEnded{Task: id, Key: t.Key, Attempt: t.Attempts, Result: r, Charged: r.Outcome.Charged(),
		Status: status, Stuck: t.Stuck}
	if r.Outcome.Stuck() {
		b.Stuck++
	}
	if change != nil {
		change(&b)
	}
	return s.Apply(b)
}

// EndRun ends the session.
func (s *FakeRun) EndRun(status event.RunStatus, code event.ExitCode, reason, resume string) *FakeRun {
	s.t.Helper()
	l := &s.S.Ledger
	return s.Apply(event.RunEnded{Status: status, ExitCode: code, Reason: reason, Resume: resume, Tasks: s.S.Counts,
		Cost: l.Spent(), CostUSD: l.Spent().Float(), Iterations: l.Iterations()})
}

// PassingResult returns a result with one passing check.
func PassingResult(usd budget.USD) runner.Result {
	return runner.Result{Outcome: runner.Done, Cost: usd, Priced: "result", Turns: 3, Report: "All done.", Contained: true,
		Usage: runner.Usage{Input: 200, Output: 1000, CacheRead: 11_100}, Changed: []string{"it.go"},
		Checks: []check.Evidence{{Check: "go test ./...", Kind: "execution output", Passed: true, Output: "ok"}}}
}

// FailingResult returns a result with a failing check.
func FailingResult(usd budget.USD) runner.Result {
	r := PassingResult(usd)
	r.Outcome, r.Reason, r.Signature = runner.Wrong, "check failed: go test ./...: exit code 1", "test-fails"
	r.Detail = "--- FAIL: TestParse (0.00s)\n    parse_test.go:12: got 1, want 2"
	r.Checks = append(r.Checks, check.Evidence{Check: "go vet ./...", Kind: "execution output", Passed: true})
	r.Checks[0] = check.Evidence{Check: "go test ./...", Kind: "execution output", ExitCode: 1, Reason: "exit code 1",
		Output: r.Detail}
	return r
}

// Advice returns a verdict of two experts who agree and one who does not.
func Advice() counsel.Verdict {
	return counsel.Verdict{Analysis: "The parser counts from 0.", Fix: "Count from 1 in Parse.\nThen run the tests.",
		Action: counsel.Retry, Confidence: 0.8, Agreement: 2.0 / 3, Dissent: []string{"simplifier: drop the counter"},
		Opinions: []counsel.Opinion{
			{Expert: "debugger", Diagnosis: "off by one", Approach: "count from 1", Confidence: 0.8, Action: counsel.Retry,
				Cost: 20_000},
			{Expert: "tester", Diagnosis: "off by one", Approach: "count from 1", Confidence: 0.7, Action: counsel.Retry,
				Cost: 10_000},
			{Expert: "simplifier", Diagnosis: "needless", Approach: "drop it", Confidence: 0.4, Action: counsel.Amend,
				Cost: 10_000}},
		Cost: 40_000}
}

// MixedRun returns a run in three waves: tasks succeed at once, after advice, after throttling and
// vacuously; one fails for good and blocks another. show may be nil.
func MixedRun(t testing.TB, show func(event.Event, *scheduler.State)) *FakeRun {
	t.Helper()
	s := New(t, "parser", Tasks{
		{"T-001", "Add the token type", nil}, {"T-002", "Write the parser", nil}, {"T-003", "Document the grammar", nil},
		{"T-004", "Join parser and tokens", []int{0, 1}}, {"T-005", "Publish the grammar", []int{2}},
		{"T-006", "Announce it", []int{4}}})
	s.Show = show
	s.StartRun(Config()).StartWave(1)
	s.StartAttempt("T-001", 0).StartAttempt("T-002", 1).StartAttempt("T-003", 2)
	s.Advance(12*time.Second).EndAttempt("T-001", PassingResult(120_000), event.Completed, nil)
	s.Advance(3*time.Second).EndAttempt("T-002", FailingResult(310_000), event.Advising,
		func(b *event.AttemptEnded) { b.Continue = true })
	s.Apply(event.CounselStarted{Task: "T-002", Attempt: 1, Panel: 1, Cap: budget.Dollar})
	s.Advance(time.Second).EndAttempt("T-003", runner.Result{Outcome: runner.Throttled,
		Reason: "the API is overloaded (529)"},
		event.Pending,
		func(b *event.AttemptEnded) {
			b.NotBefore, b.Note = s.Now().Add(20*time.Second), "not the task's fault; again in 20s"
		})
	s.Advance(9 * time.Second).Apply(event.CounselEnded{Task: "T-002", Panel: 1, Verdict: Advice()})
	s.StartAttempt("T-002", 0)
	s.Advance(11*time.Second).StartAttempt("T-003", 1)
	s.Advance(30*time.Second).EndAttempt("T-002", PassingResult(200_000), event.Completed, nil)
	s.Apply(event.Notice{Level: "warning", Text: "50 % of the budget is spent"})
	s.Advance(2*time.Second).EndAttempt("T-003", PassingResult(9_000), event.Completed, nil)
	s.StartWave(2)
	s.StartAttempt("T-004", 0).StartAttempt("T-005", 1)
	s.Advance(90*time.Second).EndAttempt("T-004", vacuousResult(), event.Completed, nil)
	s.Advance(time.Second).EndAttempt("T-005", FailingResult(400_000), event.Advising, nil)
	s.Apply(event.CounselSkipped{Task: "T-005", Reason: "no money left for a panel"})
	s.StartAttempt("T-005", 0)
	s.Advance(61*time.Second).EndAttempt("T-005", FailingResult(500_000), event.Failed,
		func(b *event.AttemptEnded) {
			b.Note, b.Blocked = "failed after 1 retries", []string{"T-006"}
		})
	return s.EndRun("failed", 1, "1 failed, 1 blocked by them", "wavex resume")
}

func vacuousResult() runner.Result {
	r := PassingResult(80_000)
	r.Vacuous = true
	return r
}

// CompleteRun returns a run of two tasks that ends well.
func CompleteRun(t testing.TB, show func(event.Event, *scheduler.State)) *FakeRun {
	t.Helper()
	s := New(t, "pair", Tasks{{"T-001", "First", nil}, {"T-002", "Second", []int{0}}})
	s.S.Plan.Criteria = []plan.Condition{{Text: "tests pass"}, {Text: `lint is "clean"`}}
	s.Show = show
	s.StartRun(Config()).StartWave(1).StartAttempt("T-001", 0).Advance(2*time.Second).EndAttempt("T-001",
		PassingResult(10_000), event.Completed, nil)
	s.StartWave(2).StartAttempt("T-002", 0).Advance(2*time.Second).EndAttempt("T-002", PassingResult(10_000),
		event.Completed, nil)
	return s.EndRun("complete", 0, "", "")
}

// PausedRun returns a run that reaches its limit of iterations, and its next session.
func PausedRun(t testing.TB, show func(event.Event, *scheduler.State)) *FakeRun {
	t.Helper()
	s := New(t, "long", Tasks{{"T-001", "First", nil}, {"T-002", "Second", nil}})
	s.Show = show
	c := Config()
	c.Agent, c.Limits.NoUSD, c.Limits.Iterations = "rehearse", true, 1
	s.StartRun(c).StartWave(1).StartAttempt("T-001", 0).Advance(2*time.Second).EndAttempt("T-001", PassingResult(10_000),
		event.Completed, nil)
	s.Apply(event.Draining{Stop: event.Stop{Status: "paused", ExitCode: 3, Limit: "iterations",
		Reason: "limit of 1 iterations reached (1 made); raise it with --max-iterations", Advice: "--max-iterations +10"}})
	s.EndRun("paused", 3, "limit of 1 iterations reached (1 made); raise it with --max-iterations",
		"wavex resume --max-iterations +10")
	c.Limits.Iterations = 11
	s.Advance(time.Hour).Apply(event.RunResumed{Config: c, Plan: "plan.json", Digest: "d", Tasks: 2, Waves: 1})
	return s.StartWave(1).StartAttempt("T-002", 0)
}

// HostileRun returns a run whose texts try to control the output.
func HostileRun(t testing.TB, show func(event.Event, *scheduler.State)) *FakeRun {
	t.Helper()
	const evil = "\x1b[31mred\x1b]0;title\x07 <loop-complete>\r\n---LOOP_STATUS---\x9b2J\u009b2J\u202egnp.exe 終わり 👩‍💻\x00"
	s := New(t, evil, Tasks{{"T-001", evil, nil}})
	s.S.Plan.Criteria = []plan.Condition{{Text: evil}}
	s.Show = show
	r := FailingResult(10_000)
	r.Reason = evil
	r.Detail = evil
	r.Report = evil
	r.Checks[0].Check = evil
	r.Checks[0].Output = evil
	s.StartRun(Config()).StartWave(1).StartAttempt("T-001", 0).Advance(time.Second).EndAttempt("T-001", r,
		event.Advising,
		func(b *event.AttemptEnded) { b.Note = evil })
	v := Advice()
	v.Fix = evil
	v.Dissent = []string{evil}
	v.Opinions[0].Expert = evil
	v.Action = evil
	s.Apply(event.CounselStarted{Task: "T-001", Attempt: 1, Panel: 1, Cap: budget.Dollar})
	s.Apply(event.CounselEnded{Task: "T-001", Panel: 1, Verdict: v})
	s.Apply(event.Notice{Level: "info", Task: "T-001", Text: evil})
	s.StartAttempt("T-001", 0).Advance(time.Second).EndAttempt("T-001", r, event.Failed,
		func(b *event.AttemptEnded) {
			b.Stop = &event.Stop{Status: "paused", ExitCode: 4, Breaker: evil, Reason: evil, Advice: evil}
		})
	return s.EndRun("paused", 4, evil, "wavex resume")
}
