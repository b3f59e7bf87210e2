package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// This file runs drawn plans, with drawn settings and drawn ends of all work, and compares the decisions of the
// scheduler with testdata/decisions.txt. WAVEX_UPDATE=1 writes that file; review its difference.

// fate draws the ends of work: the same ones for the same work of a run.
type fate struct {
	run string
}

// of returns a source for one piece of work.
func (f fate) of(work ...any) dice {
	h := fnv.New64a()
	fmt.Fprint(h, f.run, work)
	return dice{rand.New(rand.NewPCG(h.Sum64(), 1))}
}

// wait lets the work take a time that no other work takes, and reports whether it was not interrupted. No two works end
// at once, so that their order is always the same.
func (f fate) wait(ctx context.Context, most time.Duration, work ...any) bool {
	d := f.of("time", work)
	select {
	case <-time.After(time.Duration(1 + d.Int64N(int64(most)))):
		return true
	case <-ctx.Done():
		time.Sleep(time.Duration(1 + d.Int64N(int64(time.Second)))) // of the synctest bubble
		return false
	}
}

// dice is a source of random choices.
type dice struct{ *rand.Rand }

// oneIn returns true once in n times.
func (d dice) oneIn(n int) bool { return d.IntN(n) == 0 }

// oneOf returns one of the values.
func oneOf[T any](d dice, values ...T) T { return values[d.IntN(len(values))] }

// some returns some of the values.
func some[T any](d dice, n int, values ...T) (out []T) {
	for _, v := range values {
		if d.oneIn(n) {
			out = append(out, v)
		}
	}
	return out
}

// drawnPlan returns a plan of some tasks with most members of a plan.
func drawnPlan(t *testing.T, d dice) string {
	t.Helper()
	var tasks []map[string]any
	for i := range 2 + d.IntN(5) {
		one := map[string]any{"id": fmt.Sprintf("t%d", i), "subject": fmt.Sprintf("do %d", i)}
		var by []string
		for j := range i {
			by = append(by, some(d, 3, fmt.Sprintf("t%d", j))...)
		}
		one["blockedBy"] = append([]string{}, by...)
		drawMembers(d, one)
		if i == 0 {
			one["output"] = map[string]any{"type": "object"}
			delete(one, "foreach")
		} else if d.oneIn(6) {
			one["foreach"] = "${tasks.t0.output.items}"
		}
		one["verify"] = []any{oneOf[any](d, "look 0", "look 1", "look 2", map[string]any{"file": "a.go"}),
			map[string]any{"run": fmt.Sprint("look at $WAVEX_TASK ", d.IntN(2)), "once": !d.oneIn(2)}}[:1+d.IntN(2)]
		switch use := i > 0 && d.oneIn(2); {
		case d.oneIn(6) && use:
			one["command"] = "make ${tasks.t0.output.n}"
		case d.oneIn(6):
			one["command"] = "make"
		case use:
			one["prompt"] = "make ${tasks.t0.output.n}"
		}
		if one["foreach"] != nil && d.oneIn(3) {
			one = withSteps(d, one)
		}
		tasks = append(tasks, one)
	}
	all := map[string]any{"version": 1, "tasks": tasks}
	if d.oneIn(2) {
		all["criteria"] = []any{"it is nice", map[string]any{"text": "it is fast", "verify": "bench"}}
	}
	if d.oneIn(3) {
		all["mustNot"] = []any{"break it"}
	}
	if d.oneIn(4) {
		all["waves"] = []any{map[string]any{"wave": 1, "title": "one", "parallel": false}}
	}
	text, err := json.Marshal(all)
	testrepo.Must(t, err)
	return string(text)
}

// withSteps returns a task of a list whose items have two steps.
func withSteps(d dice, task map[string]any) map[string]any {
	out := map[string]any{}
	for _, name := range []string{"id", "blockedBy", "foreach", "wave"} {
		if v, ok := task[name]; ok {
			out[name] = v
			delete(task, name)
		}
	}
	second := map[string]any{"subject": "two", "verify": []any{"look 2"}}
	drawMembers(d, second)
	delete(second, "foreach")
	out["steps"] = []any{task, second}
	return out
}

// drawMembers adds members to a task, each with some probability.
func drawMembers(d dice, task map[string]any) {
	for _, member := range []struct {
		name  string
		oneIn int
		value any
	}{
		{"exclusive", 4, []string{oneOf(d, "db", "gpu")}},
		{"files", 3, []any{oneOf(d, "a.go", "b.go"),
			map[string]any{"path": "c.go", "action": oneOf(d, "read", "modify")}}},
		{"reversibility", 5, oneOf(d, "1", "2A")},
		{"aspects", 4, []string{"security"}},
		{"criteria", 3, []any{oneOf[any](d, "it is good", map[string]any{"text": "it works", "verify": "true"})}},
		{"foreach", 4, oneOf(d, map[string]any{"items": []string{"x", "y"}, "allowFailures": 1},
			map[string]any{"items": []int{1, 2, 3}, "parallel": 1}, map[string]any{"items": []int{}})},
		{"budgetUSD", 10, 0.5},
		{"maxRetries", 8, 1},
		{"retrySession", 8, "same"},
		{"model", 4, "small"},
		{"estimate", 4, map[string]any{"seconds": 600 * d.IntN(4), "usd": 0.25}},
	} {
		if d.oneIn(member.oneIn) {
			task[member.name] = member.value
		}
	}
}

// drawnConfig returns settings for a run of it.
func drawnConfig(d dice) event.Config {
	c := event.DefaultConfig()
	c.Run, c.Agent = "run-1", "fake"
	c.Parallel = 1 + d.IntN(4)
	c.Schedule = oneOf(d, event.Waves, event.Eager)
	c.Isolation = oneOf(d, "", "", event.Isolated)
	c.Limits = budget.Limits{USD: budget.USD(1+d.IntN(30)) * budget.Dollar, Iterations: 5 + d.IntN(40)}
	if d.oneIn(3) {
		c.Limits.USD /= 20
	}
	if d.oneIn(4) {
		d.IntN(4) // keeps the sequence of the other draws
	}
	if d.oneIn(6) {
		c.Limits.Wall = 2 * time.Hour
	}
	if d.oneIn(5) {
		c.Attended, c.Gates, c.Mode = true, oneOf(d, event.GatesAttempts, event.GatesWaves), oneOf(d, "", event.Interactive)
	}
	c.MaxRetries, c.Counsel, c.Threshold = d.IntN(5), !d.oneIn(4), 1+d.IntN(2)
	c.Precheck, c.FailFast, c.AcceptAssumptions, c.Judge = !d.oneIn(3), d.oneIn(8), d.oneIn(3), d.oneIn(2)
	c.RetrySession = oneOf(d, "same", "fresh", "auto")
	c.WaitForReset = oneOf(d, 0, 10*time.Hour)
	c.Review = oneOf(d, event.ReviewOff, event.ReviewLight, event.ReviewThorough, event.ReviewAuto, event.ReviewAuto)
	c.ReviewRounds = d.IntN(4)
	c.SameError, c.SameUnmet, c.SameFile = oneOf(d, 0, 3), oneOf(d, 0, 2), oneOf(d, 0, 5)
	c.BudgetGiven = d.oneIn(3)
	if c.Workers.Engine = oneOf(d, "", "engine", "engine"); d.oneIn(8) {
		c.Limits.Tokens = 2_000_000
	}
	return c
}

// Attempt implements runner.Runner.
func (f fate) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	d := f.of("attempt", req.Task, req.Attempt)
	r := runner.Result{Outcome: runner.Done, Output: &runner.Output{Value: json.RawMessage(`{}`)}, Session: req.Session,
		Cost:   min(req.Cap, budget.USD(d.IntN(400_000))),
		Priced: "result", Turns: 1 + d.IntN(5), Contained: !d.oneIn(40), Model: "m", Notional: d.oneIn(9),
		Usage: runner.Usage{Input: int64(d.IntN(90_000))}, Refused: d.IntN(2),
		Duration: time.Duration(d.IntN(3600)) * time.Second}
	if d.oneIn(12) {
		r.Priced, r.Disputed, r.Cost = "table", r.Cost, r.Cost/2
	}
	if d.oneIn(3) {
		r.Outcome = oneOf(d, runner.Wrong, runner.Wrong, runner.Wrong, runner.OverTurns, runner.TimedOut, runner.Stalled,
			runner.OverCap, runner.Throttled, runner.Truncated)
		if d.oneIn(12) {
			r.Outcome = oneOf(d, runner.Limited, runner.Unauthorised, runner.Broken, runner.Denied)
			r.Denials = []runner.Denial{{Rule: "Edit"}, {Rule: "Edit"}}
		}
		r.Reason = string(r.Outcome) + oneOf(d, "", " x", " y")
		r.Signature = oneOf(d, r.Reason, r.Reason, "no disk")
		r.Edits = map[string]int{"a.go": d.IntN(7)}
		if r.Outcome == runner.Truncated { // its worker is lost
			r.Cost, r.Priced = req.Cap, "cap"
		}
	}
	if req.Turn != nil { // only the checks were left
		r.Cost, r.Priced, r.Outcome = 0, "", oneOf(d, runner.Done, runner.Wrong)
	} else if !f.wait(ctx, time.Hour, "attempt", req.Task, req.Attempt) {
		r.Outcome, r.Reason, r.Cost = runner.Interrupted, "stopped", r.Cost/2
		return r
	}
	switch r.Outcome {
	case runner.Throttled:
		r.RetryAfter = oneOf(d, 0, 90*time.Second)
	case runner.Limited:
		r.ResetsAt = time.Now().Add(oneOf(d, time.Hour, 20*time.Hour)).UTC()
	case runner.Done, runner.Wrong:
		if d.oneIn(2) && req.Turn == nil {
			turn := r
			turn.Outcome = runner.Done
			if hooks.TurnEnded(runner.Turn{Result: turn}) != nil ||
				!f.wait(ctx, time.Minute, "checks", req.Task, req.Attempt) {
				r.Outcome = runner.Interrupted
				return r
			}
		}
		r.Surplus, r.Changed = some(d, 2, "a.go", "d.go"), some(d, 3, "a.go", "b.go")
		r.Vacuous, r.Unmeasured, r.Beside = d.oneIn(6), d.oneIn(8), d.oneIn(2)
		r.Checks = []check.Evidence{{Check: "look", Passed: r.Outcome == runner.Done, Duration: time.Minute},
			{Check: "see", Passed: r.Outcome == runner.Done || d.oneIn(2)}}[:d.IntN(3)]
		r.Digests = map[string]string{"a.go": oneOf(d, "", "1")}
		r.Commit = oneOf(d, "", "c")
		if d.oneIn(16) {
			r.Tampered = []runner.Tamper{{Path: "look", Why: "it is the plan"}}
		}
		if d.oneIn(16) {
			r.Rests, r.Doubt = []string{"d.go"}, oneOf(d, "", "it is too large")
		}
		if r.Outcome == runner.Wrong && d.oneIn(6) {
			r.Violated = []string{"break it"}
		}
	}
	return r
}

// Diagnose implements Panel.
func (f fate) Diagnose(ctx context.Context, c counsel.Case) counsel.Verdict {
	d := f.of("panel", c.Task, c.Attempt)
	v := counsel.Verdict{Action: oneOf(d, counsel.Retry, counsel.Retry, counsel.Amend, counsel.Abandon),
		Analysis: "because", Fix: "otherwise", Confidence: d.Float64(), Cost: min(c.Cap, budget.USD(d.IntN(50_000)))}
	if d.oneIn(5) {
		return counsel.Verdict{Unavailable: "busy", Cost: v.Cost,
			Failure: oneOf(d, "", "", runner.Throttled, runner.Truncated, runner.Unauthorised)}
	}
	if !f.wait(ctx, time.Minute, "panel", c.Task, c.Attempt) {
		return counsel.Verdict{Unavailable: "stopped", Cost: v.Cost, Failure: runner.Interrupted}
	}
	return v
}

func (f fate) review(_ *State, e event.ReviewStarted) func(context.Context) counsel.Review {
	return func(ctx context.Context) counsel.Review {
		d := f.of("review", e.N)
		r := counsel.Review{Score: float64(d.IntN(11)), Experts: []string{"tester"},
			Cost: min(e.Cap, budget.USD(d.IntN(60_000)))}
		if d.oneIn(5) {
			r.Error, r.Failure = "nonsense", oneOf(d, "", runner.Throttled)
		}
		for i := range d.IntN(3) {
			r.Findings = append(r.Findings, counsel.Finding{ID: fmt.Sprintf("F-%d", i+1), Text: fmt.Sprintf("wrong %d", i),
				Severity: oneOf(d, counsel.Blocker, counsel.Blocker, counsel.Warning), Expert: "tester",
				Confirmed: e.Mode == counsel.Thorough && d.oneIn(2), File: oneOf(d, "", "a.go", "c.go", "e.go"), Line: d.IntN(3),
				Resolution: oneOf(d, "", "", "", "approved", "task", "skipped"), Aspects: some(d, 4, "security")})
		}
		f.wait(ctx, time.Minute, "review", e.N)
		return r
	}
}

func (f fate) verify(s *State, e event.CriteriaStarted) verification {
	d := f.of("criteria", e.Round)
	v := Verification{Criteria: slices.Clone(s.Assessment.Criteria), Cost: min(1000, e.Cap)}
	for i := range v.Criteria {
		c := &v.Criteria[i]
		c.Met, c.Round, c.Check = !d.oneIn(6), e.Round, oneOf(d, "", "bench")
		c.Verification = oneOf(d, event.ExecutionOutput, event.ExecutionOutput, event.Observation, event.Measurement)
		if d.oneIn(8) {
			c.Verification = event.Assumption
		}
		c.Met = c.Met && c.Verification != event.Assumption
	}
	for range e.Rechecks {
		one := RecheckResult{Passed: !d.oneIn(4), Flaky: d.oneIn(4), Skipped: d.oneIn(9), Check: "look"}
		if !one.Passed {
			one.Flaky, one.Reason, one.Output = false, "exit code 1", "gone"
		}
		v.Rechecks = append(v.Rechecks, one)
	}
	v.Missing, v.Changed = map[string]string{}, map[string][]string{}
	for _, id := range e.Earlier {
		if d.oneIn(6) {
			v.Missing[id] = "a.go is gone"
		}
		v.Changed[id] = some(d, 6, "a.go")
	}
	if e.Before {
		v.Violated = some(d, 12, "break it")
	}
	return func(ctx context.Context, _ func() bool) (Verification, error) {
		if !f.wait(ctx, time.Minute, "criteria", e.Round) {
			return Verification{}, ctx.Err()
		}
		return v, nil
	}
}

func (f fate) precheck(_ *State, _ int, e event.PrecheckStarted) func(context.Context) counsel.Challenge {
	return func(ctx context.Context) counsel.Challenge {
		d := f.of("precheck", e.Task, e.N)
		f.wait(ctx, time.Minute, "precheck", e.Task, e.N)
		c := counsel.Challenge{Go: !d.oneIn(3), Reason: "seen", Experts: []string{"operator"}, Cost: min(e.Cap, 5000)}
		if d.oneIn(6) {
			c = counsel.Challenge{Error: "busy", Failure: oneOf(d, "", runner.Throttled), Cost: c.Cost}
		}
		return c
	}
}

// Integrate implements Integrator.
func (f fate) Integrate(ctx context.Context, wave int, tasks []string) (Integrated, error) {
	d := f.of("integrate", wave, tasks)
	if !f.wait(ctx, time.Minute, "integrate", wave, tasks) {
		return Integrated{}, ctx.Err()
	}
	if d.oneIn(25) {
		return Integrated{}, errors.New("the repository is locked")
	}
	out := Integrated{Commit: fmt.Sprint("c", wave), Commits: map[string]string{}}
	for _, id := range tasks {
		if d.oneIn(6) {
			kind := oneOf(d, "red", "conflict")
			out.Culprits = append(out.Culprits, Culprit{Task: id, Kind: kind, Reason: "it breaks " + id})
			continue
		}
		out.Completed, out.Commits[id] = append(out.Completed, id), "c-"+id
	}
	return out, nil
}

// Deliver implements Integrator.
func (f fate) Deliver(ctx context.Context, complete bool) (event.DeliveryEnded, error) {
	if !f.wait(ctx, time.Minute, "deliver", complete) {
		return event.DeliveryEnded{}, ctx.Err()
	}
	return event.DeliveryEnded{How: oneOf(f.of("deliver"), "ff", "branch"), Ref: "wavex/run-1"}, nil
}

// Confirm implements Approver.
func (f fate) Confirm(ctx context.Context, question string) (bool, error) {
	if !f.wait(ctx, time.Minute, "answer", question) {
		return false, ctx.Err()
	}
	return !f.of("answer", question).oneIn(6), nil
}

// recovery knows the work of a session that was killed.
type recovery struct{ fate }

func (r recovery) Adopts(e event.AttemptStarted) bool { return r.of("adopts").oneIn(2) }

func (r recovery) Attempt(e event.AttemptStarted) runner.Result {
	d := r.of("lost", e.Task, e.Attempt)
	if d.oneIn(2) {
		return lostResult(e.Cap)
	}
	return runner.Result{Outcome: runner.Interrupted, Reason: "killed", Session: e.Session, Turns: 1, Cost: e.Cap / 3,
		Priced: "stream", Contained: true}
}

func (r recovery) Cost(_, _ string, limit budget.USD) budget.USD { return limit / 2 }

// late tells the costs of some attempts that counted at their caps.
func (f fate) late(_ context.Context, unknown []event.CostCorrected) (told []event.CostCorrected) {
	for _, b := range unknown {
		if d := f.of("late", b.Task, b.Attempt); !d.oneIn(4) {
			b.Cost, b.Priced, b.Usage = budget.USD(d.Int64N(1+2*int64(b.Was))), "result", runner.Usage{Output: 7}
			told = append(told, b)
		}
	}
	return told
}

// doubts returns tasks of a run that goes on elsewhere, whose work may not be there.
func doubts(s *State, d dice) (tasks []event.EarlierTask) {
	if !d.oneIn(6) {
		return nil
	}
	for i := range s.Tasks {
		one := event.EarlierTask{Task: s.Plan.Tasks[i].ID, Key: oneOf(d, s.Tasks[i].Key, s.Tasks[i].Key, "old"),
			Run: s.Config.Run, Evidence: event.Observation}
		switch s.Tasks[i].Status {
		case event.Completed:
			one.Commit = oneOf(d, "", "", "c1")
		case event.Pending, event.Verified:
			one.Commit = "c1" // a remote has it
		}
		if d.oneIn(2) {
			tasks = append(tasks, one)
		}
	}
	return tasks
}

// session runs one session of a run over a journal.
func (f fate) session(t *testing.T, text string, c event.Config, past []event.Event, n int) []event.Event {
	t.Helper()
	d := f.of("session", n)
	p := mustPlan(t, text)
	b := newFixture(t, p, c)
	l, s := b.Loop, b.Loop.State
	testrepo.Must(t, s.Replay(past))
	b.journal.events = past
	if start, ok := l.StartEvent.(event.RunStarted); ok && d.oneIn(5) {
		var ids []string
		for i := range p.Tasks {
			if i < len(p.Tasks)-1 || d.oneIn(2) {
				ids = append(ids, p.Tasks[i].ID)
			}
		}
		start.Earlier = earlierRun(p, ids...)
		start.Earlier.Review = oneOf(d, event.ReviewThorough, event.ReviewOff)
		l.StartEvent = start
	}
	if len(past) > 0 {
		if c.Only == nil && f.of("retry", n).oneIn(2) {
			for i := range s.Tasks {
				if s.Tasks[i].Status == event.Failed && s.Plan == p { // no task that the run added
					c.Only = append(c.Only, p.Tasks[i].ID)
				}
			}
		}
		l.StartEvent = event.RunResumed{Config: c, Plan: p.Path, Tasks: len(p.Tasks), Waves: s.Waves, Earlier: doubts(s, d)}
	}
	l.Runner, l.Panel, l.Integrator, l.Approver = f, f, f, f
	l.Review, l.Verify, l.Precheck = f.review, f.verify, f.precheck
	l.Items = func(_ *State, group int) ([]json.RawMessage, error) {
		d := f.of("items", group)
		if d.oneIn(6) {
			return nil, errors.New("no list")
		}
		return some(d, 2, json.RawMessage(`"x"`), json.RawMessage(`{"n":1}`)), nil
	}
	l.Recover = func(context.Context) Recovery { return recovery{f} }
	l.LateCosts = f.late
	ctx, end := context.WithCancel(t.Context())
	var people sync.WaitGroup
	defer people.Wait()
	defer end()
	d.oneIn(6) // drew whether a task joins the run; the runs on file stay as they were drawn
	if signals := 1 + d.IntN(2); d.oneIn(6) {
		people.Go(func() {
			for k := range signals {
				if !f.wait(ctx, 3*time.Hour, "signal", n, k) {
					return
				}
				select {
				case b.signals <- Signal{Name: "SIGINT", Code: 130}:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	if _, err := l.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return b.journal.events
}

// drawnRun returns the plan and the journal of a run of one to four sessions. Some are killed.
func drawnRun(t *testing.T, seed int) (text string, events []event.Event) {
	t.Helper()
	f := fate{run: fmt.Sprint("run ", seed)}
	d := f.of("plan")
	text = drawnPlan(t, d)
	c := drawnConfig(d)
	for n := range 1 + d.IntN(4) {
		events = f.session(t, text, c, events, n)
		if d.oneIn(2) {
			events = slices.Clone(events[:1+d.IntN(len(events))])
		}
		if d.oneIn(8) {
			events = rolledBack(t, text, events, d)
		}
		c.Limits.USD += 4 * budget.Dollar
		c.Limits.Iterations += 10
		if c.Only = nil; d.oneIn(5) {
			c.Only = []string{"t1"}
		}
	}
	return text, events
}

// rolledBack returns the journal after a person rolled back the work of some tasks.
func rolledBack(t *testing.T, text string, events []event.Event, d dice) []event.Event {
	t.Helper()
	s := replayed(t, mustPlan(t, text), events)
	b := event.RolledBack{What: "wave-2", From: "c", Undo: "u"}
	for i := range s.Tasks {
		if s.Tasks[i].Status != event.Pending && d.oneIn(2) {
			b.Tasks = append(b.Tasks, s.Plan.Tasks[i].ID)
		}
	}
	apply := func(b event.Body) {
		e := event.Event{Seq: s.Seq + 1, Time: s.Time, Body: b}
		testrepo.Must(t, s.apply(e))
		events = append(events, e)
	}
	apply(b)
	apply(EndAfterRollback(s, b.What))
	return events
}

// shown returns what views show of a run after some of its events, as lines.
func shown(t *testing.T, text string, events []event.Event) (lines []string) {
	t.Helper()
	s := replayed(t, mustPlan(t, text), events)
	now := s.Time.Add(time.Minute)
	add := func(what string, values ...any) {
		lines = append(lines, "  "+what+" "+strings.TrimSpace(fmt.Sprintln(values...)))
	}
	left, _ := s.TimeLeft(now)
	add("run", s.Phase, s.Wave, s.CurrentWave(), s.WorkTime(now), s.WorkTime(time.Time{}), s.EndedAt().IsZero(), left,
		s.Notional, s.Limiter, s.Figures.Integrated, s.Assessment.ExitSignal, s.closing.openBlockers)
	add("counts", s.Figures.tallies, s.Counts, s.Failures(), s.IsDone(), s.CutShort(), len(s.Errors()),
		s.AllowedFailures(),
		s.PrecheckRefusals())
	cancelled := EndAfterCancel(s)
	add("costs", s.Ledger.Spent(), s.Ledger.Reserved(), cancelled.Cost, cancelled.Iterations, s.Efforts())
	for _, a := range s.Activities() {
		add("activity", a.Kind, a.Task, a.Subject, a.Attempt, now.Sub(a.Since))
	}
	for i := range s.Tasks {
		x := &s.Tasks[i]
		add(s.Plan.Tasks[i].ID, x.Status, x.Wave, x.Attempts, x.Panels, x.Cost, x.CounselCost, x.Usage.Total(), x.Took,
			x.Refused, x.Commit, s.expectedCost(i), s.Retries(i), x.UpToDate(), x.RootCause, x.Stop != nil)
	}
	for k := range s.Plan.Groups {
		g := &s.Plan.Groups[k]
		add("group "+g.ID, s.GroupTally(g), s.GroupCost(g.ID))
	}
	for i, e := range s.TaskEvidence() {
		if s.Tasks[i].Status == event.Completed {
			add("evidence", e.ID(), e.Basis, e.Kind, e.By, e.Why)
		}
	}
	return lines
}

// line returns a record as one line.
func line(e event.Event, since time.Time) string {
	b, err := json.Marshal(e.Body)
	if err != nil {
		return err.Error()
	}
	var data any
	if err := json.Unmarshal(b, &data); err != nil {
		return err.Error()
	}
	var out []string
	flatten("", data, &out)
	at := e.Time.Sub(since).Round(time.Second)
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", at, e.Body.Type(), strings.Join(out, " ")))
}

// flatten appends the members of a value that are not empty, without settings, keys and mere reports.
func flatten(name string, v any, out *[]string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			switch key {
			case "config", "plan", "session", "key", "result", "turn", "criteria", "verdict", "findings", "commits":
			default:
				flatten(strings.TrimPrefix(name+"."+key, "."), v[key], out)
			}
		}
	case []any:
		for _, one := range v {
			flatten(name, one, out)
		}
	case nil:
	default:
		if text := strings.Join(strings.Fields(fmt.Sprint(v)), "_"); text != "" && text != "0" && text != "false" {
			*out = append(*out, name+"="+text)
		}
	}
}

// mustStartAfresh fails unless a run has the same state after an equal run in its journal as alone. A run learns only
// durations and costs from an earlier run.
func mustStartAfresh(t *testing.T, text string, events []event.Event) {
	t.Helper()
	var states []map[string]any
	for _, past := range [][]event.Event{nil, events} {
		s := replayed(t, mustPlan(t, text), slices.Concat(past, events))
		groups := map[string]any{}
		for id, g := range s.groups {
			groups[id] = []any{g.tally, g.running, g.failed, g.lost, g.cost}
		}
		states = append(states, map[string]any{"shown": visible(s), "figures": s.Figures, "streaks": s.Streaks,
			"approvals": s.approvals, "selection": s.selection, "earlier": s.earlier, "ledger": s.Ledger,
			"groups": groups, "work": s.openWork,
			"at their caps": s.atCap, "slots": s.slots, "files": s.files.holders, "strays": s.strays, "merges": s.merges,
			"login": []any{s.Notional, s.Window}, "stop": []any{s.Stop, s.Ended, s.PauseUntil, s.Phase},
			"rest": []any{s.RunStart, s.SessionStart, s.Origin, s.Limiter, s.checking, s.irreversibleTasks, s.delivery,
				s.Waves}})
	}
	for name, alone := range states[0] {
		if second := states[1][name]; !reflect.DeepEqual(alone, second) {
			t.Fatalf("%s: alone\n%+v\nas the second run\n%+v", name, alone, second)
		}
	}
}

// decided returns the records of a drawn run as lines, and what views show after one of them.
func decided(t *testing.T, seed int) string {
	t.Helper()
	text, events := drawnRun(t, seed)
	look := len(events) - 1
	if d := (fate{run: fmt.Sprint("run ", seed)}).of("look"); d.oneIn(2) {
		look = d.IntN(len(events))
	}
	mustStartAfresh(t, text, events)
	out := []string{fmt.Sprintf("-- run %d --", seed)}
	for n, e := range events {
		out = append(out, line(e, events[0].Time))
		if n == look {
			out = append(out, shown(t, text, events[:n+1])...)
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// TestDecisions compares drawn runs with those on file.
func TestDecisions(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "decisions.txt")
	file, err := os.ReadFile(path)
	testrepo.Must(t, err)
	update, rest, all := os.Getenv("WAVEX_UPDATE") != "", string(file), ""
	for seed := range 150 {
		synctest.Test(t, func(t *testing.T) {
			now := decided(t, seed)
			all += now
			ok := false
			if rest, ok = strings.CutPrefix(rest, now); ok || update {
				return
			}
			want := strings.Split(rest, "\n")
			for i, l := range strings.Split(now, "\n") {
				if want = append(want, "(nothing)"); l != want[i] {
					t.Fatalf("run %d decided\n%s\nand on file is\n%s", seed, l, want[i])
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	switch {
	case update:
		testrepo.Must(t, os.WriteFile(path, []byte(all), 0o600))
	case rest != "":
		t.Errorf("%s ends with\n%s", path, rest)
	}
}
