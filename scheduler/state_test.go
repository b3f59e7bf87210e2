package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// While checks are repeated the deadline stops the run, so that the remaining ones do not start. A
// verification of criteria alone is short and runs to its end.
func TestDeadlineWhileVerifying(t *testing.T) {
	t.Parallel()
	for want, again := range map[string][]event.Recheck{"": nil, "draining": {{N: 1, Tasks: []string{"A"}}}} {
		s, c := NewState(mustPlan(t, planText(task("A")))), testConfig()
		c.Limits.Wall = time.Minute
		mustApply(t, s, event.RunStarted{Config: c}, event.CriteriaStarted{Round: 1, Rechecks: again})
		if body := decideNext(s, epoch.Add(time.Second)); body != nil {
			t.Errorf("before the deadline: %T", body)
		}
		got := ""
		if body := decideNext(s, epoch.Add(time.Hour)); body != nil {
			got = body.Type()
		}
		if got != want {
			t.Errorf("%d rechecks: decided %q, not %q", len(again), got, want)
		}
	}
}

// A journal whose events contradict each other is refused, with the record that does not fit.
func TestContradictoryJournals(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(task("A")))
	key := NewState(p).Tasks[0].Key
	begun := event.AttemptStarted{Task: "A", Key: key, Wave: 1, Attempt: 1, Try: 1, Iteration: 1, Why: "first"}
	ended := event.AttemptEnded{Task: "A", Key: key, Attempt: 1, Status: event.Completed}
	turn := event.TurnEnded{Task: "A", Key: key, Attempt: 1}
	other, next := ended, begun
	other.Attempt, next.Attempt = 2, 2
	for name, tt := range map[string]struct {
		bodies []event.Body
		want   string
	}{
		"a turn without an attempt": {[]event.Body{turn},
			"journal record 2: the turn of attempt 1 of A ended, but the attempt is not open"},
		"a turn twice": {[]event.Body{begun, turn, turn},
			"journal record 4: the turn of attempt 1 of A ended, but the attempt is not open"},
		"another attempt":  {[]event.Body{begun, other}, "journal record 3: A/2 ended, but it is not open"},
		"an attempt twice": {[]event.Body{begun, ended, ended}, "journal record 4: A/1 ended, but it is not open"},
		"two attempts at once": {[]event.Body{begun, next, ended},
			"journal record 4: attempt 1 of A ended, but it is in_progress at attempt 2"},
		"a panel":     {[]event.Body{event.CounselEnded{Task: "A", Panel: 1}}, "journal record 2: A/counsel-1 ended"},
		"a review":    {[]event.Body{event.ReviewEnded{N: 1}}, "journal record 2: review-1 ended"},
		"a pre-check": {[]event.Body{event.PrecheckEnded{Task: "A", N: 1}}, "journal record 2: precheck-A-1 ended"},
		"an adoption": {[]event.Body{event.AttemptAdopted{Task: "A", Attempt: 1}},
			"journal record 2: attempt 1 of A was adopted, but it is not open"},
		"a correction": {[]event.Body{begun, ended, event.CostCorrected{Task: "A", Attempt: 1}},
			"journal record 4: the cost of attempt 1 of A was corrected, but it does not count at "},
		"nothing": {[]event.Body{begun, turn, ended}, ""},
	} {
		events := []event.Event{{Seq: 1, Time: epoch, Body: event.RunStarted{Config: testConfig()}}}
		for n, b := range tt.bodies {
			events = append(events, event.Event{Seq: int64(n + 2), Time: epoch, Body: b})
		}
		err := NewState(p).Replay(events)
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// eventsOf returns events of a task with a content key.
func eventsOf(task, key string) []event.Body {
	return []event.Body{
		event.AttemptStarted{Task: task, Key: key, Wave: 1, Attempt: 9, Try: 9, Iteration: 1, Why: "first"},
		event.TurnEnded{Task: task, Key: key, Attempt: 9, Turn: runner.Turn{Result: wrong("no")}},
		event.AttemptEnded{Task: task, Key: key, Attempt: 9, Status: event.Failed, Result: wrong("no")},
		event.PrecheckStarted{Task: task, Key: key, N: 1},
		event.PrecheckEnded{Task: task, Key: key, N: 1, Challenge: counsel.Challenge{Reason: "no", Cost: 5}},
		event.CriteriaEnded{Round: 1, UpToDate: &event.UpToDate{Tasks: []string{task}, Due: []event.DueTask{{Task: task}}}},
		event.RunResumed{Config: testConfig(), Earlier: []event.EarlierTask{{Task: task, Key: key, Run: "r"}}},
	}
}

// eventsWithoutKey returns events of a task that have no content key.
func eventsWithoutKey(task string) []event.Body {
	tasks := []string{task}
	return []event.Body{
		event.CounselSkipped{Task: task},
		event.CounselStarted{Task: task, Panel: 1}, event.CounselEnded{Task: task, Panel: 1},
		event.IntegrationEnded{Wave: 1, Completed: tasks, Users: tasks,
			Reopened: []event.Reopened{{Task: task, Status: event.Failed, Blocked: tasks}}},
		event.Answered{Gate: event.GateRetry, Task: task}, event.Answered{Gate: event.GateRetry, Task: task, Yes: true},
		event.RolledBack{Tasks: tasks},
	}
}

// A plan may lose a task, or change it, after events were recorded. These change no other task, nor the changed one.
func TestEventsOfLostTasks(t *testing.T) {
	t.Parallel()
	for _, status := range []event.Status{event.Pending, event.InProgress, event.Advising, event.Verified, event.Completed,
		event.Failed} {
		for n, bodies := range [][]event.Body{append(eventsWithoutKey("gone"), eventsOf("gone", "k")...),
			eventsOf("A", "old")} {
			s, seq := NewState(mustPlan(t, planText(task("A"), task("B")))), int64(0)
			key := s.Tasks[0].Key
			apply := func(b event.Body) {
				t.Helper()
				seq++
				if err := s.apply(event.Event{Seq: seq, Time: epoch, Body: b}); err != nil {
					t.Fatalf("%s, %+v: %v", status, b, err)
				}
			}
			apply(event.RunStarted{Config: testConfig()})
			if status != event.Pending {
				apply(event.AttemptStarted{Task: "A", Key: key, Wave: 1, Attempt: 1, Try: 1, Iteration: 1, Why: "first"})
			}
			if status != event.Pending && status != event.InProgress {
				apply(event.AttemptEnded{Task: "A", Key: key, Attempt: 1, Status: status, Result: resultWithChecks(1)})
			}
			facts := func() string { // the numbers of attempts and pre-checks are of both
				a := s.Tasks[0]
				return fmt.Sprintf("%+v", []any{a.Status, a.Slot, a.Tries, a.Cost, a.CounselCost, a.Turn, a.Last, a.Next,
					a.Panels, a.ApprovedAttempt, a.Challenge, a.Earlier, a.Stuck, s.Tasks[1], s.Counts, s.Failures()})
			}
			before := facts()
			for _, b := range bodies {
				if _, ends := b.(event.RunResumed); ends && status == event.Failed {
					continue // it gives a failed task another chance
				}
				if _, ended := b.(event.AttemptEnded); ended && n == 1 && status == event.InProgress {
					continue // a task with two open attempts contradicts itself
				}
				if apply(b); facts() != before {
					t.Fatalf("A was %s: %T made of\n%s\n%s", status, b, before, facts())
				}
			}
			if e := onIntegration(s, 1, Integrated{Culprits: []Culprit{{Task: "gone"}}}, nil); len(e.Reopened) > 0 {
				t.Fatalf("an integration reopens %+v", e.Reopened)
			}
		}
	}
}

// The cost of the request that a plan comes from counts as planning, and against the budget.
func TestCostOfTheRequest(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("A"))))
	mustApply(t, s, event.RunStarted{Config: testConfig(),
		Origin: &event.Origin{Spent: 2 * budget.Dollar}})
	if e := s.Efforts(); e.Planning.Cost != 2*budget.Dollar || e.Work.Cost != 0 ||
		s.Ledger.Available() != 23*budget.Dollar {
		t.Errorf("efforts %+v, %s are left", e, s.Ledger.Available())
	}
}

// Ends that other commands make between sessions.
func TestEndsBetweenSessions(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("A"))))
	mustApply(t, s, event.RunStarted{Config: testConfig()}, event.AttemptStarted{Task: "A",
		Key: s.Tasks[0].Key, Wave: 1, Attempt: 1, Try: 1, Iteration: 1, Why: "first", Cap: 3 * budget.Dollar})
	e := EndAfterCancel(s)
	if e.Status != event.RunCancelled || e.Cost != 3*budget.Dollar || e.CostUSD != 3 || e.Resume != "" ||
		e.Iterations != s.Ledger.Charged() {
		t.Errorf("cancelled while an attempt was open: %+v", e)
	}
	for failures, want := range map[string]string{"a": "a", "a b c d e": "a; b; c; d; e",
		"a b c d e f g": "a; b; c; d; e; and 2 more"} {
		g := EndGateAfterVerify(s, strings.Fields(failures))
		if g.Passed || g.Review != "off" ||
			!slices.Equal(g.Reasons, []string{"verified again, this does not hold: " + want}) {
			t.Errorf("%s: %+v", failures, g)
		}
	}
	if e := EndAfterVerify(s); e.Status != event.RunFailed || e.Reason != "the gate refused" {
		t.Errorf("without a gate: %+v", e)
	}
	s.Assessment.Gate = &event.GateEnded{Review: event.ReviewThorough, Reasons: []string{"x", "y"}}
	if g := EndGateAfterVerify(s, []string{"a"}); g.Review != event.ReviewThorough {
		t.Errorf("after a thorough review: %+v", g)
	}
	if e := EndAfterVerify(s); e.Reason != "the gate refused: x; y" || e.Resume == "" {
		t.Errorf("after a gate: %+v", e)
	}
}

// Tasks for the failures of a later verification join the plan, in a wave of their own.
func TestOnFindings(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("A"))))
	ev, err := OnFindings(s, 2, []Remediation{{For: "the tests", Subject: strings.Repeat("x", 200), Description: "mend it",
		Files: []string{"a.go"}, Checks: []plan.Check{{Run: "make", Timeout: time.Minute}}}, {For: "no subject"}})
	if err != nil || ev.Wave != 2 || ev.Origin != "verify" || ev.Round != 2 || len(ev.Tasks) != 1 ||
		ev.Tasks[0].For != "the tests" {
		t.Fatalf("%+v, %v", ev, err)
	}
	s.Assessment.ExitSignal, s.Assessment.Gate, s.Assessment.Evidence = true, &event.GateEnded{}, []event.Evidence{{}}
	mustApply(t, s, ev)
	if s.Assessment.ExitSignal || s.Assessment.Gate != nil || s.Assessment.Evidence != nil {
		t.Errorf("the gate stands: %v, %+v, %+v", s.Assessment.ExitSignal, s.Assessment.Gate, s.Assessment.Evidence)
	}
	added := s.Plan.Tasks[len(s.Tasks)-1]
	if len(s.Tasks) != 2 || s.Waves != 2 || added.ID != ev.Tasks[0].ID || len(added.Subject) > 150 ||
		added.Description != "mend it" || !slices.Equal(plan.Written(added.Files), []string{"a.go"}) ||
		len(added.Verify) != 1 || added.Verify[0].Run != "make" || added.Verify[0].Timeout != time.Minute {
		t.Errorf("the plan has %d tasks in %d waves, the last %+v", len(s.Tasks), s.Waves, added)
	}
	if _, err := OnFindings(s, 3, nil); !errors.Is(err, ErrNoRemediation) {
		t.Errorf("without findings: %v", err)
	}
}

// The task for a finding quotes the reviewer and the conditions that must not hold.
func TestFindingText(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("A"))))
	s.Plan.MustNot = []plan.Condition{{Text: "data is lost"}}
	text := findingText(s, counsel.Finding{File: "a.go", Line: 3, Text: "it leaks", Evidence: "line 4", Fix: "close it"})
	for _, want := range []string{"a.go:3: it leaks\n", "Evidence:\nline 4\n", "What the reviewer would do:\nclose it\n",
		"data is lost"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if text := findingText(s, counsel.Finding{Text: "it leaks"}); strings.Contains(text, "Evidence") ||
		strings.Contains(text, "would do") {
		t.Errorf("without evidence: %q", text)
	}
}

// A verification that failed too often stops the run, with the reason of the last failure.
func TestUnverifiable(t *testing.T) {
	t.Parallel()
	for what, criteria := range map[string][]event.Criterion{"the tasks' checks": nil, "the criteria": {{ID: "C-1"}}} {
		s := NewState(mustPlan(t, planText(task("A"))))
		s.closing.failedVerifications, s.closing.verificationError, s.Assessment.Criteria = maxUnanswered-1, "no shell",
			criteria
		if d, stops := decideVerification(s, nil).(event.Draining); stops {
			t.Errorf("%s: stopped after %d failures: %+v", what, s.closing.failedVerifications, d)
		}
		s.closing.failedVerifications++
		d, _ := decideVerification(s, nil).(event.Draining)
		if d.Stop.Status != event.RunBlocked || d.Stop.Reason != what+" could not be verified: no shell" {
			t.Errorf("%s: %+v", what, d)
		}
	}
}

// An own budget of a task bounds its attempts; when it is spent, the task has failed.
func TestOwnBudgetOfATask(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(task("A"), task("B")))
	p.Tasks[0].BudgetUSD = budget.Dollar
	b := newFixture(t, p, testConfig())
	over := outcome(runner.OverCap)
	over.Cost = budget.Dollar * 6 / 10
	b.runner.results["A"] = []runner.Result{over, over}
	end := b.run(t)
	if end.Tasks.Failed != 1 || end.Tasks.Completed != 1 {
		t.Errorf("ended as %+v", end)
	}
	var caps []budget.USD
	for _, c := range b.runner.calls {
		if c.Task == "A" {
			caps = append(caps, c.Cap)
		}
	}
	if !slices.Equal(caps, []budget.USD{budget.Dollar, budget.Dollar * 4 / 10}) {
		t.Errorf("the attempts had caps of %v", caps)
	}
	ends := of[event.AttemptEnded](b.journal)
	for _, e := range ends {
		switch {
		case e.Task == "A" && e.Attempt == 1 && (!e.Continue || e.Status != event.Pending || e.Note == ""):
			t.Errorf("the first attempt ended as %+v", e)
		case e.Task == "A" && e.Attempt == 2 && e.Status != event.Failed:
			t.Errorf("the second attempt ended as %+v", e)
		}
	}
}

// A panel that is due when a session ends is skipped in one without counsel, which has no panel. It costs nothing.
func TestDuePanelWithoutCounsel(t *testing.T) {
	t.Parallel()
	p, c := mustPlan(t, planText(task("A"))), testConfig()
	b := newFixture(t, p, c)
	b.runner.results["A"], b.runner.gates["A"] = []runner.Result{wrong("no")}, make(chan struct{})
	b.runner.started = make(chan string, 1)
	done := make(chan error, 1)
	go func() { _, err := b.Run(t.Context()); done <- err }()
	<-b.runner.started
	b.signals <- Signal{Name: "SIGINT", Code: 130}
	close(b.runner.gates["A"])
	if err := <-done; err != nil || b.State.Tasks[0].Status != event.Advising {
		t.Fatalf("the task is %s; %v", b.State.Tasks[0].Status, err)
	}
	c.Counsel = false
	again := nextSession(t, p, c, b.journal.events)
	again.Panel = nil
	end := again.run(t)
	skipped := of[event.CounselSkipped](again.journal)
	if end.Status != event.RunComplete || end.Cost != 3000 || len(skipped) != 1 || skipped[0].Reason != "counsel is off" {
		t.Errorf("ended as %+v; skipped %+v", end, skipped)
	}
}

// A person is told which rules would allow denied tool calls, and that the login changed.
func TestTextsForAPerson(t *testing.T) {
	t.Parallel()
	for want, denials := range map[string][]runner.Denial{
		"change the task, or the hook that denies its calls; no rule of allowedTools helps; then: wavex retry a": {
			{Tool: "Bash"}},
		`add to the plan's allowedTools: ["a" "b"], then resume`: {{Rule: "a"}, {Rule: "b"}, {Rule: "a"}},
		"remove the deny rule Bash in /h/s.json, which wins over allowedTools, or change the task; then: wavex retry a": {
			{Rule: "x"}, {Rule: "Bash(ls)", By: "Bash in /h/s.json"}},
		"name the files in the task by paths below its directory, not /p/a.go; then: wavex retry a": {
			{Rule: "Edit(//p/a.go)", Left: "/p/a.go"}},
		`name the files in the task by paths below its directory, not /p, ` +
			`add to the plan's allowedTools: ["a"], then resume`: {
			{Rule: "Bash(cd /p)", Left: "/p"}, {Rule: "a"}},
	} {
		if got := allowAdvice("a", denials); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, tt := range []struct {
		was, is, given, unlimited bool
		want                      string
	}{
		{false, true, false, false, event.NoticeSubscription},
		{false, true, true, false, "subscription login: dollars are notional, nobody is billed them; the run still " +
			"stops at its budget of $25, because it was given"},
		{true, false, false, true, "the login changed: dollars are billed from now on"},
		{true, false, false, false, "the login changed: dollars are billed from now on, and the budget of $25 holds"},
		{true, true, false, false, ""},
	} {
		s := NewState(mustPlan(t, planText(task("A"))))
		c := testConfig()
		c.BudgetGiven, c.Limits.NoUSD = tt.given, tt.unlimited
		mustApply(t, s, event.RunStarted{Config: c})
		s.Notional = tt.is
		got := ""
		if n := onMoneyChange(s, moneySnapshot{notional: tt.was}); n != nil {
			got = n.Text
		}
		if got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
	s := NewState(mustPlan(t, planText(task("A"))))
	if st := s.limitStop(errors.New("no disk")); st.Status != event.RunPaused || st.Reason != "no disk" || st.Limit != "" {
		t.Errorf("%+v", st)
	}
}

// The process that an older wavex started ahead of an attempt is in the ledger with its cost only.
func TestRemovedRecord(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("A"))))
	mustApply(t, s, event.RunStarted{Config: testConfig()}, event.Removed{}, event.Removed{Cost: 7})
	if s.Ledger.Spent() != 7 || s.Ledger.Reserved() != 0 {
		t.Errorf("%s spent, %s reserved", s.Ledger.Spent(), s.Ledger.Reserved())
	}
}

// The gate names changed checks, and conditions that nothing looked for.
func TestGateNamesWhatNothingShows(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("A"), task("B"))))
	s.Config.Review = event.ReviewOff
	s.Tasks[0].Last = &runner.Result{Tampered: []runner.Tamper{{Path: "a.sh", Why: "its own check rests on it"}}}
	s.Plan.MustNot = []plan.Condition{{Text: "data is lost"}, {Text: "it is slow", Check: &plan.Check{Run: "false"}}}
	g, _ := s.decideGate(nil).(event.GateEnded)
	want := []string{"no thorough review was made: review is off", "task A changed a.sh: its own check rests on it",
		"nothing looked for what must not be true, since it has no check: data is lost"}
	if !g.Passed || !g.ExitSignal || !slices.Equal(g.Reasons, want) {
		t.Errorf("%+v", g)
	}
	if g, _ := s.decideGate([]string{"red"}).(event.GateEnded); g.Passed || g.ExitSignal || g.Reasons[0] != "red" ||
		slices.Contains(g.Reasons, want[0]) {
		t.Errorf("refused: %+v", g)
	}
}

// A bug in an integration, a verification or a review ends as its failure, and the run goes on to its end.
func TestBugsInTheBackground(t *testing.T) {
	t.Parallel()
	for name, install := range map[string]func(*fixture, *event.Config){
		"an integration": func(b *fixture, c *event.Config) {
			c.Isolation = event.Isolated
			b.Integrator = buggyIntegrator{}
		},
		"a review": func(b *fixture, c *event.Config) {
			c.Review = event.ReviewThorough
			b.Review = func(*State, event.ReviewStarted) func(context.Context) counsel.Review {
				return func(context.Context) counsel.Review { panic("boom") }
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testConfig()
			b := newFixture(t, mustPlan(t, planText(task("A"))), c)
			install(b, &c)
			b.StartEvent = event.RunStarted{Config: c, Tasks: 1, Waves: 1}
			end := b.run(t)
			texts, err := json.Marshal(b.journal.events)
			if err != nil || end.Status == event.RunComplete || !strings.Contains(string(texts), "a bug in wavex: boom") {
				t.Errorf("ended as %+v\n%s", end, texts)
			}
		})
	}
}

type buggyIntegrator struct{}

func (buggyIntegrator) Integrate(context.Context, int, []string) (Integrated, error) { panic("boom") }

func (buggyIntegrator) Deliver(context.Context, bool) (event.DeliveryEnded, error) {
	return event.DeliveryEnded{How: "none"}, nil
}

func TestSmallFactsOfATask(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("A"), `{"id":"B","command":"make"}`)))
	if s.title("A") != "A (do A)" || s.title("gone") != "gone" {
		t.Errorf("titles %q, %q", s.title("A"), s.title("gone"))
	}
	if s.expectedCost(0) == 0 || s.expectedCost(1) != 0 {
		t.Errorf("an agent costs %s, a command %s", s.expectedCost(0), s.expectedCost(1))
	}
	for want, checks := range map[string][]plan.Check{"": nil, event.Observation: {{File: "x"}},
		event.ExecutionOutput: {{File: "x"}, {Run: "make"}}} {
		if got := checksKind(checks); got != want {
			t.Errorf("%+v show %q, want %q", checks, got, want)
		}
	}
	w := &runner.Window{Name: "five_hour", Used: 0.5}
	s.updateLogin(runner.Result{Window: w})
	if s.updateLogin(runner.Result{}); s.Window != w {
		t.Errorf("the window of the usage limit is %+v", s.Window)
	}
	lost := outcome(runner.Truncated)
	if e := onAttempt(s, 0, lost, epoch, 0); e.Note != "no readable result; one free retry" || e.Stop != nil {
		t.Errorf("a turn without a result: %+v", e)
	}
	s.Tasks[0].Turn = &runner.Turn{}
	if e := onAttempt(s, 0, lost, epoch, 0); e.Note != "one free retry" || e.Stop != nil {
		t.Errorf("checks without a result: %+v", e)
	}
	s.Tasks[0].FreeRetries = 1
	if e := onAttempt(s, 0, lost, epoch, 0); e.Stop != nil || e.TaskStop == nil || e.Status != event.Failed {
		t.Errorf("twice: %+v", e)
	}
}

// At most 20 tasks are listed that may have broken a check.
func TestSuspects(t *testing.T) {
	t.Parallel()
	var tasks []string
	for i := range 24 {
		tasks = append(tasks, task(fmt.Sprintf("t%d", i)))
	}
	s := NewState(mustPlan(t, planText(tasks...)))
	for i := range s.Tasks {
		s.Tasks[i].ChangedAt = i + 1
	}
	s.Tasks[0].PassedAt, s.Tasks[1].PassedAt = 2, 1
	for _, c := range []struct {
		change  int
		earlier bool
	}{{3, true}, {2, false}} {
		s.closing.sessionChange = c.change
		r := event.Regression{Tasks: []string{"t1", "t0", "gone"}}
		findSuspects(s, &r)
		if len(r.Since) != 20 || r.Since[0] != "t2" || r.Since[19] != "t21" || r.More != 2 || r.EarlierSession != c.earlier {
			t.Errorf("%+v", r)
		}
	}
	for i := range s.Tasks {
		s.Tasks[i].ChangedAt = 0
	}
	r := event.Regression{Tasks: []string{"t0"}}
	if findSuspects(s, &r); r.Since == nil || len(r.Since) != 0 || r.More != 0 {
		t.Errorf("nothing changed: %+v", r)
	}
}

// An output that is needed and not there is an error that names its task.
func TestMissingOutput(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, listPlan(fromX)))
	if outputs, isGroup, err := s.Outputs("x"); outputs != nil || isGroup || err == nil ||
		err.Error() != "the output of x is needed and is not there" {
		t.Errorf("%v, %v, %v", outputs, isGroup, err)
	}
}

// The third panel for the same problem is thorough. A panel learns the advice that did not help, if there was any.
func TestAdviceOfPanels(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"))))
	mustApply(t, s, event.RunStarted{Config: testConfig()})
	for _, c := range []struct {
		stuck    int
		fix      string
		thorough bool
		past     []string // after it
	}{{1, "first", false, nil}, {2, "", false, []string{"retry: first"}}, {3, "third", true, []string{"retry: first"}},
		{4, "", true, []string{"retry: first", "retry: third"}}} {
		k := &s.Tasks[0]
		k.Status, k.Stuck = event.Advising, c.stuck
		b, ok := decidePanel(s, 0).(event.CounselStarted)
		if !ok || b.Thorough != c.thorough {
			t.Errorf("stuck %d times: %+v", c.stuck, b)
		}
		mustApply(t, s, b)
		mustApply(t, s, event.CounselEnded{Task: "a", Panel: b.Panel, Verdict: counsel.Verdict{Action: "retry", Fix: c.fix}})
		if !slices.Equal(k.PastAdvice, c.past) {
			t.Errorf("stuck %d times: the past advice is %q, want %q", c.stuck, k.PastAdvice, c.past)
		}
	}
}

// A stop of the run while it brings work together ends the integration with the completed tasks.
func TestStoppedIntegration(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("A"))))
	s.Stop = event.NewStop(event.RunInterrupted, "SIGTERM", "")
	end := onIntegration(s, 1, Integrated{Completed: []string{"A"}}, errors.New("stopped"))
	if end.Wave != 1 || !slices.Equal(end.Completed, []string{"A"}) || end.Stop != nil {
		t.Errorf("%+v", end)
	}
}

// Only a gate that refuses, for the lack of proof, advises to accept that.
func TestAdviceOfTheGate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task    string
		against []string
		want    string
	}{
		"passed":        {`{"id":"a","command":"true"}`, nil, ""},
		"another cause": {`{"id":"a","command":"true"}`, []string{"x"}, ""},
		"accepted":      {`{"id":"a","subject":"A"}`, nil, ""},
		"unproven":      {`{"id":"a","subject":"A"}`, []string{"x"}, event.AdviceUnproven},
	} {
		s := NewState(mustPlan(t, planText(c.task)))
		s.Config.AcceptAssumptions = name == "accepted"
		s.move(0, event.Completed)
		g, ok := s.decideGate(c.against).(event.GateEnded)
		if told := slices.Contains(g.Reasons, "accepted without evidence: a"); !ok || g.Advice != c.want ||
			told != (name == "accepted") {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

// The costs of earlier runs serve as estimates: of all attempts and panels of a task that ended well.
func TestLearnCosts(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("A"), task("B"))))
	ended := func(id string, o runner.Outcome, cost budget.USD) event.Body {
		return event.AttemptEnded{Task: id, Result: runner.Result{Outcome: o, Cost: cost}}
	}
	panel := event.CounselEnded{Task: "A", Verdict: counsel.Verdict{Cost: 5}}
	for _, c := range []struct {
		body event.Body
		a, b budget.USD
	}{{ended("A", runner.Wrong, 10), 0, 0}, {panel, 0, 0}, {ended("A", runner.Done, 20), 35, 0},
		{ended("B", runner.Wrong, 7), 35, 0}, {event.RunStarted{}, 35, 0}, {ended("B", runner.Done, 8), 35, 8}} {
		s.Learn([]event.Event{{Body: c.body}})
		if s.costs.done["A"] != c.a || s.costs.done["B"] != c.b {
			t.Errorf("after %+v: %v", c.body, s.costs.done)
		}
	}
}

// A failure blocks neither tasks that are done nor tasks that the plan does not have.
func TestBlock(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"), task("b"), task("c"))))
	s.move(1, event.Completed)
	s.move(2, event.Advising)
	s.block("root", []string{"gone", "b", "c"})
	if len(s.queue.panels) > 0 {
		t.Errorf("panels %v are due", s.queue.panels)
	}
	for i, want := range []event.Status{event.Pending, event.Completed, event.Blocked} {
		if k := s.Tasks[i]; k.Status != want || (k.RootCause == "root") != (want == event.Blocked) {
			t.Errorf("%s is %s, because of %q", s.Plan.Tasks[i].ID, k.Status, k.RootCause)
		}
	}
}

// A criterion is found by its id while the plan has it.
func TestConditionByID(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, `{"version":1,"criteria":["one","two"],"tasks":[
		{"id":"a","subject":"s","verify":["true"],"criteria":["own"]}]}`))
	for id, want := range map[string]string{"C-1": "one", "C-2": "two", "a/C-1": "own", "C-0": "", "C-3": "", "C-x": "",
		"a/C-2": "", "b/C-1": ""} {
		if c := s.Condition(id); (c == nil) != (want == "") || c != nil && c.Text != want {
			t.Errorf("%s is %+v, want %q", id, c, want)
		}
	}
}

// A first attempt and a retry are another try, and so is the first attempt of a task whose state came from elsewhere.
func TestTries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		next        string
		tries, want int
	}{{"first", 0, 1}, {"retry", 1, 2}, {"again", 1, 1}, {"again", 0, 1}} {
		s := NewState(mustPlan(t, planText(task("a"))))
		mustApply(t, s, event.RunStarted{Config: testConfig()})
		s.Tasks[0].Next, s.Tasks[0].Tries = c.next, c.tries
		if b, _ := decideAttemptStart(s, 0, []int{0}); b.(event.AttemptStarted).Try != c.want {
			t.Errorf("%+v: %+v", c, b)
		}
		s.Tasks[0].Turn, s.Tasks[0].Attempts = &runner.Turn{}, 2
		if b := decideChecks(s, 0).(event.AttemptStarted); b.Attempt != 3 || b.Try != c.tries {
			t.Errorf("%+v: the checks are %+v", c, b)
		}
	}
}

// The settings of a task decide about its retries and its model, unless a flag overrides them.
func TestSettingsOfATask(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("A"), task("B"))))
	s.Config.MaxRetries, s.Plan.Defaults.Model = 3, "small"
	none := 0
	s.Plan.Tasks[0].Settings = &plan.Settings{MaxRetries: &none, Model: "large"}
	if s.Retries(0) != 0 || s.Retries(1) != 3 || s.model(0) != "large" || s.model(1) != "small" {
		t.Errorf("%d and %d retries, %s and %s", s.Retries(0), s.Retries(1), s.model(0), s.model(1))
	}
	s.Config.ForceRetries = true
	if s.Retries(0) != 3 {
		t.Errorf("with a flag %d retries", s.Retries(0))
	}
}

// Work that was open when wavex ended is ended at its cap, as interrupted. An integration needs no end.
func TestEndsOfOpenWork(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("A"))))
	for key, b := range map[string]event.Body{
		panelKey("A", 2):    event.CounselStarted{Task: "A", Panel: 2, Cap: 5},
		precheckKey("A", 3): event.PrecheckStarted{Task: "A", Key: "k", N: 3, Cap: 7},
		criteriaKey(4):      event.CriteriaStarted{Round: 4, Wave: 1, Cap: 11},
		reviewKey(5):        event.ReviewStarted{N: 5, Mode: counsel.Light, Wave: 1, Round: 2, Cap: 13},
	} {
		s.openWork[key] = &openJob{job: jobOf(b), start: b}
	}
	seen := 0
	for _, b := range s.SettleUnfinished(atCap{}) {
		seen++
		ok := false
		switch b := b.(type) {
		case event.CounselEnded:
			ok = b.Task == "A" && b.Panel == 2 && b.Verdict.Cost == 5 && b.Verdict.Unavailable != "" && b.Again &&
				b.Verdict.Failure == runner.Interrupted
		case event.PrecheckEnded:
			ok = b.Task == "A" && b.Key == "k" && b.N == 3 && b.Challenge.Cost == 7 &&
				b.Challenge.Failure == runner.Interrupted && b.Challenge.Error != ""
		case event.CriteriaEnded:
			ok = b.Round == 4 && b.Wave == 1 && b.Cost == 11 && b.Error != ""
		case event.ReviewEnded:
			ok = b.N == 5 && b.Mode == counsel.Light && b.Wave == 1 && b.Round == 2 && b.Review.Cost == 13 &&
				b.Review.Failure == runner.Interrupted && b.Review.Error != ""
		}
		if !ok {
			t.Errorf("%T %+v", b, b)
		}
	}
	if seen != 4 {
		t.Errorf("%d ends", seen)
	}
}

// The culprit is the task with a failed check that changed files last. A check that was not made shows nothing about
// any task.
func TestCheckedTogether(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("A"), task("B"), task("C"))))
	s.Tasks[0].ChangedAt, s.Tasks[1].ChangedAt = 1, 2
	b := event.IntegrationStarted{Wave: 1, Tasks: []string{"A", "B", "C"}}
	checks := []event.Recheck{{N: 1, Tasks: []string{"A", "B"}}, {N: 2, Tasks: []string{"B"}},
		{N: 1, Tasks: []string{"C"}}}
	red, green := RecheckResult{Check: "make", Reason: "exit code 1", Output: "no"}, RecheckResult{Passed: true}
	got, err := checkedTogether(s, b, checks, []RecheckResult{red, red, green})
	if err != nil || len(got.Culprits) != 1 || !slices.Equal(got.Completed, []string{"C"}) || got.Note != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	if c := got.Culprits[0]; c.Task != "B" || c.Kind != "red" || c.Detail != "no" ||
		!strings.HasPrefix(c.Reason, "check failed: make: exit code 1") {
		t.Errorf("culprit %+v", c)
	}
	flaky := RecheckResult{Check: "make", Passed: true, Flaky: true}
	got, err = checkedTogether(s, b, checks, []RecheckResult{flaky, green, green})
	if err != nil || len(got.Completed) != 3 || got.Note != "passed only when run again: make" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, results := range [][]RecheckResult{{green, green}, {green, green, {Skipped: true}}} {
		got, err = checkedTogether(s, b, checks, results)
		if err == nil || err.Error() != "check 1 of C was not run" || len(got.Completed) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// A new session tries again what failed too often in the last one: the verification, and a task with transient errors.
func TestResumeForgetsFailures(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, `{"version":1,"mustNot":[{"text":"no","check":"false"}],"tasks":[`+task("a")+`]}`)
	s := NewState(p)
	mustApply(t, s, event.RunStarted{Config: testConfig()})
	for n := range maxUnanswered {
		begun, ok := decideNext(s, epoch).(event.CriteriaStarted)
		if !ok || !begun.Before || begun.Round != n+1 {
			t.Fatalf("verification %d: %+v", n+1, begun)
		}
		mustApply(t, s, begun)
		mustApply(t, s, event.CriteriaEnded{Round: begun.Round, Error: "odd"})
	}
	if body := decideNext(s, epoch); body.Type() != "draining" {
		t.Fatalf("after %d errors: %T", maxUnanswered, body)
	}
	s.Tasks[0].SameError, s.Tasks[0].TransientFailures, s.Tasks[0].NotBefore = 2, 3, epoch.Add(time.Hour)
	mustApply(t, s, event.RunResumed{Config: testConfig(), Retried: []string{}})
	if _, ok := decideNext(s, epoch).(event.CriteriaStarted); !ok {
		t.Errorf("after the resume: %T", decideNext(s, epoch))
	}
	if one := s.Tasks[0]; one.SameError != 2 || one.TransientFailures != 0 || !one.NotBefore.IsZero() {
		t.Errorf("after the resume: %+v", one)
	}
}

// After a rollback a criterion is known to have failed if a check found that, before or after the work.
func TestCriteriaAfterARollback(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"))))
	s.Assessment.Criteria = []event.Criterion{{ID: "C-1", Check: "x", Met: true}, {ID: "C-2", Check: "x"}, {ID: "C-3"},
		{ID: "C-4", Check: "x", Met: true, WasUnmet: true}}
	m := simulation{s: s}
	testrepo.Must(t, m.apply(event.RolledBack{}))
	for i, want := range []bool{false, true, false, true} {
		if c := s.Assessment.Criteria[i]; c.WasUnmet != want || c.Met || c.Check != "" {
			t.Errorf("%+v", c)
		}
	}
}

// Verified work in a shared directory waits for the attempts that run there.
func TestSharedIntegrationWaits(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"), task("b"))))
	mustApply(t, s, event.RunStarted{Config: testConfig()})
	for i, id := range []string{"a", "b"} {
		mustApply(t, s, event.AttemptStarted{Task: id, Key: s.Tasks[i].Key, Wave: 1, Attempt: 1, Try: 1})
	}
	for i, wait := range []bool{true, false} {
		mustApply(t, s, onAttempt(s, i, runner.Result{Outcome: runner.Done, Beside: true}, epoch, 0))
		if b := decideSharedIntegration(s, true); (b == nil) != wait {
			t.Errorf("after %d ends: %+v", i+1, b)
		}
	}
}

// A task of an earlier run is due again if its check fails, and undecided if its check was not made.
func TestEarlierWorkWithoutItsChecks(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(task("A"), task("B"), task("C")))
	s := NewState(p)
	b := event.CriteriaStarted{Round: 1, Earlier: []string{"A", "B", "C"}}
	for _, id := range b.Earlier {
		b.Rechecks = append(b.Rechecks, event.Recheck{N: 1, Tasks: []string{id}})
	}
	c := testConfig()
	c.Limits.Wall = time.Minute
	mustApply(t, s, event.RunStarted{Config: c,
		Earlier: earlierRun(p, "A", "B", "C")})
	if d, _ := decideNext(s, epoch.Add(time.Hour)).(event.Draining); d.Stop.Limit != budget.LimitWall {
		t.Errorf("after the deadline: %+v", d)
	}
	if got, ok := decideNext(s, epoch).(event.CriteriaStarted); !ok || !slices.Equal(got.Earlier, b.Earlier) {
		t.Fatalf("decided %+v", got)
	}
	e := event.CriteriaEnded{Round: 1}
	onEarlier(s, b, Verification{Rechecks: []RecheckResult{{Passed: true}, {Check: "true", Reason: "exit code 1"}}}, &e)
	if !slices.Equal(e.UpToDate.Tasks, []string{"A"}) || len(e.UpToDate.Due) != 1 || e.UpToDate.Due[0].Task != "B" ||
		e.UpToDate.Due[0].Reason != "check failed: true: exit code 1" {
		t.Fatalf("%+v", e.UpToDate)
	}
	mustApply(t, s, b, e)
	if s.earlier.undecided != 1 || s.closing.failedVerifications != 1 ||
		s.closing.verificationError != "some checks were not made" ||
		!s.Tasks[0].UpToDate() || s.Tasks[1].Earlier != nil || !s.Tasks[2].undecided() {
		t.Errorf("%d undecided after %d failures (%s): %+v", s.earlier.undecided, s.closing.failedVerifications,
			s.closing.verificationError, s.Tasks)
	}
}

// Journals of earlier versions have tasks that joined a run from its task list. A failed task blocks those that
// wait for it, and those that wait for them. Unlike a repair, such a task needs evidence of its own.
func TestTasksThatJoinedARun(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("a"), task("x"))))
	key := s.Tasks[0].Key
	mustApply(t, s, event.RunStarted{Config: testConfig()}, event.WaveStarted{Wave: 1},
		event.AttemptStarted{Task: "a", Key: key, Attempt: 1}, event.AttemptEnded{Task: "a", Key: key, Attempt: 1,
			Status: event.Failed, Result: runner.Result{Outcome: runner.Wrong}})
	joined := event.TasksAdded{Wave: 2, Origin: event.FromList}
	for id, text := range map[string]string{"b": task("b", "a"), "d": task("d", "x")} {
		joined.Tasks = append(joined.Tasks, event.Added{ID: id, Task: []byte(text)})
	}
	joined.Tasks = append(joined.Tasks, event.Added{ID: "c", Task: []byte(`{"id":"c","subject":"C","blockedBy":["b"]}`)})
	mustApply(t, s, joined)
	for id, want := range map[string]event.Status{"b": event.Blocked, "c": event.Blocked, "d": event.Pending} {
		i, ok := s.Index(id)
		if !ok || s.Tasks[i].Status != want || (want == event.Blocked) != (s.Tasks[i].RootCause == "a") {
			t.Errorf("%s is %s because of %q, want %s", id, s.Tasks[i].Status, s.Tasks[i].RootCause, want)
		}
	}
	if s.Counts.Blocked != 2 || s.Left(0) != 2 { // x and d
		t.Errorf("%+v, %d left", s.Counts, s.Left(0))
	}
	against, _ := unproven(s.evidence(false))
	if !slices.Contains(against, "nothing shows that task d is done: no attempt at it was made") {
		t.Errorf("against it speaks %q", against)
	}
}
