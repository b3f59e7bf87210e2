package scheduler

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
)

func TestWavesRunBehindABarrier(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(task("a"), task("b"), task("c", "a"), task("d", "b", "c")))
	b := newFixture(t, p, testConfig())
	b.runner.gates["b"] = make(chan struct{})
	b.runner.started = make(chan string)
	done := b.start(t)
	first := []string{<-b.runner.started, <-b.runner.started}
	slices.Sort(first)
	if !slices.Equal(first, []string{"a", "b"}) {
		t.Fatalf("the first wave started %v", first)
	}
	// a is done, but b holds the barrier: c may not start before b ends.
	close(b.runner.gates["b"])
	if third := <-b.runner.started; third != "c" {
		t.Fatalf("after the barrier %s started, not c", third)
	}
	if fourth := <-b.runner.started; fourth != "d" {
		t.Fatalf("then %s started, not d", fourth)
	}
	end := <-done
	if end.Status != "complete" || end.ExitCode != 0 || end.Tasks.Completed != 4 || end.Iterations != 4 {
		t.Fatalf("the run ended as %+v", end)
	}
	waves := of[event.WaveStarted](b.journal)
	if len(waves) != 3 || waves[2].Wave != 3 || waves[2].Of != 3 {
		t.Fatalf("the waves were %+v", waves)
	}
	got := steps(b.journal)
	if slices.Index(got, "c 1 starts (first)") < slices.Index(got, "b completed") {
		t.Fatalf("c started before b ended:\n%s", strings.Join(got, "\n"))
	}
}

// boundedRunner counts the attempts that run at once.
type boundedRunner struct {
	runner.Runner
	running, most atomic.Int32
}

func (r *boundedRunner) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	if n := r.running.Add(1); n > r.most.Load() {
		r.most.Store(n)
	}
	defer r.running.Add(-1)
	runtime.Gosched()
	return r.Runner.Attempt(ctx, req, hooks)
}

func TestParallelIsBounded(t *testing.T) {
	t.Parallel()
	var tasks []string
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		tasks = append(tasks, task(id))
	}
	c := testConfig()
	c.Parallel = 3
	b := newFixture(t, mustPlan(t, planText(tasks...)), c)
	bounded := &boundedRunner{Runner: b.Runner}
	b.Runner = bounded
	if end := b.run(t); end.Status != "complete" || bounded.most.Load() > 3 {
		t.Fatalf("ended as %+v, %d attempts at once with -j 3", end, bounded.most.Load())
	}
	for _, s := range of[event.AttemptStarted](b.journal) {
		if s.Slot < 0 || s.Slot > 2 {
			t.Fatalf("slot %d with -j 3", s.Slot)
		}
	}
}

// A sequential wave runs one task after the other in plan order; other waves run tasks at the same
// time. A retry keeps its turn.
func TestSequentialWavesTakeTurns(t *testing.T) {
	t.Parallel()
	for _, schedule := range []event.Schedule{event.Waves, event.Eager} {
		t.Run(string(schedule), func(t *testing.T) {
			t.Parallel()
			member := func(id string, wave int, blockedBy string) string {
				return fmt.Sprintf(`{"id":%q,"subject":"x","verify":["true"],"wave":%d,"blockedBy":[%s]}`, id, wave, blockedBy)
			}
			text := planText(member("a", 1, ""), member("b", 1, ""), member("c", 2, `"a"`), member("d", 2, `"b"`),
				member("e", 2, `"a"`))
			p := mustPlan(t, strings.Replace(text, `"tasks"`, `"waves":[{"wave":2,"parallel":false}],"tasks"`, 1))
			c := testConfig()
			c.Schedule = schedule
			b := newFixture(t, p, c)
			b.runner.results["c"] = []runner.Result{wrong("no"), {Outcome: runner.Done}}
			if end := b.run(t); end.Status != "complete" {
				t.Fatalf("ended as %+v", end)
			}
			running := map[string]bool{}
			var order []string
			for _, e := range b.journal.events {
				switch x := e.Body.(type) {
				case event.AttemptStarted:
					if x.Wave == 2 {
						order = append(order, x.Task)
						if running["c"] || running["d"] || running["e"] {
							t.Fatalf("%s started beside another task of a sequential wave", x.Task)
						}
					}
					running[x.Task] = true
				case event.AttemptEnded:
					delete(running, x.Task)
				}
			}
			if !slices.Equal(order, []string{"c", "c", "d", "e"}) {
				t.Fatalf("the sequence was %v", order)
			}
			if started := of[event.AttemptStarted](b.journal); started[0].Wave != 1 || started[1].Wave != 1 {
				t.Fatal("the first wave is not sequential, but its tasks did not start together")
			}
		})
	}
}

// An obstacle outside of the state stops the run before anything else starts; what runs goes on to its end.
func TestObstacleStopsStarts(t *testing.T) {
	t.Parallel()
	b := newFixture(t, mustPlan(t, planText(task("a"), task("b", "a"))), testConfig())
	asked := 0
	b.Obstacle = func() *event.Stop {
		if asked++; len(of[event.AttemptStarted](b.journal)) == 0 {
			return nil
		}
		return event.NewStop(event.RunBlocked, "the project was moved", "move it back")
	}
	end := b.run(t)
	if end.Status != event.RunBlocked || end.ExitCode != 5 || end.Reason != "the project was moved" {
		t.Errorf("ended as %+v", end)
	}
	started, ended := of[event.AttemptStarted](b.journal), of[event.AttemptEnded](b.journal)
	if len(started) != 1 || len(ended) != 1 || len(of[event.Draining](b.journal)) != 1 || asked < 2 {
		t.Errorf("%d started, %d ended, asked %d times", len(started), len(ended), asked)
	}
}

type runnerFunc func(hooks runner.Hooks) runner.Result

func (f runnerFunc) Attempt(_ context.Context, _ runner.Request, hooks runner.Hooks) runner.Result {
	return f(hooks)
}

// What fails after an obstacle came was interrupted, and its checks are left to a resume.
func TestObstacleTakesTheBlame(t *testing.T) {
	t.Parallel()
	b := newFixture(t, mustPlan(t, planText(task("a"))), testConfig())
	var there atomic.Bool
	b.Obstacle = func() *event.Stop {
		if !there.Load() {
			return nil
		}
		return event.NewStop(event.RunBlocked, "the project was moved", "move it back")
	}
	b.Runner = runnerFunc(func(hooks runner.Hooks) runner.Result {
		there.Store(true)
		if err := hooks.TurnEnded(runner.Turn{}); err == nil || err.Error() != "the project was moved" {
			t.Errorf("the turn ends with %v", err)
		}
		return runner.Result{Outcome: runner.Wrong, Reason: "no such directory", Signature: "x", Contained: true,
			Tampered: []runner.Tamper{{Path: "plan.json", Why: runner.WhyPlan}}}
	})
	end := b.run(t)
	ended := of[event.AttemptEnded](b.journal)
	if end.ExitCode != 5 || len(ended) != 1 {
		t.Fatalf("ended as %+v with %d attempts", end, len(ended))
	}
	if res := ended[0].Result; res.Outcome != runner.Interrupted || res.Reason != "stopped: the project was moved" ||
		res.Signature != "" || res.Tampered != nil {
		t.Errorf("the attempt is %+v", res)
	}
}

func TestSameFileTasksTakeTurns(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, `{"version":1,"tasks":[
		{"id":"a","subject":"a","verify":["true"],"files":[{"path":"x.go","action":"modify"}]},
		{"id":"b","subject":"b","verify":["true"],"files":[{"path":"./x.go","action":"modify"},"y.go"]},
		{"id":"c","subject":"c","verify":["true"],"files":[{"path":"x.go","action":"read"}]}]}`)
	b := newFixture(t, p, testConfig())
	b.runner.gates["a"] = make(chan struct{})
	b.runner.started = make(chan string)
	done := b.start(t)
	first := []string{<-b.runner.started, <-b.runner.started}
	slices.Sort(first)
	if !slices.Equal(first, []string{"a", "c"}) {
		t.Fatalf("%v started together; a and b declare one file, c only reads it", first)
	}
	close(b.runner.gates["a"])
	if next := <-b.runner.started; next != "b" {
		t.Fatalf("%s started", next)
	}
	<-done
}

func TestExclusiveNamesSerialise(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, `{"version":1,"schedule":"eager","tasks":[
		{"id":"a","subject":"a","verify":["true"],"exclusive":["db","gpu"]},
		{"id":"b","subject":"b","verify":["true"],"exclusive":"db"},
		{"id":"c","subject":"c","verify":["true"],"exclusive":["gpu"],"files":["db"]},
		{"id":"d","subject":"d","verify":["true"],"files":["db2"]}]}`)
	b := newFixture(t, p, testConfig())
	for _, id := range []string{"a", "b", "c", "d"} {
		b.runner.gates[id] = make(chan struct{})
	}
	b.runner.started = make(chan string)
	done := b.start(t)
	pair := func() []string {
		got := []string{<-b.runner.started, <-b.runner.started}
		slices.Sort(got)
		return got
	}
	if got := pair(); !slices.Equal(got, []string{"a", "d"}) {
		t.Fatalf("%v started together; a keeps b and c from db and gpu", got)
	}
	close(b.runner.gates["a"])
	// b and c share no name: a file called db differs from the exclusive name db of b.
	if got := pair(); !slices.Equal(got, []string{"b", "c"}) {
		t.Fatalf("%v started after a", got)
	}
	for _, id := range []string{"b", "c", "d"} {
		close(b.runner.gates[id])
	}
	if end := <-done; end.Status != "complete" {
		t.Fatalf("ended as %+v", end)
	}
}

func TestFirstFailureConvenesThePanelOnceBeforeTheRetry(t *testing.T) {
	t.Parallel()
	b := newFixture(t, mustPlan(t, planText(task("a"))), testConfig())
	b.runner.results["a"] = []runner.Result{wrong("check failed"), {Outcome: runner.Done, Cost: 1000}}
	end := b.run(t)
	if end.Status != "complete" || end.Iterations != 2 {
		t.Fatalf("ended as %+v", end)
	}
	if len(b.panel.cases) != 1 || b.panel.cases[0].Attempt != 1 {
		t.Fatalf("the panel saw %+v", b.panel.cases)
	}
	starts := of[event.AttemptStarted](b.journal)
	if !starts[1].Advised || starts[1].Why != "retry" || starts[1].Try != 2 || !starts[1].Resume {
		t.Fatalf("the retry was %+v", starts[1])
	}
	if end.Cost != 2000+100+1000 {
		t.Fatalf("the run cost %s; the panel counts too", end.Cost.Spent())
	}
	if got := b.State.Tasks[0].Stuck; got != 1 {
		t.Fatalf("stuckCount is %d", got)
	}
}

func TestNoPanelForWhatIsNotTheTasksFault(t *testing.T) {
	t.Parallel()
	for _, o := range []runner.Outcome{runner.Throttled, runner.Unauthorised, runner.Denied, runner.Interrupted,
		runner.Truncated, runner.OverCap, runner.Broken, runner.Limited} {
		t.Run(string(o), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t, mustPlan(t, planText(task("a"))), testConfig())
				b.runner.results["a"] = []runner.Result{outcome(o), {Outcome: runner.Done}}
				b.run(t)
				if len(b.panel.cases) != 0 {
					t.Fatalf("a panel was convened for %s", o)
				}
				if b.State.Tasks[0].Stuck != 0 {
					t.Fatalf("%s raised stuckCount", o)
				}
			})
		})
	}
}

func TestOutcomesLeadToTheDocumentedEnd(t *testing.T) {
	t.Parallel()
	done := runner.Result{Outcome: runner.Done, Cost: 10}
	refusal := outcome(runner.Refused)
	refusal.FreshMayHelp = true
	for _, tc := range []struct {
		name       string
		results    []runner.Result
		status     event.RunStatus
		exit       event.ExitCode
		iterations int
	}{
		{"done", []runner.Result{done}, "complete", 0, 1},
		{"wrong, then done", []runner.Result{wrong("x"), done}, "complete", 0, 2},
		{"over-turns, then done", []runner.Result{outcome(runner.OverTurns), done}, "complete", 0, 2},
		{"timed-out, then done", []runner.Result{outcome(runner.TimedOut), done}, "complete", 0, 2},
		{"stalled, then done", []runner.Result{outcome(runner.Stalled), done}, "complete", 0, 2},
		{"wrong for good", []runner.Result{wrong("a"), wrong("b"), wrong("c"), wrong("d")}, "failed", 1, 4},
		{"over-cap, continued", []runner.Result{outcome(runner.OverCap), done}, "complete", 0, 2},
		{"throttled once", []runner.Result{outcome(runner.Throttled), done}, "complete", 0, 1},
		{"throttled twice", []runner.Result{outcome(runner.Throttled)}, "limited", 6, 0},
		{"limited", []runner.Result{outcome(runner.Limited)}, "limited", 6, 0},
		{"unauthorised", []runner.Result{outcome(runner.Unauthorised)}, "blocked", 5, 0},
		{"broken", []runner.Result{outcome(runner.Broken)}, "blocked", 5, 0},
		{"denied", []runner.Result{outcome(runner.Denied)}, "paused", 4, 1},
		{"refused", []runner.Result{outcome(runner.Refused)}, "paused", 4, 1},
		{"refused, then done in a fresh session", []runner.Result{refusal, done}, "complete", 0, 2},
		{"refused, also in a fresh session", []runner.Result{refusal}, "paused", 4, 2},
		{"truncated once", []runner.Result{outcome(runner.Truncated), done}, "complete", 0, 2},
		{"truncated twice", []runner.Result{outcome(runner.Truncated)}, "paused", 4, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newFixture(t, mustPlan(t, planText(task("a"))), testConfig())
				b.runner.results["a"] = tc.results
				end := b.run(t)
				if end.Status != tc.status || end.ExitCode != tc.exit || end.Iterations != tc.iterations {
					t.Fatalf("ended as %+v; want %s, exit %d, %d iterations", end, tc.status, tc.exit, tc.iterations)
				}
				if end.ExitCode != 0 && end.Resume == "" {
					t.Fatal("the stop names no command that continues")
				}
				if end.ExitCode == 6 && end.ResumeAt.IsZero() {
					t.Fatal("exit 6 without resume_at")
				}
			})
		})
	}
}

func TestFailureBlocksItsDependentsOnly(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(task("a"), task("b"), task("c", "a"), task("d", "c"), task("e", "b")))
	c := testConfig()
	c.MaxRetries = 0
	b := newFixture(t, p, c)
	b.runner.results["a"] = []runner.Result{wrong("no")}
	end := b.run(t)
	if end.Status != "failed" || end.ExitCode != 1 || end.Tasks != (event.Counts{Completed: 2, Failed: 1, Blocked: 2}) {
		t.Fatalf("ended as %+v", end)
	}
	if got := b.runner.order(); slices.Contains(got, "c") || slices.Contains(got, "d") || !slices.Contains(got, "e") {
		t.Fatalf("ran %v", got)
	}
	i, _ := b.State.Index("d")
	if b.State.Tasks[i].RootCause != "a" {
		t.Fatalf("d does not know why it is blocked: %q", b.State.Tasks[i].RootCause)
	}
}

func TestFailFastStops(t *testing.T) {
	t.Parallel()
	c := testConfig()
	c.MaxRetries, c.FailFast, c.Parallel = 0, true, 1
	b := newFixture(t, mustPlan(t, planText(task("a"), task("b"))), c)
	b.runner.results["a"] = []runner.Result{wrong("no")}
	if end := b.run(t); end.ExitCode != 1 || end.Tasks.Pending != 1 || len(b.runner.calls) != 1 {
		t.Fatalf("ended as %+v after %v", end, b.runner.order())
	}
}

func TestLimitsPause(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, planText(task("a"), task("b", "a"), task("c", "b")))
	for _, tc := range []struct {
		name   string
		change func(*event.Config)
		limit  string
	}{
		{"money", func(c *event.Config) { c.Limits.USD = 1500 * 10; c.Parallel = 1 }, "money"},
		{"iterations", func(c *event.Config) { c.Limits.Iterations = 2 }, "iterations"},
		{"tokens", func(c *event.Config) { c.Limits.Tokens = 10 }, "tokens"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := testConfig()
			tc.change(&c)
			b := newFixture(t, p, c)
			for _, id := range []string{"a", "b", "c"} {
				b.runner.results[id] = []runner.Result{{Outcome: runner.Done, Cost: 7000, Usage: runner.Usage{Input: 6}}}
			}
			end := b.run(t)
			if end.Status != "paused" || end.ExitCode != 3 || b.State.Stop.Limit != tc.limit {
				t.Fatalf("ended as %+v, stop %+v", end, b.State.Stop)
			}
			if end.Tasks.Completed == 0 || end.Tasks.Pending == 0 {
				t.Fatalf("nothing was done before the limit, or everything: %+v", end.Tasks)
			}
		})
	}
}

func TestWallClockDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := testConfig()
		c.Limits.Wall = time.Hour
		b := newFixture(t, mustPlan(t, planText(task("a"), task("b", "a"))), c)
		gate := make(chan struct{})
		b.runner.gates["a"] = gate
		go func() { time.Sleep(2 * time.Hour); close(gate) }() // virtual time of the synctest bubble
		end := b.run(t)
		if end.ExitCode != 3 || end.Tasks.Completed != 1 || end.Tasks.Pending != 1 {
			t.Fatalf("ended as %+v", end)
		}
	})
}

func TestBreakers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		change  func(*event.Config)
		results []runner.Result
		breaker event.Breaker
		starts  int
	}{
		{"same error three times", func(c *event.Config) { c.SameError = 3 },
			[]runner.Result{wrong("same")}, "same-error", 3},
		{"same checks five times", func(c *event.Config) { c.SameUnmet, c.MaxRetries = 5, 9 },
			[]runner.Result{wrong("1"), wrong("2"), wrong("3"), wrong("4"), wrong("5")}, "same-unmet", 5},
		{"one file five times", func(c *event.Config) { c.SameFile = 5 },
			[]runner.Result{{Outcome: runner.Wrong, Reason: "x", Signature: "x", Edits: map[string]int{"a.go": 5}}},
			"same-file", 1},
		{"mustNot is true, although the attempt is done", func(*event.Config) {},
			[]runner.Result{{Outcome: runner.Done, Violated: []string{"a dependency is added"}}}, "must-not", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := testConfig()
			tc.change(&c)
			b := newFixture(t, mustPlan(t, planText(task("a"))), c)
			b.runner.results["a"] = tc.results
			end := b.run(t)
			if end.ExitCode != 4 || b.State.Stop.Breaker != tc.breaker || len(b.runner.calls) != tc.starts {
				t.Fatalf("ended as %+v after %d attempts, stop %+v", end, len(b.runner.calls), b.State.Stop)
			}
		})
	}
	t.Run("transient failures trip none", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := event.DefaultConfig()
			c.Run, c.Limits = "r", budget.Limits{NoUSD: true, NoIterations: true}
			b := newFixture(t, mustPlan(t, planText(task("a"), task("b"), task("c"))), c)
			for _, id := range []string{"a", "b", "c"} {
				b.runner.results[id] = []runner.Result{outcome(runner.Throttled), {Outcome: runner.Done}}
			}
			if end := b.run(t); end.Status != "complete" || b.State.Stop != nil {
				t.Fatalf("ended as %+v", end)
			}
		})
	})
}

func TestUsageLimitIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		reset time.Duration // from the start of the run, which takes no time; 0: not reported
		least time.Duration // the wait must be between this and a minute more
	}{
		{"in three hours", 3 * time.Hour, 3 * time.Hour},
		{"over while the attempt was ending", -2 * time.Second, 0},
		{"long over", -2 * time.Minute, 5 * time.Minute},
		{"not told", 0, 5 * time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := testConfig()
				config.WaitForReset = 6 * time.Hour
				b := newFixture(t, mustPlan(t, planText(task("a"), task("b", "a"))), config)
				start := time.Now()
				hit := outcome(runner.Limited)
				if c.reset != 0 {
					hit.ResetsAt = start.Add(c.reset)
				}
				b.runner.results["a"] = []runner.Result{hit, {Outcome: runner.Done}}
				end := b.run(t)
				if end.Status != "complete" || end.Iterations != 2 {
					t.Fatalf("ended as %+v", end)
				}
				if waited := time.Since(start); waited < c.least || waited > c.least+time.Minute {
					t.Fatalf("waited %s, want %s and a little", waited, c.least)
				}
			})
		})
	}
}

func TestFirstSignalDrainsSecondInterrupts(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T) (*fixture, <-chan event.RunEnded) {
		b := newFixture(t, mustPlan(t, planText(task("a"), task("b", "a"))), testConfig())
		b.runner.gates["a"] = make(chan struct{})
		b.runner.started = make(chan string, 9)
		done := b.start(t)
		<-b.runner.started
		b.signals <- Signal{Name: "SIGINT", Code: 130}
		return b, done
	}
	t.Run("drain", func(t *testing.T) {
		b, done := start(t)
		close(b.runner.gates["a"])
		end := <-done
		if end.ExitCode != 130 || end.Tasks.Completed != 1 || end.Tasks.Pending != 1 || b.Interrupted {
			t.Fatalf("ended as %+v", end)
		}
	})
	t.Run("interrupt", func(t *testing.T) {
		b, done := start(t)
		b.signals <- Signal{Name: "SIGINT", Code: 130}
		end := <-done
		if end.ExitCode != 130 || end.Tasks.Completed != 0 || end.Iterations != 0 || !b.Interrupted {
			t.Fatalf("ended as %+v", end)
		}
		if end.Cost != 500 {
			t.Fatalf("the interrupted attempt's money is real, but the run cost %s", end.Cost.Spent())
		}
	})
	t.Run("all done all the same", func(t *testing.T) {
		b := newFixture(t, mustPlan(t, planText(task("a"))), testConfig())
		b.runner.gates["a"] = make(chan struct{})
		b.runner.started = make(chan string, 1)
		done := b.start(t)
		<-b.runner.started
		b.signals <- Signal{Name: "SIGTERM", Code: 143}
		close(b.runner.gates["a"])
		if end := <-done; end.ExitCode != 143 {
			t.Fatalf("cancelled, and yet exit %d", end.ExitCode)
		}
	})
}

func TestPanicsAreContained(t *testing.T) {
	t.Parallel()
	b := newFixture(t, mustPlan(t, planText(task("a"))), testConfig())
	b.Runner = panicking{}
	end := b.run(t)
	if end.ExitCode != 5 || b.State.Tasks[0].Last.Outcome != runner.Broken {
		t.Fatalf("ended as %+v", end)
	}
	b = newFixture(t, mustPlan(t, planText(task("a"))), testConfig())
	b.runner.results["a"] = []runner.Result{wrong("x"), {Outcome: runner.Done}}
	b.Panel = panicking{}
	if end := b.run(t); end.Status != "complete" {
		t.Fatalf("a panicking panel ended the run as %+v", end)
	}
}

func TestJournalThatCannotBeWrittenStopsTheRun(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	for method, records := range map[string]int64{"Append": 12, "Write": 5, "": 8} {
		for at := range records {
			c := testConfig()
			c.Parallel = 1 // so that the second command starts after the record of its wave
			b := newFixture(t, mustPlan(t, planText(`{"id":"x","command":"true"}`, `{"id":"y","command":"true"}`, task("a"),
				task("b", "a"))), c)
			b.journal.failIn, b.journal.fail, b.journal.failAt = method, full, at+1
			if _, err := b.Run(t.Context()); !errors.Is(err, full) {
				t.Fatalf("%s of record %d failed, and the run ended with %v", method, at+1, err)
			}
			b.journal.events = append(b.journal.events, b.journal.pending[:b.journal.written]...)
			started := len(of[event.AttemptStarted](b.journal))
			if len(b.runner.calls) > started {
				t.Fatalf("%s: %d attempts ran, %d are in the journal", method, len(b.runner.calls), started)
			}
		}
	}
}

// turnRunner is a Runner that tells what became of the record of its turn.
type turnRunner struct{ recorded chan error }

func (r turnRunner) Attempt(_ context.Context, _ runner.Request, hooks runner.Hooks) runner.Result {
	r.recorded <- hooks.TurnEnded(runner.Turn{Result: outcome(runner.Done)})
	return outcome(runner.Done)
}

// An attempt whose turn cannot be recorded is told so: it must not go on as if the turn were durable.
func TestTurnThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	b := newFixture(t, mustPlan(t, planText(task("a"))), testConfig())
	r := turnRunner{make(chan error, 1)}
	full := errors.New("no space left on device")
	b.Runner, b.journal.fail, b.journal.failAt = r, full, 4
	if _, err := b.Run(t.Context()); !errors.Is(err, full) {
		t.Errorf("ended with %v", err)
	}
	if err := <-r.recorded; !errors.Is(err, ErrInterrupted) {
		t.Errorf("the turn was recorded: %v", err)
	}
}

// An attempt without a request is broken, with the reason and a limit of the machine behind it.
func TestRequestThatCannotBeMade(t *testing.T) {
	t.Parallel()
	b := newFixture(t, mustPlan(t, planText(task("a"))), testConfig())
	b.Request = func(*State, int, event.AttemptStarted) (runner.Request, error) {
		return runner.Request{}, fmt.Errorf("no prompt: %w", syscall.EMFILE)
	}
	if end := b.run(t); end.ExitCode != 5 || !strings.Contains(end.Reason, "no prompt") ||
		!strings.Contains(end.Reason, "raise ulimit -n") || len(b.runner.calls) != 0 {
		t.Errorf("ended as %+v", end)
	}
}

// Secrets are removed from an event before the journal has it, and from the state.
func TestRedactedEvents(t *testing.T) {
	t.Parallel()
	b := newFixture(t, mustPlan(t, planText(task("a"))), testConfig())
	b.runner.results["a"] = []runner.Result{wrong("hunter2"), {Outcome: runner.Done}}
	b.Redact = func(body event.Body) event.Body {
		if e, ok := body.(event.AttemptEnded); ok && e.Result.Reason == "hunter2" {
			e.Result.Reason = "[removed]"
			return e
		}
		return body
	}
	b.run(t)
	if first := of[event.AttemptEnded](b.journal)[0]; first.Result.Reason != "[removed]" ||
		!slices.Equal(b.State.Tasks[0].History, []string{"[removed]"}) {
		t.Errorf("recorded %+v, the task has %q", first, b.State.Tasks[0].History)
	}
}

func TestMoneyIsSharedAmongWhatStartsTogether(t *testing.T) {
	t.Parallel()
	c := testConfig()
	c.Limits.USD = 8 * budget.Dollar
	b := newFixture(t, mustPlan(t, planText(task("a"), task("b"), task("c"), task("d"), task("e"))), c)
	b.run(t)
	if first := caps(b)[:4]; !slices.Equal(first, slices.Repeat([]budget.USD{2 * budget.Dollar}, 4)) {
		t.Fatalf("the first four got %v of $8", first)
	}
}

type panicking struct{}

func (panicking) Attempt(context.Context, runner.Request, runner.Hooks) runner.Result { panic("boom") }
func (panicking) Diagnose(context.Context, counsel.Case) counsel.Verdict              { panic("boom") }

// A retry uses the session that the plan sets, and a flag overrides it.
func TestThePlanSaysTheSessionOfRetries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		own, flag string
		forced    bool
		resumes   bool
	}{
		{"", "auto", false, true},
		{"fresh", "auto", false, false},
		{"same", "auto", false, true},
		{"same", "fresh", true, false},
		{"fresh", "same", true, true},
	} {
		own := `{"id":"a","subject":"a"`
		if c.own != "" {
			own += `,"retrySession":"` + c.own + `"`
		}
		cfg := testConfig()
		cfg.RetrySession, cfg.ForceSession, cfg.MaxRetries = c.flag, c.forced, 1
		b := newFixture(t, mustPlan(t, `{"defaults":{"retrySession":"auto"},"tasks":[`+own+`}]}`), cfg)
		b.runner.results["a"] = []runner.Result{wrong("no")}
		b.run(t)
		if len(b.runner.calls) != 2 || b.runner.calls[1].Resume != c.resumes {
			t.Errorf("%+v: the calls are %+v", c, b.runner.calls)
		}
	}
}
