package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/runner"
)

// gatedIntegrator is an Integrator that reports each call and waits for the test before it ends.
type gatedIntegrator struct {
	fakeIntegrator
	begun chan []string
	end   chan struct{}
}

func (g *gatedIntegrator) Integrate(ctx context.Context, wave int, tasks []string) (Integrated, error) {
	g.begun <- tasks
	select {
	case <-g.end:
	case <-ctx.Done():
		return Integrated{}, context.Cause(ctx)
	}
	return g.fakeIntegrator.Integrate(ctx, wave, tasks)
}

// A verified task is integrated while another one runs, and with the eager schedule its dependent starts
// as soon as it is integrated.
func TestIntegrationBesideAttempts(t *testing.T) {
	t.Parallel()
	for _, schedule := range []event.Schedule{event.Waves, event.Eager} {
		g := &gatedIntegrator{begun: make(chan []string, 9), end: make(chan struct{}, 9)}
		b := isolated(t, nil, func(c *event.Config) { c.Schedule = schedule }, task("a"), task("slow"), task("c", "a"))
		b.Integrator = g
		b.runner.gates["slow"], b.runner.started = make(chan struct{}), make(chan string, 9)
		ended := b.start(t)
		if first := <-g.begun; !slices.Equal(first, []string{"a"}) {
			t.Fatalf("%s: integrates %v beside slow", schedule, first)
		}
		g.end <- struct{}{}
		started := []string{<-b.runner.started, <-b.runner.started}
		if schedule == event.Eager {
			started = append(started, <-b.runner.started)
			if <-g.begun; !slices.Contains(started, "c") { // c is integrated beside slow as well
				t.Errorf("started %v, not c", started)
			}
			g.end <- struct{}{}
		}
		close(b.runner.gates["slow"])
		for range 2 {
			g.end <- struct{}{}
		}
		if end := <-ended; end.Status != event.RunComplete {
			t.Errorf("%s: ended as %+v", schedule, end)
		}
	}
}

// A verified task of an early wave that no task waits for does not hold back one of a later wave.
func TestIntegrationOfTheWaveThatIsDue(t *testing.T) {
	t.Parallel()
	s := NewState(mustPlan(t, planText(task("x"), task("y"), task("sink"), task("d", "x"), task("e", "d"))))
	c := testConfig()
	c.Isolation, c.Schedule = event.Isolated, event.Eager
	mustApply(t, s, event.RunStarted{Config: c}, event.WaveStarted{Wave: 1, Of: 3})
	verify := func(id string) {
		i, _ := s.Index(id)
		mustApply(t, s, event.AttemptStarted{Task: id, Key: s.Tasks[i].Key, Wave: s.Tasks[i].Wave, Attempt: 1, Try: 1})
		mustApply(t, s, onAttempt(s, i, runner.Result{Outcome: runner.Done}, epoch, 0))
	}
	verify("x")
	verify("y")
	mustApply(t, s, event.IntegrationStarted{Wave: 1, Tasks: []string{"x", "y"}})
	mustApply(t, s, event.IntegrationEnded{Wave: 1, Completed: []string{"x", "y"}})
	verify("sink")
	if ev := decideIntegration(s, false); ev != nil {
		t.Errorf("no task waits for sink, and %+v begins", ev)
	}
	verify("d")
	ev, _ := decideIntegration(s, false).(event.IntegrationStarted)
	if ev.Wave != 2 || !slices.Equal(ev.Tasks, []string{"d"}) {
		t.Errorf("e waits for d, and %+v begins", ev)
	}
	if ev, _ := decideIntegration(s, true).(event.IntegrationStarted); ev.Wave != 1 {
		t.Errorf("nothing runs, and %+v begins", ev)
	}
}

// A second integration waits for the first, and takes all that was verified meanwhile.
func TestIntegrationsAreBatches(t *testing.T) {
	t.Parallel()
	var tasks []string
	for i := range 24 {
		tasks = append(tasks, task(fmt.Sprintf("t%02d", i)))
	}
	g := &gatedIntegrator{begun: make(chan []string, 99), end: make(chan struct{}, 99)}
	b := isolated(t, nil, func(c *event.Config) { c.Limits.Iterations = 99 }, tasks...)
	b.Integrator = g
	ended := b.start(t)
	for range 24 {
		g.end <- struct{}{}
	}
	if end := <-ended; end.Tasks.Completed != 24 {
		t.Fatalf("ended as %+v", end)
	}
	checks, settled := 0, 0
	for n, call := range g.calls {
		if settled += len(call); n > 0 && n < len(g.calls)-1 && len(call) < settled-len(call) {
			t.Errorf("integration %d takes %d tasks after %d", n+1, len(call), settled-len(call))
		}
		checks += settled
	}
	if settled != 24 || checks > 3*24 {
		t.Errorf("%d tasks, and %d checks of tasks", settled, checks)
	}
}

// A run that pauses at a limit integrates its verified tasks. An interrupted run leaves them verified.
func TestIntegrationAtAStop(t *testing.T) {
	t.Parallel()
	f := &fakeIntegrator{}
	b := isolated(t, f, func(c *event.Config) { c.Parallel, c.Limits.Iterations = 1, 2 },
		task("a"), task("b"), task("c"))
	if end := b.run(t); end.ExitCode != event.ExitLimit || end.Tasks.Completed != 2 {
		t.Errorf("at the limit: ended as %+v, integrated %v", end, f.calls)
	}
	g := &gatedIntegrator{begun: make(chan []string, 9), end: make(chan struct{}, 9)}
	b = isolated(t, nil, nil, task("a"), task("b"))
	b.Integrator = g
	b.runner.gates["b"] = make(chan struct{})
	ended := b.start(t)
	<-g.begun
	b.signals <- Signal{Name: "SIGTERM", Code: 143, Interrupt: true}
	if end := <-ended; end.ExitCode != 143 || end.Tasks.Completed != 0 || len(g.begun) > 0 {
		t.Errorf("interrupted: ended as %+v", end)
	}
}

// An integration that fails after a pause is not repeated in this session.
func TestFailedIntegrationAtAPause(t *testing.T) {
	t.Parallel()
	f := &fakeIntegrator{err: errors.New("disk full")}
	b := isolated(t, f, func(c *event.Config) { c.Parallel, c.Limits.Iterations = 1, 1 }, task("a"), task("b"))
	b.runner.gates["a"] = make(chan struct{})
	close(b.runner.gates["a"])
	end := b.run(t)
	if end.ExitCode != event.ExitBlocked || len(f.calls) != 1 || !strings.Contains(end.Reason, "disk full") {
		t.Errorf("ended as %+v after %d integrations", end, len(f.calls))
	}
}

// The question after a wave waits for a free worker: with the eager schedule the wave may end by an integration
// while all workers have attempts.
func TestApprovalWhileAllWorkersAreBusy(t *testing.T) {
	t.Parallel()
	g := &gatedIntegrator{begun: make(chan []string, 9), end: make(chan struct{}, 9)}
	b := isolated(t, nil, func(c *event.Config) {
		c.Schedule, c.Attended, c.Gates, c.Parallel = event.Eager, true, event.GatesWaves, 1
	}, task("x"), task("y"), task("e", "x"))
	b.Integrator, b.Approver = g, agreeing{}
	b.runner.started, b.runner.gates["e"] = make(chan string, 9), make(chan struct{})
	b.Runner = turnReporter{b.runner}
	ended := b.start(t)
	g.end <- struct{}{} // x
	for task := ""; task != "e"; {
		task = <-b.runner.started
	}
	for range 2 {
		<-g.begun
	}
	g.end <- struct{}{} // y, while e runs
	close(b.runner.gates["e"])
	g.end <- struct{}{}
	if end := <-ended; end.Status != event.RunComplete {
		t.Errorf("ended as %+v", end)
	}
}

// turnReporter is a Runner that reports the end of each turn.
type turnReporter struct{ *scriptedRunner }

func (r turnReporter) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	res := r.scriptedRunner.Attempt(ctx, req, runner.Hooks{})
	if err := hooks.TurnEnded(runner.Turn{Result: res}); err != nil {
		res.Outcome = runner.Interrupted
	}
	return res
}

type agreeing struct{}

func (agreeing) Confirm(context.Context, string) (bool, error) { return true, nil }

// Two tasks that write one file: the second begins when the work of the first is integrated, also in a resumed run.
func TestFilesAreLockedUntilIntegrated(t *testing.T) {
	t.Parallel()
	file := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"subject":"x","verify":["true"],"files":[{"path":"same","action":"modify"}]}`, id)
	}
	f := &fakeIntegrator{}
	b := isolated(t, f, nil, file("a"), file("b"), task("c"))
	if end := b.run(t); end.Status != event.RunComplete {
		t.Fatalf("ended as %+v", end)
	}
	inOrder := func(events []event.Event) {
		t.Helper()
		integrated := false
		for _, e := range events {
			switch e := e.Body.(type) {
			case event.IntegrationEnded:
				integrated = integrated || slices.Contains(e.Completed, "a")
			case event.AttemptStarted:
				if e.Task == "b" && !integrated {
					t.Error("b began without the file of a")
				}
			}
		}
	}
	inOrder(b.journal.events)
	// The journal up to the end of a's attempt: the resume integrates a first.
	at := slices.IndexFunc(b.journal.events, func(e event.Event) bool {
		end, ok := e.Body.(event.AttemptEnded)
		return ok && end.Task == "a"
	})
	b.journal.events = b.journal.events[:at+1]
	again := isolatedNext(t, &fakeIntegrator{}, b)
	if end := again.run(t); end.Status != event.RunComplete {
		t.Fatalf("the resume ended as %+v", end)
	}
	inOrder(again.journal.events)
}

// An integration that finds a culprit beside attempts makes it run again, ahead of the end of its wave.
func TestACulpritRunsAgainBesideAttempts(t *testing.T) {
	t.Parallel()
	f := &fakeIntegrator{blame: map[string]int{"a": 1}}
	b := isolated(t, f, func(c *event.Config) { c.Counsel = false }, task("a"), task("slow"))
	b.runner.gates["slow"], b.runner.started = make(chan struct{}), make(chan string, 9)
	ended := b.start(t)
	count := map[string]int{}
	for range 3 {
		count[<-b.runner.started]++
	}
	close(b.runner.gates["slow"])
	if end := <-ended; end.Status != event.RunComplete || count["a"] != 2 {
		t.Errorf("ended as %+v, started %v", end, count)
	}
}
