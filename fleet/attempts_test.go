package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wavex/budget"
	"wavex/fleet/ferry"
	"wavex/fleet/remote"
	"wavex/fleet/remote/wire"
	"wavex/fleet/worker"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/runner/runnertest"
)

// scripted is an agent whose turns are a function. It counts them.
type scripted struct {
	runner.Agent
	turns atomic.Int32
	turn  func(ctx context.Context, req runner.TurnRequest) runner.TurnResult
}

func (s *scripted) Turn(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
	s.turns.Add(1)
	if s.turn == nil {
		return s.Agent.Turn(ctx, req)
	}
	return s.turn(ctx, req)
}

// works returns an agent that does its work.
func works() *scripted { return &scripted{Agent: runnertest.StandIn(runnertest.Works)} }

// waits returns an agent that works, says so, and goes on when gate is closed or it is stopped.
func waits(begun chan<- string, gate <-chan struct{}) *scripted {
	s := works()
	s.turn = func(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
		end := s.Agent.Turn(ctx, req)
		begun <- req.Dir
		select {
		case <-gate:
		case <-ctx.Done():
			end.Outcome, end.Reason = runner.Interrupted, "stopped: "+context.Cause(ctx).Error()
		}
		return end
	}
	return s
}

func isTurn(id string) func([]byte) bool {
	return func(message []byte) bool {
		var p wire.Progress
		m, err := wire.Parse(wire.KindProgress, id, message)
		return err == nil && m.Decode(&p) == nil && p.Turn != nil
	}
}

// TestLogsAndWork: the machine of a run has the work, the log files and the digests of an attempt when it ends.
func TestLogsAndWork(t *testing.T) {
	t.Parallel()
	f := newCrew(t, works())
	dir, req := f.request("a/b c")
	req.Files, req.Trees = []plan.File{{Path: "made.txt", Action: "create"}}, &runner.Trees{Store: t.TempDir()}
	r := f.runner(dir)
	r.Redact = func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("do it"), []byte("***")) }
	res := r.Attempt(t.Context(), req, runner.Hooks{})
	if res.Outcome != runner.Done || res.Worker != "w1" || res.Cost != budget.Dollar/100 || len(res.Changed) != 1 {
		t.Fatalf("%+v", res)
	}
	if parent := gitIn(t, dir, "rev-parse", res.Commit+"^"); parent != req.Commit {
		t.Errorf("the work is on %s", parent)
	}
	if message := gitIn(t, dir, "log", "-1", "--format=%B", res.Commit); !strings.HasPrefix(message, "Do a/b c\n") {
		t.Errorf("its message is %q", message)
	}
	if text, err := os.ReadFile(filepath.Join(req.LogDir, "prompt.md")); string(text) != "***" || err != nil {
		t.Errorf("the prompt is %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(req.LogDir, "result.json")); err != nil {
		t.Error(err)
	}
	if bases, _ := filepath.Glob(filepath.Join(filepath.Dir(req.Baseline), "base.*.json")); len(bases) != 1 {
		t.Errorf("digests %q", bases)
	}
	if n, err := r.Ferry.Sweep(t.Context(), "r-1", false); n != 3 || err != nil {
		t.Errorf("%d refs, %v", n, err)
	}
}

// A second worker goes on where the first one stopped: with its files, its digests and its session's full prompt.
func TestRetryElsewhere(t *testing.T) {
	t.Parallel()
	agent := works()
	agent.turn = func(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
		if _, err := os.Stat(filepath.Join(req.Dir, "made.txt")); (err == nil) != (req.Attempt == 2) {
			t.Errorf("attempt %d finds the file: %v", req.Attempt, err)
		}
		return agent.Agent.Turn(ctx, req)
	}
	f := newCrew(t, agent)
	dir, req := f.request("a")
	req.Files = []plan.File{{Path: "made.txt", Action: "create"}}
	req.Checks = []plan.Check{{Run: "test -e second"}}
	first := f.runner(dir).Attempt(t.Context(), req, runner.Hooks{})
	if first.Outcome != runner.Wrong || first.WIP == "" || first.Vacuous {
		t.Fatalf("first: %+v", first)
	}
	req.Attempt, req.WIP, req.Resume, req.Checks = 2, first.WIP, true, nil
	req.LogDir = filepath.Join(filepath.Dir(req.LogDir), "attempt-2")
	second := f.runner(dir).Attempt(t.Context(), req, runner.Hooks{})
	if second.Outcome != runner.Done || len(second.Changed) != 1 {
		t.Errorf("second: %+v", second)
	}
}

// The attempt before may have been stopped without a change, so that its work is the commit where it began.
func TestWorkWithoutAChange(t *testing.T) {
	t.Parallel()
	f := newCrew(t, works())
	dir, req := f.request("a")
	req.WIP = req.Commit
	if res := f.runner(dir).Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != runner.Done {
		t.Errorf("%+v", res)
	}
}

// An attempt that resumes a session is made by the worker that has it.
func TestSessionStays(t *testing.T) {
	t.Parallel()
	f := newCrew(t, works())
	f.addWorker("w2")
	for attempt, name := range []string{"w2", "w1", "w2", "w1"} {
		dir, req := f.request("a")
		req.Attempt, req.Resume, req.Worker = 2+attempt, true, name
		if res := f.runner(dir).Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != runner.Done || res.Worker != name {
			t.Errorf("%s has the session: %+v", name, res)
		}
	}
}

// If the worker with the session does not take the attempt, another worker makes it, once. Later sessions find it.
func TestSessionMoves(t *testing.T) {
	t.Parallel()
	agent := works()
	agent.turn = func(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
		if req.Resume || req.Prompt != "all of it" || req.Session != movedSession {
			t.Errorf("resumes %t with %q, session %s", req.Resume, req.Prompt, req.Session)
		}
		return agent.Agent.Turn(ctx, req)
	}
	f := newCrew(t, agent)
	dir, req := f.request("a")
	req.Attempt, req.Resume, req.Worker, req.FullPrompt = 2, true, "gone", "all of it"
	results := make(chan runner.Result, 1)
	go func() { results <- f.runner(dir).Attempt(t.Context(), req, runner.Hooks{}) }()
	id := wire.ID("r-1", "a", 2)
	testrepo.Must(t, f.engine.AwaitStart(t.Context(), id))
	f.engine.End(id, remote.NotTaken)
	first := <-results
	if first.Outcome != runner.Done || first.Worker != "w1" || !first.SessionReplaced || f.engine.Starts() != 2 {
		t.Errorf("%+v after %d starts", first, f.engine.Starts())
	}
	_, err := f.runner(dir).Ferry.Sweep(t.Context(), "r-1", false) // else the pushed result is found first
	testrepo.Must(t, err)
	work := ferry.Ref{Name: ferry.Work("r-1", "a", 2), Commit: first.Commit}
	testrepo.Must(t, f.runner(dir).Ferry.Push(t.Context(), work))
	again := f.runner(dir)
	req.Adopted = true
	for name, res := range map[string]runner.Result{
		"adopted": again.Attempt(t.Context(), req, runner.Hooks{}),
		"ended":   f.runner(dir).End(t.Context(), req),
	} {
		if res.Commit != first.Commit || res.Cost != first.Cost || agent.turns.Load() != 1 || f.engine.Starts() != 2 {
			t.Errorf("%s: %+v after %d turns and %d starts", name, res, agent.turns.Load(), f.engine.Starts())
		}
	}
}

// An attempt that none took is started again while workers make attempts of another run, and given up if they make
// none. Then a line says that there is no worker.
func TestBusyWorkers(t *testing.T) {
	t.Parallel()
	begun, gate := make(chan string, 9), make(chan struct{})
	f := newCrew(t, waits(begun, gate))
	f.stop()
	f.engine.Slots = 1
	stop := f.addWorker("w2")
	dir, first := f.request("a")
	other, r := f.runner(dir), f.runner(dir)
	told := make(chan struct{})
	tell := sync.OnceFunc(func() { close(told) })
	other.Observe = func(runner.Observation) { tell() }
	attempt := func(r *remote.Runner, run, task string) <-chan runner.Result {
		req, res := first, make(chan runner.Result, 1)
		req.Run = run
		req.Task, req.LogDir = task, filepath.Join(t.TempDir(), task, "attempt-1")
		go func() { res <- r.Attempt(t.Context(), req, runner.Hooks{}) }()
		return res
	}
	a := attempt(other, "r-2", "a")
	<-told
	b := attempt(r, "r-1", "b")
	id := wire.ID("r-1", "b", 1)
	for range 2 {
		testrepo.Must(t, f.engine.AwaitStart(t.Context(), id))
		f.engine.End(id, remote.NotTaken)
		id = wire.NextID(id)
	}
	testrepo.Must(t, f.engine.AwaitStart(t.Context(), id))
	close(gate)
	<-a
	made := <-b
	_, err := r.Ferry.Sweep(t.Context(), "r-1", false) // else a later session finds the pushed result first
	testrepo.Must(t, err)
	testrepo.Must(t, r.Ferry.Push(t.Context(), ferry.Ref{Name: ferry.Work("r-1", "b", 1), Commit: made.Commit}))
	r = f.runner(dir)
	first.Adopted = true
	again := <-attempt(r, "r-1", "b")
	if made.Outcome != runner.Done || again.Commit != made.Commit || f.engine.Starts() != 4 {
		t.Errorf("made %+v, taken over %+v after %d starts", made, again, f.engine.Starts())
	}
	stop()
	warned := make(chan error, 9)
	r.Poll, r.Warn = time.Millisecond, func(err error) { warned <- err }
	c := attempt(r, "r-1", "c")
	id = wire.ID("r-1", "c", 1)
	testrepo.Must(t, f.engine.AwaitStart(t.Context(), id))
	if err := <-warned; !strings.Contains(err.Error(), "no worker asks for attempts of queue "+f.key.Queue("")) {
		t.Error(err)
	}
	f.engine.End(id, remote.NotTaken)
	if res := <-c; res.Outcome != runner.Broken || !strings.Contains(res.Reason, "no worker took it in 1m0s") {
		t.Errorf("%+v", res)
	}
}

// TestClocksDiffer: the times of a result are those of this machine, and the duration is that of the worker.
func TestClocksDiffer(t *testing.T) {
	t.Parallel()
	f := newCrew(t, nil)
	f.stop()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir, req := f.request("a")
	told := runner.Result{Outcome: runner.Interrupted, Duration: time.Hour,
		Started: time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)}
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	serving.Go(func() {
		f.engine.Serve(ctx, remote.Worker{Name: "w2"}, []string{f.key.Queue("")}, 1, func(task worker.Task) {
			m, _, err := wire.New(wire.KindResult, task.ID(), "test", told)
			message, encodeErr := m.Encode()
			if err := errors.Join(err, encodeErr, task.Complete(ctx, message)); err != nil {
				t.Error(err)
			}
		})
	})
	began := time.Now()
	res := f.runner(dir).Attempt(t.Context(), req, runner.Hooks{})
	if res.Duration != time.Hour || res.Started.Before(began.Add(-time.Second)) || res.Started.After(time.Now()) {
		t.Errorf("started %s, took %s", res.Started, res.Duration)
	}
}

// TestStartedOnce: a later session attaches to an attempt that runs on.
func TestStartedOnce(t *testing.T) {
	t.Parallel()
	begun, gate := make(chan string, 9), make(chan struct{})
	agent := waits(begun, gate)
	f := newCrew(t, agent)
	dir, req := f.request("a")
	req.Adopted = true
	results := make(chan runner.Result)
	attempt := func() {
		r := f.runner(dir)
		results <- r.Attempt(t.Context(), req, runner.Hooks{})
	}
	go attempt()
	select {
	case <-begun:
	case res := <-results:
		t.Fatalf("it ended before it began: %+v", res)
	}
	go attempt()
	close(gate)
	for range 2 {
		if res := <-results; res.Outcome != runner.Done || res.Commit == "" {
			t.Errorf("%+v", res)
		}
	}
	if n := agent.turns.Load(); n != 1 {
		t.Errorf("%d turns", n)
	}
}

// A session that is stopped while it takes over an attempt stops the attempt, and records its cost.
func TestStoppedWhileAdopted(t *testing.T) {
	t.Parallel()
	begun := make(chan string, 1)
	f := newCrew(t, waits(begun, nil))
	dir, req := f.request("a")
	first := make(chan runner.Result, 1)
	go func() { first <- f.runner(dir).Attempt(t.Context(), req, runner.Hooks{}) }()
	<-begun
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped by the test"))
	r := f.runner(dir)
	req.Adopted = true
	for _, res := range []runner.Result{r.Attempt(ctx, req, runner.Hooks{}), <-first} {
		if res.Outcome != runner.Interrupted || res.Cost == 0 || res.Priced == "cap" || res.WIP == "" {
			t.Errorf("%+v", res)
		}
	}
}

// deafEngine does not take the first cancellations.
type deafEngine struct {
	remote.Engine
	left atomic.Int32
}

func (e *deafEngine) Cancel(ctx context.Context, id, reason string) error {
	if e.left.Add(-1) >= 0 {
		return errAway
	}
	return e.Engine.Cancel(ctx, id, reason)
}

// A cancellation that the engine did not take is tried again, so that the worker stops and tells its cost.
func TestCancelledAgain(t *testing.T) {
	t.Parallel()
	begun := make(chan string, 1)
	f := newCrew(t, waits(begun, nil))
	dir, req := f.request("a")
	engine := &deafEngine{Engine: f.engine}
	engine.left.Store(2)
	r := f.runner(dir)
	r.Engine = engine
	ctx, cancel := context.WithCancelCause(t.Context())
	res := make(chan runner.Result, 1)
	go func() { res <- r.Attempt(ctx, req, runner.Hooks{}) }()
	<-begun
	cancel(errors.New("stopped by the test"))
	if res := <-res; res.Outcome != runner.Interrupted || res.Cost == 0 || res.Priced == "cap" || engine.left.Load() >= 0 {
		t.Errorf("%+v", res)
	}
}

// An attempt that is stopped before a worker has taken it is not broken, also if the engine gives it up first.
func TestStoppedBeforeItWasTaken(t *testing.T) {
	t.Parallel()
	f := newCrew(t, nil)
	f.stop()
	dir, req := f.request("a")
	r := f.runner(dir)
	engine := &deafEngine{Engine: f.engine}
	engine.left.Store(math.MaxInt32)
	r.Engine = engine
	ctx, cancel := context.WithCancelCause(t.Context())
	res := make(chan runner.Result, 1)
	go func() { res <- r.Attempt(ctx, req, runner.Hooks{}) }()
	id := wire.ID("r-1", "a", 1)
	testrepo.Must(t, f.engine.AwaitStart(t.Context(), id))
	cancel(errors.New("stopped by the test"))
	f.engine.End(id, remote.NotTaken)
	if res := <-res; res.Outcome != runner.Interrupted || res.Cost != 0 ||
		!strings.Contains(res.Reason, "stopped by the test") {
		t.Errorf("%+v", res)
	}
}

// A result that was pushed is not lost with the engine, and its attempt is not made again.
func TestResultOutlivesTheEngine(t *testing.T) {
	t.Parallel()
	agent := works()
	f := newCrew(t, agent)
	dir, req := f.request("a")
	first := f.runner(dir).Attempt(t.Context(), req, runner.Hooks{})
	f.engine.Forget()
	r := f.runner(dir)
	req.Adopted = true
	again := r.Attempt(t.Context(), req, runner.Hooks{})
	if again.Outcome != runner.Done || again.Commit != first.Commit || again.Cost != first.Cost ||
		agent.turns.Load() != 1 || f.engine.Starts() != 0 {
		t.Errorf("%+v after %d turns, want %+v", again, agent.turns.Load(), first)
	}
}

// A pushed result that cannot be read is told, and the attempt is made.
func TestUnreadableResult(t *testing.T) {
	t.Parallel()
	f := newCrew(t, works())
	dir, req := f.request("a")
	r := f.runner(dir)
	logs, err := r.Ferry.Pack(t.Context(), "Logs", nil, map[string][]byte{wire.ResultFile: []byte("no JSON")})
	testrepo.Must(t, err)
	testrepo.Must(t, r.Ferry.Push(t.Context(), ferry.Ref{Name: ferry.Logs("r-1", "a", 1), Commit: logs}))
	req.Adopted = true
	var warned []string
	r.Warn = func(err error) { warned = append(warned, err.Error()) }
	res := r.Attempt(t.Context(), req, runner.Hooks{})
	if res.Outcome != runner.Done || len(warned) != 1 || !strings.Contains(warned[0], "/a/1: reading a result: invalid") {
		t.Errorf("%+v; told %q", res, warned)
	}
}

// If the run has a key, a pushed result counts only if a worker has sealed it for this attempt.
func TestForgedResult(t *testing.T) {
	t.Parallel()
	agent := works()
	f := newCrew(t, agent)
	f.stop()
	var err error
	f.key, err = wire.NewKey(bytes.Repeat([]byte{1}, wire.KeySize))
	testrepo.Must(t, err)
	f.addWorker("w2")
	dir, req := f.request("a")
	r := f.runner(dir)
	var warned []string
	r.Warn = func(err error) { warned = append(warned, err.Error()) }
	forged := []byte(`{"attempt":{"outcome":"done"}}`)
	for i, text := range [][]byte{forged, f.key.Seal(wire.ID("r-1", "b", 1), forged)} {
		req.Attempt = 1 + i
		logs, err := r.Ferry.Pack(t.Context(), "Logs", nil, map[string][]byte{wire.ResultFile: text})
		testrepo.Must(t, err)
		testrepo.Must(t, r.Ferry.Push(t.Context(), ferry.Ref{Name: ferry.Logs("r-1", "a", req.Attempt), Commit: logs}))
		req.Adopted = true
		res := r.Attempt(t.Context(), req, runner.Hooks{})
		if res.Worker != "w2" || int(agent.turns.Load()) != 1+i || len(warned) != 1+i ||
			!strings.Contains(warned[i], "is not sealed with this key") {
			t.Errorf("%+v after %d turns; told %q", res, agent.turns.Load(), warned)
		}
	}
	f.engine.Forget()
	again := f.runner(dir)
	req.Adopted = true
	if res := again.Attempt(t.Context(), req, runner.Hooks{}); res.Worker != "w2" || agent.turns.Load() != 2 {
		t.Errorf("a sealed result: %+v after %d turns", res, agent.turns.Load())
	}
}

// The end of a turn is told before its checks, and that they run. If its worker is lost then, only the checks are made
// again.
func TestTurnOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	agent := works()
	f := newCrew(t, agent)
	dir, req := f.request("a")
	gate := filepath.Join(t.TempDir(), "gate")
	req.Checks = []plan.Check{{Run: "test -e made.txt && while ! test -e '" + gate + "'; do sleep 0.05; done"}}
	turns := make(chan runner.Turn, 9)
	id := wire.ID("r-1", "a", 1)
	hooks := runner.Hooks{TurnEnded: func(turn runner.Turn) error { turns <- turn; return nil }}
	results := make(chan runner.Result, 1)
	checking := make(chan runner.Observation, 1)
	first := f.runner(dir)
	first.Observe = func(o runner.Observation) {
		if o.Kind == "" { // only where it runs
			return
		}
		select {
		case checking <- o:
		default: // the first is enough
		}
	}
	go func() { results <- first.Attempt(t.Context(), req, hooks) }()
	turn := <-turns
	if o := <-checking; o.Task != "a" || o.Worker != "w1" || o.Attempt != 1 || o.Kind != "checking" {
		t.Errorf("observed %+v", o)
	}
	if text := gitIn(t, dir, "show", turn.Result.WIP+":made.txt"); text != "made" || turn.Result.Cost == 0 {
		t.Errorf("the work of the turn is %q: %+v", text, turn)
	}
	testrepo.Must(t, f.engine.AwaitProgress(t.Context(), id, isTurn(id)))
	f.engine.End(id, remote.Lost)
	if res := <-results; res.Outcome != runner.Interrupted || res.Priced != "cap" && res.Cost != 0 || len(turns) != 0 {
		t.Errorf("lost: %+v, reported %d times more", res, len(turns))
	}
	f.engine.Forget()
	testrepo.Must(t, os.WriteFile(gate, nil, 0o600))
	r := f.runner(dir)
	req.Adopted = true
	res := r.Attempt(t.Context(), req, hooks)
	if res.Outcome != runner.Done || agent.turns.Load() != 1 {
		t.Errorf("%+v after %d turns", res, agent.turns.Load())
	}
}

// slowLooks is an engine that tells of the end of a turn when the attempt has ended.
type slowLooks struct {
	remote.Engine
	seen func()
}

func (e slowLooks) Progress(ctx context.Context, id string) ([]byte, error) {
	data, err := e.Engine.Progress(ctx, id)
	if data != nil && isTurn(id)(data) {
		e.seen()
		_, _, err = e.Engine.Wait(ctx, id)
	}
	return data, err
}

// The end of an attempt replaces the work of its turn on the git remote. A turn whose work is not there any more is not
// reported: the result follows.
func TestTurnIsOutrun(t *testing.T) {
	t.Parallel()
	f := newCrew(t, works())
	dir, req := f.request("a")
	gate := filepath.Join(t.TempDir(), "gate")
	req.Checks = []plan.Check{{Run: "test -e made.txt && while ! test -e '" + gate + "'; do sleep 0.05; done"}}
	r := f.runner(dir)
	r.Engine = slowLooks{f.engine, sync.OnceFunc(func() { testrepo.Must(t, os.WriteFile(gate, nil, 0o600)) })}
	r.Warn = func(err error) { t.Error(err) }
	res := r.Attempt(t.Context(), req, runner.Hooks{TurnEnded: func(turn runner.Turn) error {
		t.Errorf("reported without its work: %+v", turn)
		return nil
	}})
	if res.Outcome != runner.Done {
		t.Errorf("%+v", res)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	begun := make(chan string, 9)
	f := newCrew(t, waits(begun, nil))
	dir, req := f.request("a")
	req.Cap = budget.Dollar
	for end, want := range map[remote.End]struct {
		outcome runner.Outcome
		cost    budget.USD
		reason  string
	}{
		remote.Lost:     {runner.Interrupted, budget.Dollar, "lost: worker w1 was silent for " + heartbeat.String()},
		remote.TimedOut: {runner.Interrupted, budget.Dollar, "ran for longer than 40m0s"},
		remote.Gone:     {runner.Interrupted, budget.Dollar, "does not know it any more"},
		remote.NotTaken: {runner.Broken, 0, "no worker took it in 1m0s"},
		remote.Refused:  {runner.Broken, 0, "another key"},
	} {
		req := req
		req.Task = string(end)
		results := make(chan runner.Result, 1)
		go func() { results <- f.runner(dir).Attempt(t.Context(), req, runner.Hooks{}) }()
		<-begun
		id := wire.ID("r-1", req.Task, 1)
		testrepo.Must(t, f.engine.AwaitProgress(t.Context(), id, func([]byte) bool { return true }))
		f.engine.End(id, end)
		res := <-results
		if end == remote.Lost { // the look at the progress may not have come yet
			res.Reason = strings.Replace(res.Reason, "(unknown)", "w1", 1)
		}
		if res.Outcome != want.outcome || res.Cost != want.cost || !strings.Contains(res.Reason, want.reason) ||
			res.Signature == "" || res.Session != req.Session {
			t.Errorf("%s: %+v", end, res)
		}
	}
}

// A lost attempt counts at its cap, and at the cost that its worker has told if that is more.
func TestCostOfLostAttempts(t *testing.T) {
	t.Parallel()
	f := newCrew(t, nil)
	f.stop()
	dir, req := f.request("a")
	req.Cap = 2 * budget.Dollar
	gate := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	defer close(gate)
	costs := map[string]budget.USD{wire.ID("r-1", "a", 1): budget.Dollar, wire.ID("r-1", "a", 2): 3 * budget.Dollar}
	serving.Go(func() {
		f.engine.Serve(ctx, remote.Worker{Name: "w2"}, []string{f.key.Queue("")}, 2, func(task worker.Task) {
			m, _, err := wire.New(wire.KindProgress, task.ID(), "test", wire.Progress{Worker: "w2", Cost: costs[task.ID()]})
			message, encodeErr := m.Encode()
			if err := errors.Join(err, encodeErr, task.Beat(ctx, message)); err != nil {
				t.Error(err)
			}
			<-gate
		})
	})
	for attempt, want := range map[int]budget.USD{1: 2 * budget.Dollar, 2: 3 * budget.Dollar} {
		r, req := f.runner(dir), req
		req.Attempt = attempt
		told := make(chan struct{})
		r.Observe = func(runner.Observation) { close(told) }
		results := make(chan runner.Result, 1)
		go func() { results <- r.Attempt(t.Context(), req, runner.Hooks{}) }()
		<-told
		id := wire.ID("r-1", "a", attempt)
		f.engine.End(id, remote.Lost)
		bound := fmt.Sprintf("It had cost at least %s.", costs[id])
		if res := <-results; res.Cost != want || res.Priced != "cap" || res.Detail != bound || res.Worker != "w2" {
			t.Errorf("attempt %d: %+v", attempt, res)
		}
	}
}

// A worker that was lost and comes back pushes the result of its attempt, which has the cost.
func TestLateResult(t *testing.T) {
	t.Parallel()
	begun, gate := make(chan string, 1), make(chan struct{})
	agent := works()
	agent.turn = func(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
		end := agent.Agent.Turn(ctx, req)
		begun <- req.Dir
		<-gate // as if it were frozen
		end.Outcome, end.Cost = runner.Interrupted, 1234
		return end
	}
	f := newCrew(t, agent)
	dir, req := f.request("a")
	req.Cap = 2 * budget.Dollar
	r := f.runner(dir)
	results := make(chan runner.Result, 1)
	go func() { results <- r.Attempt(t.Context(), req, runner.Hooks{}) }()
	<-begun
	f.engine.End(wire.ID("r-1", "a", 1), remote.Lost)
	if res := <-results; res.Cost != req.Cap || res.Priced != "cap" {
		t.Errorf("lost as %+v", res)
	}
	other := req
	other.Attempt = 2
	if late, err := r.Late(t.Context(), req, other); err != nil || len(late) != 2 || late[0].Outcome != "" {
		t.Errorf("before it comes back: %+v, %v", late, err)
	}
	close(gate)
	var late []runner.Result
	for len(late) == 0 || late[0].Outcome == "" {
		var err error
		late, err = r.Late(t.Context(), other, req)
		testrepo.Must(t, err)
		slices.Reverse(late)
	}
	if res := late[0]; res.Cost != 1234 || res.Outcome != runner.Interrupted || late[1].Outcome != "" {
		t.Errorf("%+v", late)
	}
	var err error
	r.Key, err = wire.NewKey(bytes.Repeat([]byte{1}, wire.KeySize))
	testrepo.Must(t, err)
	if late, err := r.Late(t.Context(), req); err != nil || late[0].Outcome != "" {
		t.Errorf("with another key: %+v, %v", late, err)
	}
}

// While the engine is away an attempt goes on, and its result is told when it is back.
func TestEngineAway(t *testing.T) {
	t.Parallel()
	begun, gate := make(chan string, 1), make(chan struct{})
	f := newCrew(t, waits(begun, gate))
	dir, req := f.request("a")
	f.engine.SetAway(true)
	results := make(chan runner.Result, 1)
	r := f.runner(dir)
	r.Heartbeat = time.Minute // the worker does not give up
	go func() { results <- r.Attempt(t.Context(), req, runner.Hooks{}) }()
	_, err := r.Ferry.Find(t.Context(), "refs/none") // a round trip, so that the start fails now
	testrepo.Must(t, err)
	f.engine.SetAway(false)
	<-begun
	f.engine.SetAway(true)
	close(gate)
	logs := ferry.Logs("r-1", "a", 1)
	for found := map[string]string{}; found[logs] == ""; { // until the work is pushed
		found, err = r.Ferry.Find(t.Context(), logs)
		testrepo.Must(t, err)
	}
	f.engine.SetAway(false)
	if res := <-results; res.Outcome != runner.Done {
		t.Errorf("%+v", res)
	}
}

// An engine that stays away is given up after the wait for a worker.
func TestEngineStaysAway(t *testing.T) {
	t.Parallel()
	f := newCrew(t, works())
	dir, req := f.request("a")
	req.Cap = budget.Dollar
	f.engine.SetAway(true)
	r := f.runner(dir)
	r.QueueWait = 50 * time.Millisecond
	if res := r.Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != runner.Broken || f.engine.Starts() != 0 ||
		!strings.Contains(res.Reason, "the engine of the workers: "+errAway.Error()) {
		t.Errorf("%+v", res)
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	begun := make(chan string, 1)
	f := newCrew(t, waits(begun, nil))
	dir, req := f.request("a")
	cause := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	results := make(chan runner.Result, 1)
	go func() { results <- f.runner(dir).Attempt(ctx, req, runner.Hooks{}) }()
	<-begun
	cancel(cause)
	res := <-results
	if res.Outcome != runner.Interrupted || res.Cost == 0 || !strings.Contains(res.Reason, cause.Error()) {
		t.Errorf("%+v", res)
	}
	if text := gitIn(t, dir, "show", res.WIP+":made.txt"); text != "made" {
		t.Errorf("it left %q", text)
	}
}

// An attempt whose worker does not tell its end after it was cancelled counts at its cap.
func TestStopsWithoutAResult(t *testing.T) {
	t.Parallel()
	f := newCrew(t, nil)
	f.stop()
	dir, req := f.request("a")
	req.Cap = budget.Dollar
	taken, gate := make(chan struct{}), make(chan struct{})
	serving, end := context.WithCancel(t.Context())
	var worker2 sync.WaitGroup
	defer worker2.Wait()
	defer end()
	defer close(gate)
	worker2.Go(func() {
		f.engine.Serve(serving, remote.Worker{Name: "w2"}, []string{f.key.Queue("")}, 1, func(worker.Task) {
			close(taken)
			<-gate
		})
	})
	r := f.runner(dir)
	r.StopWait = 50 * time.Millisecond
	ctx, cancel := context.WithCancelCause(t.Context())
	results := make(chan runner.Result, 1)
	go func() { results <- r.Attempt(ctx, req, runner.Hooks{}) }()
	<-taken
	if ids := r.Awaited(); !slices.Equal(ids, []string{wire.ID("r-1", "a", 1)}) {
		t.Errorf("awaited %q", ids)
	}
	cancel(errors.New("stopped by the test"))
	if res := <-results; res.Outcome != runner.Interrupted || res.Cost != req.Cap || res.Priced != "cap" ||
		!strings.Contains(res.Reason, "its worker did not tell the result in time") {
		t.Errorf("%+v", res)
	}
}

// A worker that stops interrupts its attempts, and tells their results.
func TestWorkerStops(t *testing.T) {
	t.Parallel()
	begun := make(chan string, 1)
	f := newCrew(t, waits(begun, nil))
	f.stop()
	stop := f.addWorker("w2")
	dir, req := f.request("a")
	results := make(chan runner.Result, 1)
	go func() { results <- f.runner(dir).Attempt(t.Context(), req, runner.Hooks{}) }()
	<-begun
	stop()
	if res := <-results; res.Outcome != runner.Interrupted || res.Cost == 0 || res.WIP == "" || res.Worker != "w2" {
		t.Errorf("%+v", res)
	}
}

// A worker sets its worktrees up as the plan of the session says.
func TestSetupChanges(t *testing.T) {
	t.Parallel()
	f := newCrew(t, works())
	dir, req := f.request("a")
	req.Checks = []plan.Check{{Run: "test -e made-by-setup"}}
	r := f.runner(dir)
	for _, c := range []struct {
		setup string
		want  runner.Outcome
	}{{"true", runner.Wrong}, {"touch made-by-setup", runner.Done}, {"exit 7", runner.Broken}} {
		r.Setup.Run = c.setup
		if res := r.Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != c.want {
			t.Errorf("%s: %+v", c.setup, res)
		}
		req.Attempt++
	}
}

// edits returns an agent that tells of so many edits that neither its turn nor its result fits into a message.
func edits() *scripted {
	agent := works()
	agent.turn = func(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
		end := agent.Agent.Turn(ctx, req)
		end.Edits = map[string]int{}
		for i := range 2000 {
			end.Edits[strings.Repeat("x", 200)+fmt.Sprint(i)] = 2
		}
		return end
	}
	return agent
}

// A prompt and a result that are too long for a message travel by git. The progress does without a turn that is.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	agent := edits()
	turn := agent.turn
	prompt := strings.Repeat("long ", wire.MaxInline)
	var got atomic.Int64
	agent.turn = func(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
		got.Store(int64(len(req.Prompt)))
		return turn(ctx, req)
	}
	f := newCrew(t, agent)
	dir, req := f.request("a")
	req.Prompt = prompt
	for i := range 3000 {
		path := strings.Repeat("d/", 50) + strings.Repeat("f", i%90+1)
		req.Files = append(req.Files, plan.File{Path: path, Action: "create"})
	}
	req.Files = append(req.Files, plan.File{Path: "made.txt", Action: "create"})
	gate := filepath.Join(t.TempDir(), "gate")
	req.Checks = []plan.Check{{Run: "test -e made.txt && while ! test -e '" + gate + "'; do sleep 0.05; done"}}
	r := f.runner(dir)
	open := sync.OnceFunc(func() { testrepo.Must(t, os.WriteFile(gate, nil, 0o600)) })
	r.Observe = func(o runner.Observation) {
		if o.Kind == "checking" {
			open()
		}
	}
	r.Warn = func(err error) {
		t.Error(err)
		open()
	}
	res := r.Attempt(t.Context(), req, runner.Hooks{})
	if res.Outcome != runner.Done || len(res.Edits) != 2000 || got.Load() != int64(len(prompt)) {
		t.Errorf("%s %q, %d edits, a prompt of %d bytes", res.Outcome, res.Reason, len(res.Edits), got.Load())
	}
}

// The result of an attempt whose work could not be pushed comes in its message, also if that has no room for all of it.
func TestLongResultIsNotPushed(t *testing.T) {
	t.Parallel()
	f := newCrew(t, edits())
	dir, req := f.request("a")
	req.Cap = budget.Dollar
	hook := filepath.Join(f.bare, "hooks", "update")
	testrepo.Must(t, os.WriteFile(hook, []byte("#!/bin/sh\ncase $1 in *.away/*) echo not this; exit 1;; esac\n"), 0o755))
	res := f.runner(dir).Attempt(t.Context(), req, runner.Hooks{})
	if res.Outcome != runner.Broken || res.Cost == req.Cap || res.Priced == "cap" ||
		!strings.Contains(res.Reason, "worker w1 keeps the work, commit ") {
		t.Errorf("%s %q, cost %s", res.Outcome, res.Reason, res.Cost)
	}
}

// An attempt whose worker speaks another protocol, since wavex was upgraded while it ran, counts at its cap.
func TestResumedInAnotherProtocol(t *testing.T) {
	t.Parallel()
	f := newCrew(t, nil)
	f.stop()
	dir, req := f.request("a")
	req.Cap = 2 * budget.Dollar
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	serving.Go(func() {
		f.engine.Serve(ctx, remote.Worker{Name: "w2"}, []string{"wavex.1.open"}, 1, func(task worker.Task) {
			result := fmt.Appendf(nil, `{"protocol":1,"kind":"result","id":%q,"release":"0","body":{}}`, task.ID())
			if err := task.Complete(ctx, result); err != nil {
				t.Error(err)
			}
		})
	})
	id := wire.ID("r-1", "a", 1)
	testrepo.Must(t, f.engine.Start(t.Context(), remote.Activity{ID: id, Queue: "wavex.1.open"}))
	r := f.runner(dir)
	req.Adopted = true
	if res := r.Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != runner.Broken || res.Cost != req.Cap ||
		!strings.Contains(res.Reason, "protocol 1; this wavex speaks protocol 9") {
		t.Errorf("%+v", res)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	f := newCrew(t, works())
	dir, req := f.request("a")
	r := f.runner(dir)
	r.Repo = "ssh://other/repo"
	if res := r.Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != runner.Broken ||
		!strings.Contains(res.Reason, "worker w1: it does not work for the git remote ssh://other/repo") {
		t.Errorf("another remote: %+v", res)
	}
	req.Attempt, req.Settings.PermissionMode = 2, "bypassPermissions"
	if res := f.runner(dir).Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != runner.Broken ||
		!strings.Contains(res.Reason, "--allow-bypass") {
		t.Errorf("bypass: %+v", res)
	}
	req.Attempt, req.Settings.PermissionMode = 6, ""
	same := f.runner(dir)
	same.Release, same.Same = "other", true
	if res := same.Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != runner.Broken ||
		!strings.Contains(res.Reason, "worker w1: it has wavex test, and the run has other (see --same-version)") {
		t.Errorf("another version: %+v", res)
	}
	req.Attempt, same.Same = 7, false
	if res := same.Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != runner.Done {
		t.Errorf("another version that may be: %+v", res)
	}
	req.Attempt, req.Dir = 3, "../x"
	if res := f.runner(dir).Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != runner.Broken ||
		!strings.Contains(res.Reason, "outside of the repository") {
		t.Errorf("outside: %+v", res)
	}
	req.Attempt, req.Dir = 4, "."
	hook := filepath.Join(f.bare, "hooks", "update")
	testrepo.Must(t, os.WriteFile(hook, []byte("#!/bin/sh\ncase $1 in *.away/*) echo not this; exit 1;; esac\n"), 0o755))
	if res := f.runner(dir).Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != runner.Broken || res.Cost == 0 ||
		res.Commit != "" || !strings.Contains(res.Reason, "worker w1 keeps the work, commit ") {
		t.Errorf("a push that is refused: %+v", res)
	}
	testrepo.Must(t, os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755))
	gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "second")
	req.Attempt, req.Commit = 5, gitIn(t, dir, "rev-parse", "HEAD")
	if res := f.runner(dir).Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != runner.Broken || res.Cost != 0 ||
		f.engine.Starts() != 6 {
		t.Errorf("a base that is refused: %+v", res)
	}
}
