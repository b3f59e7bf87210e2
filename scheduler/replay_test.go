package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// randomRunner is a Runner and a Panel whose results are a function of a seed: the same attempt always ends
// in the same way.
type randomRunner struct {
	seed uint64
}

// oneResponse is the largest cost of one API response in these tests.
const oneResponse = 7_650

var randomOutcomes = []runner.Outcome{runner.Done, runner.Done, runner.Done, runner.Done, runner.Wrong,
	runner.OverTurns,
	runner.TimedOut, runner.Stalled, runner.OverCap, runner.Throttled, runner.Truncated}

func (d randomRunner) Attempt(_ context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	n := uint64(chance(fmt.Sprint(d.seed), req.Task, req.Attempt) * 1e9)
	o := randomOutcomes[n%uint64(len(randomOutcomes))]
	// As with the real CLI, the cap is checked after each response, so the cost exceeds it by at
	// most one response.
	cost := min(budget.USD(n%90_000), max(req.Cap, 0)) + budget.USD(n%uint64(oneResponse+1))
	r := runner.Result{Outcome: o, Reason: string(o), Signature: fmt.Sprint(n), Session: req.Session, Cost: cost,
		Priced: "result"}
	turnEnded := o == runner.Done || o == runner.Wrong
	switch {
	case req.Turn != nil:
		r.Outcome, r.Cost, r.Priced = runner.Wrong, 0, ""
		if turnEnded {
			r.Outcome = o
		}
	case turnEnded && n%3 > 0:
		turn := r
		turn.Outcome = runner.Done
		if err := hooks.TurnEnded(runner.Turn{Result: turn}); err != nil {
			r.Outcome = runner.Interrupted
		}
	}
	if r.Outcome == runner.Done {
		r.Checks, r.Beside = []check.Evidence{{Passed: true}}, n%5 < 2
	}
	return r
}

func (d randomRunner) Diagnose(_ context.Context, c counsel.Case) counsel.Verdict {
	return counsel.Verdict{Analysis: "a", Fix: "f", Cost: min(5000, c.Cap)}
}

// review sometimes finds a confirmed blocker or gives no answer.
func (d randomRunner) review(_ *State, e event.ReviewStarted) func(context.Context) counsel.Review {
	n := uint64(chance(fmt.Sprint(d.seed), "review", e.N) * 1e9)
	r := counsel.Review{Score: float64(n % 11), Cost: min(budget.USD(n%70_000), max(e.Cap, 0))}
	switch n % 5 {
	case 0:
		r.Error = "nonsense"
	case 1, 2:
		r.Findings = []counsel.Finding{{ID: "F-1", Severity: counsel.Blocker, Text: "wrong", Expert: "tester",
			Confirmed: n%5 == 1, File: "a.go"}}
	}
	return func(context.Context) counsel.Review { return r }
}

// verify finds evidence for some criteria.
func (d randomRunner) verify(
	s *State, e event.CriteriaStarted,
) verification {
	list := slices.Clone(s.Assessment.Criteria)
	for i := range list {
		n := uint64(chance(fmt.Sprint(d.seed), list[i].ID, e.Round) * 1e9)
		list[i].Met, list[i].Round = n%3 > 0, e.Round
		list[i].Verification = []string{event.ExecutionOutput, event.Observation, event.Assumption,
			event.Measurement}[n%4]
		list[i].Met = list[i].Met && list[i].Verification != event.Assumption
	}
	var again []RecheckResult
	for _, r := range e.Rechecks {
		n := uint64(chance(fmt.Sprint(d.seed), r.Tasks[0], 100+e.Round) * 1e9)
		again = append(again, RecheckResult{Passed: n%4 > 0, Flaky: n%4 == 1, Check: "look"})
	}
	return verified(Verification{Criteria: list, Cost: min(1000, e.Cap), Rechecks: again}, nil)
}

// genPlan draws a plan of up to 12 tasks with edges to earlier ones, maybe with criteria.
func genPlan(t *rapid.T) *plan.Plan { return genPlanOf(t, 12, false) }

// genPlanOf is like genPlan with another bound, and lists if wanted.
func genPlanOf(t *rapid.T, most int, lists bool) *plan.Plan {
	n := rapid.IntRange(1, most).Draw(t, "tasks")
	var tasks []string
	for i := range n {
		var by []string
		for j := range i {
			if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
				by = append(by, fmt.Sprintf("t%d", j))
			}
		}
		line := task(fmt.Sprintf("t%d", i), by...)
		if rapid.Bool().Draw(t, "own check") {
			line = checked(fmt.Sprintf("t%d", i), fmt.Sprintf(`"look %d"`, i%5), by...)
		}
		if name := rapid.SampledFrom([]string{"", "", "db", "gpu"}).Draw(t, "exclusive"); name != "" {
			line = strings.TrimSuffix(line, "}") + fmt.Sprintf(`,"exclusive":[%q]}`, name)
		}
		if rapid.IntRange(0, 3).Draw(t, "promises") == 0 {
			line = strings.TrimSuffix(line, "}") + `,"criteria":[{"text":"it does its part","verify":"true"}]}`
		}
		if lists && rapid.IntRange(0, 2).Draw(t, "list") == 0 {
			line = strings.TrimSuffix(line, "}") + fmt.Sprintf(`,"foreach":{"items":%s,"allowFailures":%d}}`,
				[]string{`[]`, `["a"]`, `["a","b"]`, `["a","b","c"]`}[rapid.IntRange(0, 3).Draw(t, "items")],
				rapid.IntRange(0, 1).Draw(t, "may fail"))
		}
		tasks = append(tasks, line)
	}
	text := planText(tasks...)
	if rapid.Bool().Draw(t, "criteria") {
		text = `{"criteria":["it works",{"text":"it is fast","verify":"true"}],` + text[1:]
	}
	return mustPlan(t, text)
}

func genConfig(t *rapid.T) event.Config {
	c := event.DefaultConfig()
	c.Run = "run-1"
	c.Parallel = rapid.IntRange(1, 5).Draw(t, "parallel")
	c.Schedule = rapid.SampledFrom([]event.Schedule{event.Waves, event.Eager}).Draw(t, "schedule")
	c.Limits = budget.Limits{USD: budget.USD(rapid.IntRange(0, 2_000_000).Draw(t, "usd")),
		Iterations: rapid.IntRange(1, 60).Draw(t, "iterations")}
	c.MaxRetries = rapid.IntRange(0, 3).Draw(t, "retries")
	c.Counsel = rapid.Bool().Draw(t, "counsel")
	c.Review = rapid.SampledFrom([]string{event.ReviewOff, event.ReviewLight, event.ReviewThorough,
		event.ReviewAuto}).Draw(t, "review")
	c.AcceptAssumptions = rapid.Bool().Draw(t, "accept")
	return c
}

// runRandom runs one session over a journal and returns the state and the events.
func runRandom(t *rapid.T, p *plan.Plan, c event.Config, past []event.Event, d randomRunner,
	views ...View) (*State, []event.Event, event.RunEnded) {
	return runRandomFrom(t, p, c, past, nil, d, views...)
}

// runRandomFrom is like runRandom, with the first event of the session; nil: the usual one.
func runRandomFrom(t *rapid.T, p *plan.Plan, c event.Config, past []event.Event, open event.Body, d randomRunner,
	views ...View) (*State, []event.Event, event.RunEnded) {
	return runSession(t, p, c, past, func(l *Loop) {
		if open != nil {
			l.StartEvent = open
		}
		l.Runner, l.Panel, l.Views, l.Review, l.Verify = d, d, views, d.review, d.verify
	})
}

// runSession runs one session over a journal, with a loop that set completes.
func runSession(t *rapid.T, p *plan.Plan, c event.Config, past []event.Event,
	set func(*Loop)) (*State, []event.Event, event.RunEnded) {
	b := newFixture(t, p, c)
	if len(past) > 0 {
		b = nextSession(t, p, c, past)
		b.StartEvent = event.RunResumed{Config: c, Plan: p.Path, Tasks: len(p.Tasks), Waves: b.State.Waves}
	}
	b.Jitter = func() float64 { return 0 } // so that nothing waits
	set(b.Loop)
	end, err := b.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return b.State, b.journal.events, end
}

// reservation returns the money that a key holds in a ledger, and whether it holds a reservation.
func reservation(l budget.Ledger, key string) (usd budget.USD, held bool) {
	defer func() { held = recover() == nil }() // Commit panics without a reservation
	before := l.Reserved()
	l.Commit(key, 0, 0, false)
	return before - l.Reserved(), true
}

// limitView checks two invariants at every event: the cost exceeds the limit by at most one API
// response for each process that may run, and nothing runs without a reservation.
type limitView struct {
	t *rapid.T
}

func (b limitView) Event(e event.Event, s *State) {
	l := s.Ledger.Limits()
	if over := s.Ledger.Spent() - l.USD; !l.NoUSD && over > oneResponse*budget.USD(s.Config.Parallel+2) {
		b.t.Fatalf("record %d: %s spent of %s with -j %d", e.Seq, s.Ledger.Spent(), l.USD, s.Config.Parallel)
	}
	if (s.Phase == Ended) != (s.Ended != nil) {
		b.t.Fatalf("record %d: phase %s with the end %+v", e.Seq, s.Phase, s.Ended)
	}
	for key, work := range s.openWork {
		if work.paid {
			continue
		}
		if _, held := reservation(s.Ledger, key); !held {
			b.t.Fatalf("record %d: %s runs without a reservation", e.Seq, key)
		}
	}
	if !l.NoIterations && s.Ledger.Iterations() > l.Iterations {
		b.t.Fatalf("record %d: %d iterations of %d", e.Seq, s.Ledger.Iterations(), l.Iterations)
	}
	alone := map[string]string{}
	for i := range s.Tasks {
		if s.Tasks[i].Status != event.InProgress {
			continue
		}
		for _, name := range s.Plan.Tasks[i].Exclusive {
			if other := alone[name]; other != "" {
				b.t.Fatalf("record %d: %s and %s both use %s", e.Seq, other, s.Plan.Tasks[i].ID, name)
			}
			alone[name] = s.Plan.Tasks[i].ID
		}
	}
	if s.Running() > s.Config.Parallel {
		b.t.Fatalf("record %d: %d run with -j %d", e.Seq, s.Running(), s.Config.Parallel)
	}
}

// TestAnyRunEndsWithinItsLimits: every run ends within its limits, its counters agree with the
// tasks, and a replay of its journal leads to the same state.
func TestAnyRunEndsWithinItsLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, c := genPlan(t), genConfig(t)
		d := randomRunner{seed: rapid.Uint64().Draw(t, "seed")}
		s, events, end := runRandom(t, p, c, nil, d, limitView{t})
		if end.Status == "" || s.Running() != 0 || len(s.openWork) != 0 {
			t.Fatalf("ended as %+v with %d running", end, s.Running())
		}
		var counts event.Counts
		for i := range s.Tasks {
			*counts.Of(s.Tasks[i].Status)++
		}
		if counts != s.Counts || counts != end.Tasks {
			t.Fatalf("counted %+v, kept %+v, reported %+v", counts, s.Counts, end.Tasks)
		}
		if mustAddUp(t, s, events); s.Ledger.Spent() != end.Cost {
			t.Fatalf("the ledger says %s, the end %s", s.Ledger.Spent(), end.Cost)
		}
		if done := counts.Completed == len(s.Tasks) && s.Assessment.Gate != nil &&
			s.Assessment.Gate.Passed; end.Status == "complete" != done ||
			s.Assessment.ExitSignal != done {
			t.Fatalf("%s with %+v, exit signal %t", end.Status, counts, s.Assessment.ExitSignal)
		}
		if end.Status == "complete" {
			checkInvariants(t, s, c)
			checkLastVerified(t, s, events)
		}
		mustReplayAs(t, s, p, events)
	})
}

// visible returns a state without the fields that only the live loop sets (times are the
// journal's).
func visible(s *State) any {
	type shot struct {
		Tasks  []Task
		Said   Assessment
		How    completion
		Plan   int
		Counts event.Counts
		Spent  budget.USD
		Iter   int
		Wave   int
		Seq    int64
	}
	tasks := make([]Task, len(s.Tasks))
	copy(tasks, s.Tasks)
	for i := range tasks {
		tasks[i].Last = nil // compared through its effects; its times are monotonic in a live run
		tasks[i].Started, tasks[i].NotBefore = tasks[i].Started.UTC().Round(0), tasks[i].NotBefore.UTC().Round(0)
		tasks[i].Advice = nil
	}
	said, how := s.Assessment, s.closing
	said.Reviews = slices.Clone(said.Reviews)
	return shot{tasks, said, how, len(s.Plan.Tasks), s.Counts, s.Ledger.Spent(), s.Ledger.Iterations(), s.Wave, s.Seq}
}

// mustAddUp fails unless the ledger has the sum of the costs in the journal, and tasks and verdicts cost that.
func mustAddUp(t rapid.TB, s *State, events []event.Event) {
	t.Helper()
	var work, verdicts, tasks budget.USD
	paid := map[string]bool{} // attempts whose turn has ended
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.TurnEnded:
			work += b.Turn.Result.Cost
			paid[attemptKey(b.Task, b.Attempt)] = true
		case event.AttemptEnded:
			if !paid[attemptKey(b.Task, b.Attempt)] {
				work += b.Result.Cost
			}
		case event.CounselEnded:
			work += b.Verdict.Cost
		case event.ReviewEnded:
			verdicts += b.Review.Cost
		case event.CriteriaEnded:
			verdicts += b.Cost
		}
	}
	for i := range s.Tasks {
		tasks += s.Tasks[i].Cost
	}
	if spent := s.Ledger.Spent(); work+verdicts != spent || tasks+verdicts != spent || s.Ledger.Reserved() != 0 {
		t.Fatalf("work cost %s, tasks %s, verdicts %s; the ledger has %s and reserves %s", work, tasks, verdicts, spent,
			s.Ledger.Reserved())
	}
}

// checkInvariants checks that a completed run has evidence.
func checkInvariants(t *rapid.T, s *State, c event.Config) {
	for _, k := range s.Assessment.Criteria {
		if !k.Proven() && !(c.AcceptAssumptions && k.Verification == event.Assumption) {
			t.Fatalf("complete with criterion %+v", k)
		}
	}
	if c.Review == event.ReviewThorough || c.Review == event.ReviewAuto {
		if last := s.Assessment.Thorough(); last == nil || !last.Passed || len(last.Review.Blockers()) > 0 ||
			s.closing.reviewedAt != s.closing.workCount {
			t.Fatalf("complete with review %+v", last)
		}
	}
}

// checkLastVerified checks that each task's own check passed with the last work, or was repeated after
// it.
func checkLastVerified(t *rapid.T, s *State, events []event.Event) {
	work, looked := 0, map[plan.Check]int{}
	var begun event.CriteriaStarted
	for n, e := range events {
		switch b := e.Body.(type) {
		case event.AttemptEnded:
			work = n
			if i, ok := s.Index(b.Task); ok && b.Status == event.Completed &&
				len(s.Plan.Tasks[i].Verify) > 0 { // a repair may have none
				looked[s.Plan.Tasks[i].Verify[0]] = n
			}
		case event.IntegrationEnded:
			for _, id := range b.Completed {
				if i, ok := s.Index(id); ok && len(s.Plan.Tasks[i].Verify) > 0 {
					looked[s.Plan.Tasks[i].Verify[0]] = n
				}
			}
		case event.CriteriaStarted:
			begun = b
		case event.CriteriaEnded:
			for _, r := range begun.Rechecks {
				for _, id := range r.Tasks {
					i, _ := s.Index(id)
					if looked[s.Plan.Tasks[i].Verify[0]] == n {
						t.Fatalf("record %d: the check of %s is made twice", e.Seq, id)
					}
				}
				i, _ := s.Index(r.Tasks[0])
				looked[s.Plan.Tasks[i].Verify[r.N-1]] = n
			}
		}
	}
	for i := range s.Tasks {
		if c := s.Plan.Tasks[i].Verify; len(c) > 0 && looked[c[0]] < work {
			t.Fatalf("complete, and the check of %s was not made after the last work", s.Plan.Tasks[i].ID)
		}
	}
}

// TestACrashAnywhereLosesAndRepeatsNothing cuts the journal after every record, resumes, and searches
// for completed work that starts again and for lost money.
func TestACrashAnywhereLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, c := genPlan(t), genConfig(t)
		c.Limits = budget.Limits{NoUSD: true, NoIterations: true}
		d := randomRunner{seed: rapid.Uint64().Draw(t, "seed")}
		_, whole, _ := runRandom(t, p, c, nil, d)
		cut := rapid.IntRange(1, len(whole)).Draw(t, "cut")
		past := append([]event.Event(nil), whole[:cut]...)
		s, events, end := runRandom(t, p, c, past, d)
		done, lit := map[string]bool{}, map[int]bool{}
		passed := false                // and no work was done since
		unchecked := map[string]bool{} // tasks whose last turn has work to check
		completed := func(id string) { // without a thorough review, each work is reviewed lightly
			if i, ok := s.Index(id); ok && c.Review == event.ReviewLight {
				delete(lit, s.Tasks[i].Wave)
			}
		}
		for _, e := range events {
			switch b := e.Body.(type) {
			case event.ReviewStarted:
				if lit[b.Wave] || passed && b.Mode == counsel.Thorough {
					t.Fatalf("record %d pays for a review a second time: %+v", e.Seq, b)
				}
			case event.ReviewEnded:
				if b.Mode == counsel.Light && b.Review.Failure != runner.Interrupted {
					lit[b.Wave] = true
				}
				passed = b.Mode == counsel.Thorough && b.Passed
			case event.AttemptStarted:
				if done[b.Task] {
					t.Fatalf("record %d starts %s, which was done", e.Seq, b.Task)
				}
				if unchecked[b.Task] != (b.Why == event.WhyChecks) {
					t.Fatalf("record %d starts %s (%s); its last turn is to be checked: %v", e.Seq, b.Task, b.Why, unchecked[b.Task])
				}
			case event.TurnEnded:
				unchecked[b.Task] = true
			case event.AttemptEnded:
				if b.Result.Outcome != runner.Interrupted {
					unchecked[b.Task] = false
				}
				done[b.Task] = b.Status == event.Completed || b.Status == event.Verified
				passed = false
				if b.Status == event.Completed {
					completed(b.Task)
				}
			case event.IntegrationEnded:
				for _, id := range b.Completed {
					completed(id)
				}
				for _, r := range b.Reopened {
					done[r.Task] = false
				}
			}
		}
		if mustAddUp(t, s, events); end.Status == "" {
			t.Fatal("the resumed run has no end")
		}
	})
}
