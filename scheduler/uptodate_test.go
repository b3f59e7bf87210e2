package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// earlierRun returns work of an earlier run for some tasks of a plan.
func earlierRun(p *plan.Plan, ids ...string) *event.EarlierWork {
	work := &event.EarlierWork{Review: "thorough"}
	for _, id := range ids {
		i, _ := p.Lookup(id)
		work.Tasks = append(work.Tasks, event.EarlierTask{Task: id, Key: p.Key(i), Run: "run-0",
			Evidence: event.ExecutionOutput})
	}
	return work
}

// runAfter runs a plan after an earlier run; fails and missing are the failed checks and files.
func runAfter(t *testing.T, p *plan.Plan, work *event.EarlierWork, missing map[string]string,
	fails ...string) (*fixture, event.RunEnded) {
	t.Helper()
	b := newFixture(t, p, testConfig())
	start := b.StartEvent.(event.RunStarted)
	start.Earlier = work
	b.StartEvent = start
	b.Verify = func(s *State, e event.CriteriaStarted) verification {
		v := answer(s, e)
		if len(e.Earlier) > 0 { // the work is done again
			v = answer(s, e, fails...)
			v.Criteria = slices.DeleteFunc(v.Criteria, func(c event.Criterion) bool { return !slices.Contains(e.Only, c.ID) })
		}
		v.Missing = missing
		for i := range v.Criteria {
			v.Criteria[i].Round = e.Round
		}
		return verified(v, nil)
	}
	for i := range p.Tasks {
		b.runner.results[p.Tasks[i].ID] = []runner.Result{resultWithChecks(1)}
	}
	return b, b.run(t)
}

func TestUpToDate(t *testing.T) {
	t.Parallel()
	bare := `{"id":"x","command":"make","verify":["true"]}`
	file := `{"id":"x","command":"make","files":["x.o"]}`
	chain := planText(task("a"), task("b", "a"), task("c", "b"))
	for name, c := range map[string]struct {
		plan    string
		earlier string // tasks of the earlier run
		edited  string // a task whose key is another one now
		missing map[string]string
		fails   []string
		ran     string // tasks that were attempted, in order
	}{
		"the whole plan": {plan: chain, earlier: "a b c"},
		"a part of it":   {plan: chain, earlier: "a b", ran: "c"},
		"a failed check": {plan: planText(checked("a", `"x"`), checked("b", `"y"`, "a")), earlier: "a b",
			fails: []string{"a/1"}, ran: "a"},
		"a failed check of two": {plan: planText(checked("a", `"x"`), checked("b", `"x"`)), earlier: "a b",
			fails: []string{"a/1"}, ran: "a b"},
		"a missing file":            {plan: chain, earlier: "a b c", missing: map[string]string{"b": "gone"}, ran: "b"},
		"another key":               {plan: chain, earlier: "a b c", edited: "b", ran: "b"},
		"a command with the plan":   {plan: planText(task("a"), bare), earlier: "a x"},
		"a command with a part":     {plan: planText(task("a"), task("b"), bare), earlier: "a x", ran: "b x"},
		"a command that has a file": {plan: planText(task("a"), task("b"), file), earlier: "a x", ran: "b"},
		"a command and a lost check": {plan: planText(checked("a", `"y"`), bare), earlier: "a x",
			fails: []string{"a/1"}, ran: "a x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := mustPlan(t, c.plan)
			work := earlierRun(p, strings.Fields(c.earlier)...)
			for k := range work.Tasks {
				if work.Tasks[k].Task == c.edited {
					work.Tasks[k].Key = "old"
				}
			}
			b, end := runAfter(t, p, work, c.missing, c.fails...)
			ran := b.runner.order()
			slices.Sort(ran)
			if end.Status != event.RunComplete || end.Tasks.Completed != len(p.Tasks) || strings.Join(ran, " ") != c.ran {
				t.Errorf("ran %v, want %s; %+v", ran, c.ran, end)
			}
			if c.ran == "" && (end.Cost != 0 || end.Iterations != 0 || len(of[event.ReviewStarted](b.journal)) > 0 ||
				b.State.Assessment.Gate.Review != "thorough" || len(of[event.CriteriaStarted](b.journal)) != 1) {
				t.Errorf("nothing was to be done: %+v, gate %+v", end, b.State.Assessment.Gate)
			}
			mustReplayAs(t, b.State, p, b.journal.events)
		})
	}
}

// A task may run again while its dependent is up to date. It then holds back the tasks after the dependent, also when
// it fails for good.
func TestUpToDateHoldsDependentsBack(t *testing.T) {
	t.Parallel()
	for _, schedule := range []event.Schedule{event.Waves, event.Eager} {
		p := mustPlan(t, planText(checked("a", `"x"`), checked("b", `"y"`, "a"), checked("c", `"z"`, "b")))
		b := newFixture(t, p, testConfig())
		start := b.StartEvent.(event.RunStarted)
		start.Earlier, start.Config.Schedule, start.Config.Counsel, start.Config.MaxRetries = earlierRun(p, "a", "b"),
			schedule, false, 0
		b.StartEvent, b.Verify = start, verifyFailing("a/1")
		b.runner.results["a"] = []runner.Result{wrong("no")}
		end := b.run(t)
		if end.Tasks != (event.Counts{Completed: 1, Failed: 1, Blocked: 1}) || len(b.runner.calls) != 1 {
			t.Errorf("%s: %+v after %v", schedule, end, b.runner.order())
		}
	}
}

// Criteria with a check are verified; those that a judge decided keep its evidence only if nothing runs.
func TestUpToDateCriteria(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, `{"criteria":["it reads well",{"text":"it works","verify":"make"}],`+
		planText(checked("a", `"x"`), checked("b", `"y"`))[1:])
	for _, c := range []struct {
		earlier, fails, text string
		judged               int
	}{
		{"a b", "", "it reads well", 0},
		{"a b", "", "it read well", 1}, // the plan has another criterion now
		{"a b", "b/1", "it reads well", 1},
		{"a", "", "it reads well", 1},
	} {
		work := earlierRun(p, strings.Fields(c.earlier)...)
		work.Criteria = []event.Criterion{{ID: "C-1", Text: c.text, Met: true, Verification: event.Observation,
			Evidence: "earlier"}}
		b, end := runAfter(t, p, work, nil, c.fails)
		judged := 0
		for _, e := range of[event.CriteriaStarted](b.journal) {
			if e.Judge {
				judged++
			}
		}
		if end.Status != event.RunComplete || judged != c.judged ||
			c.judged == 0 != (b.State.Assessment.Criteria[0].Evidence == "earlier") {
			t.Errorf("%+v: judged %d times, %+v, %+v", c, judged, b.State.Assessment.Criteria, end)
		}
	}
}

// The evidence of the earlier run counts, also if the run had no evidence.
func TestUpToDateEvidence(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(task("a")))
	work := earlierRun(p, "a")
	work.Tasks[0].Evidence, work.Review = event.Assumption, event.ReviewOff
	_, end := runAfter(t, p, work, nil)
	if end.ExitCode != 1 || !strings.Contains(end.Reason, "run-0, had no evidence either") {
		t.Errorf("%+v", end)
	}
	work.Tasks[0].Evidence = event.Observation
	var b *fixture
	b, end = runAfter(t, p, work, nil)
	if end.ExitCode != 0 || b.State.TaskEvidence()[0].Kind != event.Observation ||
		b.State.Assessment.Gate.Review != event.ReviewOff ||
		!slices.Equal(b.State.Assessment.Gate.Reasons, []string{"no thorough review was made by the earlier run"}) {
		t.Errorf("%+v, %+v", end, b.State.Assessment.Gate)
	}
}

// A verification that is cut off decides nothing, and one that cannot be made stops the run before anything is
// done a second time.
func TestUpToDateCannotBeVerified(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(task("a"), task("b", "a")))
	b := newFixture(t, p, testConfig())
	start := b.StartEvent.(event.RunStarted)
	start.Earlier = earlierRun(p, "a")
	b.StartEvent = start
	b.Verify = func(*State, event.CriteriaStarted) verification {
		return verified(Verification{}, fmt.Errorf("no tree"))
	}
	end := b.run(t)
	if end.Status != event.RunBlocked || len(b.runner.calls) != 0 ||
		!strings.Contains(end.Reason, "an earlier run completed could not be verified: no tree") {
		t.Errorf("%+v after %v", end, b.runner.order())
	}
	s := NewState(p)
	if err := s.Replay(b.journal.events); err != nil || !s.Tasks[0].undecided() {
		t.Errorf("%+v, %v", s.Tasks[0], err)
	}
}

// A rollback undoes also that a task is up to date.
func TestUpToDateRolledBack(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(task("a")))
	b, _ := runAfter(t, p, earlierRun(p, "a"), nil)
	past := append(b.journal.events, event.Event{Seq: b.State.Seq + 1, Body: event.RolledBack{Tasks: []string{"a"}}})
	s := NewState(p)
	if err := s.Replay(past); err != nil || s.Tasks[0].UpToDate() || s.Tasks[0].undecided() ||
		s.Tasks[0].Status != event.Pending {
		t.Errorf("%+v, %v", s.Tasks[0], err)
	}
}

// TestACrashKeepsEarlierWork cuts the journal of a run with earlier work after every record and resumes: a task
// that was up to date never starts, no task is looked at twice without need, and no money is lost.
func TestACrashKeepsEarlierWork(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, c := genPlan(t), genConfig(t)
		c.Limits = budget.Limits{NoUSD: true, NoIterations: true}
		d := randomRunner{seed: rapid.Uint64().Draw(t, "seed")}
		var ids []string
		for i := range p.Tasks {
			if rapid.IntRange(0, 3).Draw(t, "earlier") > 0 {
				ids = append(ids, p.Tasks[i].ID)
			}
		}
		first := []event.Event{{Seq: 1, Body: event.RunStarted{Config: c, Plan: p.Path, Earlier: earlierRun(p, ids...)}}}
		_, whole, _ := runRandom(t, p, c, first, d, limitView{t})
		cut := rapid.IntRange(1, len(whole)).Draw(t, "cut")
		s, events, end := runRandom(t, p, c, append([]event.Event(nil), whole[:cut]...), d, limitView{t})
		upToDate := map[string]bool{}
		decided := len(ids) == 0
		for _, e := range events {
			switch b := e.Body.(type) {
			case event.CriteriaStarted:
				if decided && len(b.Earlier) > 0 {
					t.Fatalf("record %d looks at the earlier work again", e.Seq)
				}
			case event.CriteriaEnded:
				if b.UpToDate != nil {
					decided = true
					for _, id := range b.UpToDate.Tasks {
						upToDate[id] = true
					}
				}
			case event.AttemptStarted:
				if upToDate[b.Task] || !decided {
					t.Fatalf("record %d starts %s", e.Seq, b.Task)
				}
			}
		}
		if mustAddUp(t, s, events); !decided || end.Status == "" {
			t.Fatalf("decided %t, ended %+v", decided, end)
		}
		for id := range upToDate {
			if i, _ := s.Index(id); !s.Tasks[i].UpToDate() || s.Tasks[i].Attempts != 0 {
				t.Fatalf("%s is %+v", id, s.Tasks[i])
			}
		}
		mustReplayAs(t, s, p, events)
	})
}

// resumeElsewhere resumes a run whose first session completed all but the last task. That one, and doubtful, have to
// be looked at; fails and missing are the failed checks and files.
func resumeElsewhere(t *testing.T, p *plan.Plan, doubtful []event.EarlierTask, missing map[string]string,
	fails ...string) (*fixture, event.RunEnded) {
	t.Helper()
	c := testConfig()
	c.Run, c.Limits.Iterations = "r", len(p.Tasks)-1
	first := newFixture(t, p, c)
	for i := range p.Tasks {
		first.runner.results[p.Tasks[i].ID] = []runner.Result{resultWithChecks(1)}
	}
	if end := first.run(t); end.Status != event.RunPaused || end.Tasks.Completed != len(p.Tasks)-1 {
		t.Fatalf("%+v", end)
	}
	c.Limits.Iterations = 20
	next := nextSession(t, p, c, first.journal.events)
	next.StartEvent = event.RunResumed{Config: c, Plan: p.Path, Earlier: doubtful}
	next.Verify = func(s *State, e event.CriteriaStarted) verification {
		v := answer(s, e)
		if len(e.Earlier) > 0 {
			v = answer(s, e, fails...)
		}
		v.Missing = missing
		return verified(v, nil)
	}
	for i := range p.Tasks {
		next.runner.results[p.Tasks[i].ID] = []runner.Result{resultWithChecks(1)}
	}
	return next, next.run(t)
}

// A run that goes on in another folder looks at its completed tasks first, and does again those whose work is
// not there. Work on its branch that is not on record is taken over.
func TestResumeElsewhere(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(checked("a", `"x"`), checked("b", `"y"`, "a"), checked("c", `"z"`, "b")))
	doubt := func(commit string, ids ...string) (out []event.EarlierTask) {
		for _, id := range ids {
			i, _ := p.Lookup(id)
			out = append(out, event.EarlierTask{Task: id, Key: p.Key(i), Run: "r", Commit: commit,
				Evidence: event.ExecutionOutput})
		}
		return out
	}
	for name, c := range map[string]struct {
		doubtful []event.EarlierTask
		missing  map[string]string
		fails    string
		ran      string
	}{
		"nothing is there": {doubtful: doubt("", "a", "b"), missing: map[string]string{"a": "gone", "b": "gone"},
			ran: "a b c"},
		"all is there":       {doubtful: doubt("", "a", "b"), ran: "c"},
		"a file is missing":  {doubtful: doubt("", "a", "b"), missing: map[string]string{"a": "gone"}, ran: "a c"},
		"a check fails":      {doubtful: doubt("", "a", "b"), fails: "b/1", ran: "b c"},
		"not on record":      {doubtful: doubt("123", "c"), ran: ""},
		"not on record, bad": {doubtful: doubt("123", "c"), fails: "c/1", ran: "c"},
		"of another key":     {doubtful: []event.EarlierTask{{Task: "b", Key: "old", Run: "r"}}, ran: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, end := resumeElsewhere(t, p, c.doubtful, c.missing, c.fails)
			if got := strings.Join(b.runner.order(), " "); end.Status != event.RunComplete || got != c.ran {
				t.Errorf("ran %q, want %q; %+v", got, c.ran, end)
			}
			for i := range b.State.Tasks {
				task := &b.State.Tasks[i]
				if lost := name == "not on record" && i == 2; task.UpToDate() != lost || lost && task.Commit != "123" ||
					b.State.TaskEvidence()[i].Kind == event.Assumption {
					t.Errorf("%s is %+v", p.Tasks[i].ID, task)
				}
			}
			mustReplayAs(t, b.State, p, b.journal.events)
		})
	}
}

// TestRandomDoubts cuts the journal of a run after any record and resumes it elsewhere, where some of its completed
// tasks may have no work: nothing starts before the doubts are settled, and no money is lost.
func TestRandomDoubts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, c := genPlan(t), genConfig(t)
		c.Run, c.Limits = "r", budget.Limits{NoUSD: true, NoIterations: true}
		d := randomRunner{seed: rapid.Uint64().Draw(t, "seed")}
		_, whole, _ := runRandom(t, p, c, nil, d, limitView{t})
		cut := rapid.IntRange(1, len(whole)).Draw(t, "cut")
		past := append([]event.Event(nil), whole[:cut]...)
		before := replayed(t, p, past)
		var doubtful []event.EarlierTask
		for i := range before.Tasks {
			done := before.Tasks[i].Status == event.Completed || before.Tasks[i].Status == event.Verified
			if done && rapid.Bool().Draw(t, "doubt") {
				doubtful = append(doubtful, event.EarlierTask{Task: before.Plan.Tasks[i].ID, Key: before.Tasks[i].Key,
					Run: "r"})
			}
		}
		s, events, end := runRandomFrom(t, p, c, past, event.RunResumed{Config: c, Plan: p.Path, Earlier: doubtful}, d,
			limitView{t})
		decided, resumed := len(doubtful) == 0, false
		lookedAt := map[string]bool{}
		for _, e := range events {
			switch b := e.Body.(type) {
			case event.RunResumed:
				resumed = true
			case event.CriteriaStarted:
				for _, id := range b.Earlier {
					lookedAt[id] = true
				}
			case event.CriteriaEnded:
				decided = decided || resumed && b.UpToDate != nil
			case event.AttemptStarted:
				if resumed && !decided {
					t.Fatalf("record %d starts %s", e.Seq, b.Task)
				}
			}
		}
		if mustAddUp(t, s, events); !decided || end.Status == "" {
			t.Fatalf("decided %t, ended %+v", decided, end)
		}
		for _, d := range doubtful {
			if !lookedAt[d.Task] {
				t.Fatalf("%s is not looked at", d.Task)
			}
		}
		for _, h := range s.files.holders {
			if h != 0 && s.Tasks[h-1].Status != event.Verified && s.Tasks[h-1].Status != event.InProgress {
				t.Fatalf("%s is %s and holds a file", s.Plan.Tasks[h-1].ID, s.Tasks[h-1].Status)
			}
		}
		for i := range s.Tasks {
			if s.Tasks[i].Status == event.Completed && s.Tasks[i].UpToDate() {
				t.Fatalf("%s is %+v", s.Plan.Tasks[i].ID, s.Tasks[i])
			}
		}
		mustReplayAs(t, s, p, events)
	})
}

// Verified work whose commit a remote has already does not keep its files from other tasks.
func TestVerifiedElsewhereReleasesFiles(t *testing.T) {
	t.Parallel()
	tasks := []string{`{"id":"a","subject":"a","files":["x.go"],"verify":["true"]}`,
		`{"id":"b","subject":"b","files":["x.go"],"verify":["true"]}`}
	f := &fakeIntegrator{err: errors.New("disk full")}
	first := isolated(t, f, nil, tasks...)
	if end := first.run(t); end.ExitCode != 5 || first.State.Tasks[0].Status != event.Verified {
		t.Fatalf("%+v", end)
	}
	again := isolatedNext(t, f, first)
	again.StartEvent = event.RunResumed{Config: again.State.Config, Plan: again.State.Plan.Path,
		Earlier: []event.EarlierTask{{Task: "a", Key: again.State.Tasks[0].Key, Run: again.State.Config.Run, Commit: "123",
			Evidence: event.ExecutionOutput, Basis: event.Proven}}}
	again.Verify = verifyFailing()
	if end := again.run(t); end.Status != event.RunComplete || strings.Join(again.runner.order(), " ") != "b" {
		t.Errorf("ran %s; %+v", again.runner.order(), end)
	}
}
