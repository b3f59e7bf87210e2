package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wavex/budget"
	"wavex/fleet/remote"
	"wavex/fleet/remote/wire"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/run"
	"wavex/internal/runlog"
	"wavex/internal/secret"
	"wavex/internal/testrepo"
	"wavex/internal/usererr"
	"wavex/runner"
	"wavex/runner/runnertest"
	"wavex/scheduler"
)

// withWorker makes the attempts of a run on a worker of an engine in memory, with a git remote between them.
func withWorker(t *testing.T, o *run.Options) *memoryEngine {
	t.Helper()
	return withWorkerOf(t, o, nil)
}

// withWorkerOf is withWorker for a worker with an agent.
func withWorkerOf(t *testing.T, o *run.Options, agent runner.Agent) *memoryEngine {
	t.Helper()
	bare := filepath.Join(t.TempDir(), "bare.git")
	testrepo.Git(t, t.TempDir(), "init", "-q", "--bare", bare)
	engine := newMemoryEngine()
	engine.StartWorker(t, "w1", bare, nil, agent)
	o.Config.Isolation, o.Config.Workers = event.Isolated, event.Workers{Engine: onEngine, QueueWait: time.Minute}
	o.Fleet = On(memory{memoryEngine: engine}, nil, bare)
	return engine
}

// runOptions returns the options of a run of commands in dir, without workers.
func runOptions(t *testing.T, dir, text string) (run.Options, *buffer) {
	t.Helper()
	testrepo.Files{"plan.json": text}.Write(t, dir)
	c := event.DefaultConfig()
	c.Run, c.Dir, c.Loop, c.Agent, c.Parallel = runlog.NewID(time.Now()), dir, loop.In(dir), agent.Rehearsal, 4
	c.Isolation = "shared"
	c.Counsel, c.Review, c.Judge, c.MaxRetries = false, event.ReviewOff, false, 0
	c.Limits = budget.Limits{NoUSD: true, NoIterations: true}
	prices, err := budget.LoadPrices(nil)
	testrepo.Must(t, err)
	said := &buffer{}
	return run.Options{Plan: testrepo.Plan(t, dir, text), Config: c, Agent: agent.Agent{Name: agent.Rehearsal},
		Prices: prices, Redactor: secret.New(os.Environ()), Err: said, Notices: true}, said
}

// recordingView is a view that records its events.
type recordingView struct{ events []event.Event }

func (v *recordingView) Event(e event.Event, _ *scheduler.State) { v.events = append(v.events, e) }
func (*recordingView) Observe(runner.Observation)                {}
func (*recordingView) Close() error                              { return nil }

// runSession opens a session, runs it and closes it.
func runSession(t *testing.T, o run.Options) (run.Result, *recordingView) {
	t.Helper()
	connection := *o.Fleet.(*session)
	o.Fleet = &connection // a session closes its own
	s, err := run.Open(t.Context(), o)
	testrepo.Must(t, err)
	defer s.Close(t.Context())
	v := &recordingView{}
	out, err := s.Run(t.Context(), run.Console{View: v})
	testrepo.Must(t, err)
	return out, v
}

// A run whose attempts are made on a worker ends as one on this machine. After the loss of this machine's last records
// and of the engine, the next session takes over the attempts that a worker has made, and none is made again.
func TestRunOnWorkers(t *testing.T) {
	dir := testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\nplan.json\n", "f": "1\n"})
	const text = `{"tasks":[{"id":"a","subject":"A","command":"pwd | tee a"},` +
		`{"id":"b","subject":"B","blockedBy":["a"],"command":"cat a > b"}]}`
	o, said := runOptions(t, dir, text)
	engine := withWorker(t, &o)
	out, _ := runSession(t, o)
	if out.End.Status != "complete" || engine.Starts() != 2 {
		t.Fatalf("%+v, %d starts\n%s", out.End, engine.Starts(), said)
	}
	where := testrepo.Git(t, dir, "show", "wavex/"+o.Config.Run+":b")
	if strings.HasPrefix(where, dir) || !strings.Contains(where, filepath.FromSlash("/repos/")) {
		t.Errorf("b was made in %s", where)
	}
	if last := out.State.Tasks[1].Last; last == nil || last.Worker != "w1" {
		t.Errorf("the result of b: %+v", last)
	}
	if _, err := os.Stat(o.Config.Loop.Task(o.Config.Run, "a", "attempt-1", "result.json")); err != nil {
		t.Error(err)
	}

	cutAfterStart(t, &o, "b")
	engine.Forget()
	out, view := runSession(t, o)
	adopted := slices.ContainsFunc(view.events, func(e event.Event) bool {
		return e.Body == event.AttemptAdopted{Task: "b", Attempt: 1}
	})
	if out.End.Status != "complete" || !adopted || engine.Starts() != 0 {
		t.Errorf("%+v, adopted %t, %d starts\n%s", out.End, adopted, engine.Starts(), said)
	}
	if again := testrepo.Git(t, dir, "show", "wavex/"+o.Config.Run+":b"); again != where {
		t.Errorf("b was made again, in %s", again)
	}
}

// A task on a worker has the list of outputs that it uses as a file of the worker.
func TestOutputsOnWorkers(t *testing.T) {
	dir := testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\nplan.json\n", "f": "1\n"})
	o, said := runOptions(t, dir, `{"tasks":[{"id":"m","foreach":["1","2"],"command":"echo '{\"n\":'${item}'}'",`+
		`"output":{"type":"object"}},{"id":"r","command":"cat ${tasks.m.outputs} > r && echo ${tasks.m.outputs} > where"}]}`)
	withWorker(t, &o)
	out, _ := runSession(t, o)
	if out.End.Status != "complete" {
		t.Fatalf("%+v\n%s", out.End, said)
	}
	at := "wavex/" + o.Config.Run
	if text := testrepo.Git(t, dir, "show", at+":r"); text != `[{"n":1},{"n":2}]` {
		t.Errorf("the list is %q", text)
	}
	if where := testrepo.Git(t, dir, "show", at+":where"); strings.HasPrefix(where, string(o.Config.Loop)) {
		t.Errorf("it is in %s", where)
	}
}

// watchingView calls watch at each sign of life.
type watchingView struct {
	recordingView
	watch func(runner.Observation)
}

func (v *watchingView) Observe(o runner.Observation) { v.watch(o) }

// While an attempt runs on a worker, processes that watch the run see where.
func TestWorkerOfARunningAttempt(t *testing.T) {
	dir := testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\nplan.json\n", "f": "1\n"})
	gate := filepath.Join(t.TempDir(), "gate")
	testrepo.NamedPipe(t, gate)
	o, said := runOptions(t, dir, fmt.Sprintf(`{"tasks":[{"id":"a","subject":"A","command":"cat %s"}]}`, gate))
	withWorker(t, &o)
	s, err := run.Open(t.Context(), o)
	testrepo.Must(t, err)
	defer s.Close(t.Context())
	f := runlog.Follow(o.Config.Loop, "")
	open := sync.OnceFunc(func() { testrepo.Must(t, os.WriteFile(gate, nil, 0o600)) })
	out, err := s.Run(t.Context(), run.Console{View: &watchingView{watch: func(seen runner.Observation) {
		defer open()
		_, err := f.Poll(nil)
		testrepo.Must(t, err)
		if running := f.Running(); seen.Worker != "w1" || len(running) != 1 || running[0].Worker != "w1" {
			t.Errorf("observed %+v, running %+v", seen, running)
		}
	}}})
	if err != nil || out.End.Status != "complete" {
		t.Errorf("%+v, %v\n%s", out.End, err, said)
	}
}

// Without a worker the run pauses after the wait, and has spent nothing.
func TestNobodyTakesAnAttempt(t *testing.T) {
	dir := testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\nplan.json\n", "f": "1\n"})
	o, said := runOptions(t, dir, `{"tasks":[{"id":"a","subject":"A","command":"touch a"},`+
		`{"id":"b","subject":"B","blockedBy":["a"],"command":"touch b"}]}`)
	withWorker(t, &o)
	engine := newMemoryEngine() // has none
	o.Fleet.(*session).engine = memory{memoryEngine: engine}
	go func() {
		id := wire.ID(o.Config.Run, "a", 1)
		if engine.AwaitStart(t.Context(), id) == nil {
			engine.End(id, remote.NotTaken)
		}
	}()
	out, _ := runSession(t, o)
	if out.End.ExitCode != event.ExitBlocked || out.End.Cost != 0 || engine.Starts() != 1 ||
		!strings.Contains(out.End.Reason, "no worker took it in 1m0s") {
		t.Errorf("%+v\n%s", out.End, said)
	}
}

// The cost of an attempt whose worker was lost is corrected when that worker has pushed its result.
func TestLateCosts(t *testing.T) {
	dir := testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\nplan.json\n", "f": "1\n"})
	o, said := runOptions(t, dir, `{"tasks":[{"id":"a","subject":"A","budgetUSD":0.6,"verify":["test -e made.txt"],`+
		`"files":[{"path":"made.txt","action":"create"}]}]}`)
	o.Config.Limits = budget.Limits{USD: budget.Dollar, Iterations: 9}
	o.Config.Workers.Engine = "memory"
	agent := &frozenAgent{Agent: runnertest.StandIn(runnertest.Works), begun: make(chan int, 9), gate: make(chan struct{})}
	engine := withWorkerOf(t, &o, agent)
	go func() {
		<-agent.begun
		engine.End(wire.ID(o.Config.Run, "a", 1), remote.Lost)
	}()
	s, err := run.Open(t.Context(), o)
	testrepo.Must(t, err)
	defer s.Close(t.Context())
	var corrected []event.CostCorrected
	var last event.Body
	out, err := s.Run(t.Context(), run.Console{View: &eventView{event: func(e event.Event) {
		switch b := e.Body.(type) {
		case event.AttemptEnded:
			if b.Attempt == 1 {
				close(agent.gate) // the worker begins the next one afterwards
			}
		case event.CostCorrected:
			corrected = append(corrected, b)
		}
		last = e.Body
	}}})
	if err != nil || out.End.Status != "complete" || last != event.Body(out.End) {
		t.Fatalf("%+v, %v, then %+v\n%s", out.End, err, last, said)
	}
	if len(corrected) != 1 || corrected[0].Was < budget.Dollar/2 || corrected[0].Cost != frozenCost ||
		out.End.Cost != out.State.Tasks[0].Cost || out.End.Cost >= corrected[0].Was {
		t.Errorf("corrected %+v, the run cost %s\n%s", corrected, out.End.Cost, said)
	}
}

// frozenAgent is an agent whose first turn is interrupted when gate is closed.
type frozenAgent struct {
	runner.Agent
	begun chan int // the numbers of attempts
	gate  chan struct{}
}

const frozenCost = 1234

func (a *frozenAgent) Turn(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
	end := a.Agent.Turn(ctx, req)
	if req.Attempt == 1 {
		a.begun <- req.Attempt
		<-a.gate
		end.Outcome, end.Cost = runner.Interrupted, frozenCost
	}
	return end
}

// eventView calls event for each event.
type eventView struct {
	recordingView
	event func(event.Event)
}

func (v *eventView) Event(e event.Event, _ *scheduler.State) { v.event(e) }

// cutAfterStart cuts the journal after the start of an attempt at a task, and makes o resume the run.
func cutAfterStart(t *testing.T, o *run.Options, task string) {
	t.Helper()
	events, err := runlog.Read(o.Config.Loop)
	testrepo.Must(t, err)
	cut := 1 + slices.IndexFunc(events, func(e event.Event) bool {
		b, is := e.Body.(event.AttemptStarted)
		return is && b.Task == task
	})
	data, err := os.ReadFile(o.Config.Loop.Path(loop.Journal))
	testrepo.Must(t, err)
	lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
	kept := strings.Join(lines[:cut+len(lines)-len(events)], "") // there may be a line before the records
	testrepo.Must(t, os.WriteFile(o.Config.Loop.Path(loop.Journal), []byte(kept), 0o600))
	o.Resume, o.JournalLen = true, cut
}

// An attempt at a task that the plan has changed since is stopped, and its task begins anew.
func TestWorkersOfAChangedPlan(t *testing.T) {
	dir := testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\nplan.json\n", "f": "1\n"})
	o, said := runOptions(t, dir, `{"tasks":[{"id":"a","subject":"A","command":"echo 1 > a"}]}`)
	engine := withWorker(t, &o)
	runSession(t, o)
	cutAfterStart(t, &o, "a")
	changed, _ := runOptions(t, dir, `{"tasks":[{"id":"a","subject":"A","command":"echo 2 > a"}]}`)
	o.Plan = changed.Plan
	out, view := runSession(t, o)
	ends := 0
	for _, e := range view.events {
		if b, is := e.Body.(event.AttemptEnded); is {
			if ends++; ends == 1 && (b.Attempt != 1 || b.Result.Outcome != runner.Interrupted) {
				t.Errorf("the first attempt: %+v", b)
			}
		}
	}
	if out.End.Status != "complete" || ends != 2 || engine.Starts() != 2 {
		t.Errorf("%+v, %d ends, %d starts\n%s", out.End, ends, engine.Starts(), said)
	}
	if text := testrepo.Git(t, dir, "show", "wavex/"+o.Config.Run+":a"); strings.TrimSpace(text) != "2" {
		t.Errorf("a has %q", text)
	}
}

func TestWorkersNeedWorktrees(t *testing.T) {
	o, _ := runOptions(t, t.TempDir(), `{"tasks":[{"id":"a","command":"true"}]}`)
	o.Config.Workers.Engine, o.Fleet = onEngine, On(memory{memoryEngine: newMemoryEngine()}, nil, "")
	var blocked *usererr.BlockedError
	s, err := run.Open(t.Context(), o)
	testrepo.Must(t, err)
	defer s.Close(t.Context())
	if _, err := s.Run(t.Context(), run.Console{View: &recordingView{}}); !errors.As(err, &blocked) {
		t.Error(err)
	}
}
