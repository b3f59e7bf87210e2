package scheduler

import (
	"context"
	"testing"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/runner"
)

// spareFixture returns a loop with tasks without blockers.
func spareFixture(t *testing.T, c event.Config, tasks ...string) *fixture {
	t.Helper()
	var list []string
	for _, id := range tasks {
		list = append(list, task(id))
	}
	return newFixture(t, mustPlan(t, planText(list...)), c)
}

func spareConfig() event.Config {
	c := testConfig()
	c.Parallel, c.Spares = 2, 1
	return c
}

// A record of a spare for which there is no money is none of this run.
func TestSpareWithoutMoney(t *testing.T) {
	t.Parallel()
	c := testConfig()
	c.Limits.USD = budget.Dollar
	s := NewState(mustPlan(t, planText(task("a"))))
	for cap, fits := range map[budget.USD]bool{budget.Dollar: true, 2 * budget.Dollar: false} {
		s := NewState(s.Plan)
		err := s.apply(event.Event{Seq: 1, Body: event.RunStarted{Config: c}})
		if err == nil {
			err = s.apply(event.Event{Seq: 2, Body: event.SpareStarted{Task: "a", Attempt: 1, Cap: cap}})
		}
		if (err == nil) != fits || len(s.openSpares) > 0 != fits {
			t.Errorf("%s: %v, %+v", cap, err, s.openSpares)
		}
	}
}

// A spare is started for the next task when all slots are taken. Its attempt gets the values of the
// spare, and all attempts together fit the budget.
func TestSpareIsOfTheNextTask(t *testing.T) {
	t.Parallel()
	c := spareConfig()
	c.Limits.USD = 3 * budget.Dollar
	b := spareFixture(t, c, "a", "b", "c")
	if end := b.run(t); end.Status != "complete" {
		t.Fatalf("%+v", end)
	}
	spares := of[event.SpareStarted](b.journal)
	if len(spares) != 1 || spares[0].Task != "c" || spares[0].Slot != 2 || spares[0].Cap != budget.Dollar ||
		len(of[event.SpareEnded](b.journal)) != 0 {
		t.Fatalf("%+v", spares)
	}
	for _, r := range b.runner.calls {
		if r.Cap != budget.Dollar || r.Task == "c" && r.Slot != 2 {
			t.Errorf("%s: cap %s, slot %d", r.Task, r.Cap, r.Slot)
		}
	}
}

// No process is started ahead for a task whose group has as many tasks at work as it may. The next task that can start
// gets it with the eager schedule; without, the spare waits for the first of the queue.
func TestSpareWithinParallelOfGroup(t *testing.T) {
	t.Parallel()
	for schedule, want := range map[event.Schedule]string{event.Eager: "b", event.Waves: ""} {
		list := `{"id":"g","subject":"x","verify":["true"],"foreach":{"items":[1,2,3],"parallel":1}}`
		s := NewState(mustPlan(t, planText(list, task("a"), task("b"))))
		c := spareConfig()
		c.Schedule = schedule
		m := simulation{s: s}
		if err := m.apply(event.RunStarted{Config: c}); err != nil {
			t.Fatal(err)
		}
		for body := decideNext(s, s.Time); body != nil; body = decideNext(s, s.Time) {
			if err := m.apply(body); err != nil {
				t.Fatal(err)
			}
		}
		got, ok := decideSpare(s, s.Time).(event.SpareStarted)
		if got.Task != want || ok != (want != "") || s.groups["g"].running != 1 || s.Running() != 2 {
			t.Errorf("%s: the spare is of %q, want %q; %d tasks run", schedule, got.Task, want, s.Running())
		}
	}
}

// While an agent is still starting, no other process is started ahead.
func TestSpareWaitsForTheAPI(t *testing.T) {
	t.Parallel()
	b := spareFixture(t, spareConfig(), "a", "b", "c")
	asking := make(chan string)
	b.AwaitingAPI = asking
	b.runner.gates["a"], b.runner.gates["b"], b.runner.started = make(chan struct{}), make(chan struct{}),
		make(chan string, 9)
	done := make(chan event.RunEnded)
	go func() { done <- b.run(t) }()
	<-b.runner.started
	<-b.runner.started
	spares := func() int {
		b.journal.mu.Lock()
		defer b.journal.mu.Unlock()
		return len(of[event.SpareStarted](b.journal))
	}
	asking <- "a"
	if n := spares(); n != 0 {
		t.Errorf("%d spares before b waits for the API", n)
	}
	asking <- "b"
	asking <- "b" // received after the loop has decided
	if n := spares(); n != 1 {
		t.Errorf("%d spares after that", n)
	}
	close(b.runner.gates["a"])
	close(b.runner.gates["b"])
	<-done
}

// The reservation of a spare never changes another decision: a panel that lacks the money gets it
// after the spare has ended.
func TestSpareEndsForAPanel(t *testing.T) {
	t.Parallel()
	c := spareConfig()
	c.Limits.USD = 3 * budget.Dollar
	b := spareFixture(t, c, "a", "b", "c")
	for i := range b.State.Plan.Tasks {
		b.State.Plan.Tasks[i].Estimate.USD = budget.Dollar / 2 // so that all may start
	}
	hold := make(chan struct{})
	b.runner.gates["b"] = hold
	fail := wrong("no")
	fail.Cost = budget.Dollar // the whole reservation
	b.runner.results["a"] = []runner.Result{fail, {Outcome: runner.Done}}
	b.Views = []View{viewOf(func(e event.Event) {
		if _, ok := e.Body.(event.CounselStarted); ok {
			close(hold)
		}
		if _, ok := e.Body.(event.CounselSkipped); ok {
			t.Error("no panel, for the money of a spare")
			close(hold)
		}
	})}
	b.run(t)
	if n := len(of[event.SpareEnded](b.journal)); n == 0 {
		t.Error("the spare stays")
	}
}

// A run that is stopped while a spare waits ends without it. A resume closes a spare that was open
// when wavex was killed, at no cost.
func TestSpareEndsWithItsSession(t *testing.T) {
	t.Parallel()
	b := spareFixture(t, spareConfig(), "a", "b", "c")
	b.runner.gates["a"], b.runner.gates["b"] = make(chan struct{}), make(chan struct{})
	b.Views = []View{viewOf(func(e event.Event) {
		if _, ok := e.Body.(event.SpareStarted); ok {
			go func() { b.signals <- Signal{Name: "SIGTERM", Code: 143, Interrupt: true} }()
		}
	})}
	if end := b.run(t); end.ExitCode != 143 || len(of[event.SpareEnded](b.journal)) != 1 ||
		b.State.Ledger.Reserved() != 0 {
		t.Fatalf("%+v, %d ended", end, len(of[event.SpareEnded](b.journal)))
	}
	var past []event.Event
	for _, e := range b.journal.events {
		past = append(past, e)
		if _, ok := e.Body.(event.SpareStarted); ok {
			break
		}
	}
	again := spareFixture(t, spareConfig(), "a", "b", "c")
	if err := again.State.Replay(past); err != nil {
		t.Fatal(err)
	}
	again.StartEvent = event.RunResumed{Config: spareConfig()}
	asked := 0
	again.Recover = func(context.Context) Recovery {
		asked++
		return free{}
	}
	if end := again.run(t); end.Status != "complete" || asked != 1 || again.State.Ledger.Spent() != 3000 {
		t.Fatalf("%+v, %d were closed", end, asked)
	}
}

// Each spare is of another task.
func TestSparesOfTwoTasks(t *testing.T) {
	t.Parallel()
	c := spareConfig()
	c.Spares = 2
	s := NewState(mustPlan(t, planText(task("a"), task("b"), task("c"), task("d"), task("e"))))
	m := simulation{s: s}
	body := event.Body(event.RunStarted{Config: c})
	for ; body != nil; body = decideNext(s, epoch) {
		if err := m.apply(body); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"c", "d"} {
		b, _ := decideSpare(s, epoch).(event.SpareStarted)
		if b.Task != want {
			t.Fatalf("the spare is of %q, want %s", b.Task, want)
		}
		if err := m.apply(b); err != nil {
			t.Fatal(err)
		}
	}
	if got := obsoleteSpares(s, epoch); len(got) > 0 {
		t.Errorf("obsolete are %+v", got)
	}
	s.Tasks[2].Attempts = 1 // its first attempt was made without the spare
	if got := obsoleteSpares(s, epoch); len(got) != 1 || got[0].Task != "c" {
		t.Errorf("obsolete are %+v, want the spare of c", got)
	}
}

// The end of an attempt ends a process that it did not take.
func TestReleasedSpare(t *testing.T) {
	t.Parallel()
	cancelled := false
	p := &spareProcess{assigned: make(chan struct{}), cancel: func() { cancelled = true }, ended: make(chan struct{})}
	close(p.ended)
	r := &running{spares: map[string]*spareProcess{attemptKey("a", 1): p}}
	if _, release := r.assignSpare(event.AttemptStarted{Task: "a", Attempt: 1}); len(r.spares) > 0 {
		t.Error("another attempt may take it")
	} else if release(); !cancelled {
		t.Error("it goes on")
	}
}

// free is a Recovery of work that cost nothing.
type free struct{ atCap }

func (free) Attempt(event.AttemptStarted) runner.Result {
	return runner.Result{Outcome: runner.Interrupted}
}
