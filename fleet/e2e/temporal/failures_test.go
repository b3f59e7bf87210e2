package temporal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wavex/budget"
	poll "wavex/e2e/rig"
	"wavex/fleet/ferry"
	"wavex/fleet/remote"
	"wavex/fleet/remote/wire"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/runner/runnertest"
)

// This file has the rows of the table of failures in docs/workers.md.

// alive reports whether a process exists.
func alive(pid int) bool { return unix.Kill(pid, 0) == nil }

// awaitDeath returns when a process has ended.
func awaitDeath(t testing.TB, pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if !poll.Until(ctx, func() bool { return !alive(pid) }) {
		t.Fatalf("process %d lives on", pid)
	}
}

// A worker is killed in the middle of an attempt: the loss is told after a heartbeat, the attempt counts at its cap,
// its processes end, and another worker makes the next one.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	r.place.Heartbeat = 3 * time.Second
	first, g := r.startProcess("w1"), newGate(t)
	dir, req := r.request("a", g.command())
	req.Cap = budget.Dollar
	result := r.attempt(t.Context(), dir, req)
	pid := g.await()
	killed := time.Now()
	first.kill()
	res := <-result
	told := time.Since(killed)
	if res.Outcome != runner.Interrupted || res.Cost != budget.Dollar || res.Priced != "cap" ||
		!strings.Contains(res.Reason, "was silent for 3s") {
		t.Errorf("%+v", res)
	}
	if told > 30*time.Second { // every other limit is at least a minute
		t.Errorf("told after %s", told)
	}
	t.Logf("the loss was told after %s", told)
	awaitDeath(t, pid)
	r.place.Heartbeat = heartbeat
	r.startProcess("w2")
	req.Attempt, req.LogDir = 2, filepath.Join(filepath.Dir(req.LogDir), "attempt-2")
	result = r.attempt(t.Context(), dir, req)
	g.await()
	g.open()
	if res := <-result; res.Outcome != runner.Done || res.Worker != "w2" || res.Commit == "" {
		t.Errorf("%+v", res)
	}
}

// A worker is killed after it has pushed the work of a turn: the next attempt can begin with it.
func TestWorkerKilledAfterItsPush(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	first, g := r.startProcess("w1"), newGate(t)
	dir, req := r.request("a", "")
	req.Cap, req.Checks = budget.Dollar, []plan.Check{{Run: g.command()}}
	req.Rehearse = []byte(`{"cost": 0.01, "writes": [{"path": "made.txt", "content": "made"}]}`)
	turns := make(chan runner.Turn, 1)
	result := make(chan runner.Result, 1)
	go func() {
		result <- r.runner(dir).Attempt(t.Context(), req, runner.Hooks{TurnEnded: func(turn runner.Turn) error {
			turns <- turn
			return nil
		}})
	}()
	g.await() // the check before the turn
	g.open()
	turn := <-turns
	pid := g.await()
	first.kill()
	res := <-result
	if res.Outcome != runner.Interrupted || res.WIP != turn.Result.WIP || res.Cost != budget.Dollar {
		t.Errorf("%+v", res)
	}
	if text := testrepo.Git(t, dir, "show", res.WIP+":made.txt"); text != "made" {
		t.Errorf("the work is %q", text)
	}
	awaitDeath(t, pid)
}

// A worker is frozen until the server has given up its attempt. When it is back it stops the attempt, pushes its work,
// and tells no result.
func TestWorkerFrozen(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	first, g := r.startProcess("w1"), newGate(t)
	dir, req := r.request("a", g.command())
	result := r.attempt(t.Context(), dir, req)
	pid := g.await()
	first.signal(t, unix.SIGSTOP)
	if res := <-result; res.Outcome != runner.Interrupted || !strings.Contains(res.Reason, "was silent for 6s") {
		t.Errorf("%+v", res)
	}
	if !alive(pid) {
		t.Error("the command has ended before its worker was back")
	}
	first.signal(t, unix.SIGCONT)
	awaitDeath(t, pid)
	f := ferry.New(t.Context(), dir, r.place.Bare, os.Environ())
	work := ferry.Work(r.run(), "a", 1)
	poll.Until(t.Context(), func() bool {
		found, err := f.Find(t.Context(), work)
		testrepo.Must(t, err)
		return found[work] != ""
	})
	testrepo.Must(t, f.Fetch(t.Context(), work))
	if text := testrepo.Git(t, dir, "show", work+":made.txt"); text != "made\n" {
		t.Errorf("the work is %q", text)
	}
	if _, end, err := r.client.Wait(t.Context(), r.id("a")); end != remote.Lost || err != nil {
		t.Errorf("the attempt ends as %s, %v", end, err)
	}
}

// A worker that does not reach the server stops its attempt before the server gives it up. Its result, which is pushed,
// counts.
func TestWorkerCutOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	r.place.Heartbeat = 90 * time.Second // the last tenth is for the stop and the push
	cable, behind := newProxy(t, sharedServer(t))
	direct := r.place.Address
	r.place.Address = behind.address
	r.startProcess("w1")
	r.place.Address = direct
	g := newGate(t)
	dir, req := r.request("a", g.command())
	result := r.attempt(t.Context(), dir, req)
	pid := g.await()
	cable.setAway(true)
	cut := time.Now()
	awaitDeath(t, pid)
	t.Logf("the command was stopped after %s", time.Since(cut))
	res := <-result
	if res.Outcome != runner.Interrupted || res.Worker != "w1" || res.WIP == "" || res.Priced == "cap" {
		t.Errorf("%+v", res)
	}
}

// The server is away for less than a heartbeat: the attempt does not notice.
func TestServerAwayShortly(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	cable, behind := newProxy(t, s)
	r := newRig(t, behind)
	r.place.Heartbeat = time.Minute
	r.startProcess("w1")
	g := newGate(t)
	dir, req := r.request("a", g.command())
	result := r.attempt(t.Context(), dir, req)
	pid := g.await()
	away(t, s, cable, 8*time.Second)
	if !alive(pid) {
		t.Error("the attempt was stopped")
	}
	g.open()
	if res := <-result; res.Outcome != runner.Done || res.Commit == "" {
		t.Errorf("%+v", res)
	}
}

// away makes the server go away for a time: it is frozen, and its connections are cut.
func away(t testing.TB, s *server, cable *proxy, d time.Duration) {
	t.Helper()
	s.signal(t, unix.SIGSTOP)
	cable.setAway(true)
	time.Sleep(d)
	cable.setAway(false)
	s.signal(t, unix.SIGCONT)
}

// The server is away while attempts end, for longer than the SDK waits and than a heartbeat. No result is lost.
func TestServerAwayOverAnEnd(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	cable, behind := newProxy(t, s)
	r := newRig(t, behind)
	r.place.Heartbeat = time.Minute
	r.startProcess("w1")
	var gates []*gate
	var results []<-chan runner.Result
	for i := range 3 {
		g := newGate(t)
		dir, req := r.request(fmt.Sprint("a", i), g.command())
		gates, results = append(gates, g), append(results, r.attempt(t.Context(), dir, req))
		g.await()
	}
	opened := time.AfterFunc(5*time.Second, func() {
		for _, g := range gates {
			g.open()
		}
	})
	defer opened.Stop()
	away(t, s, cable, 75*time.Second)
	for _, result := range results {
		if res := <-result; res.Outcome != runner.Done || res.Commit == "" {
			t.Errorf("%+v", res)
		}
	}
}

// A cancelled attempt whose stop takes longer than a heartbeat still tells its result, with its cost.
func TestSlowStop(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	begun := make(chan struct{})
	agent := &scripted{Agent: runnertest.StandIn(runnertest.Works)}
	agent.turn = func(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
		end := agent.Agent.Turn(ctx, req)
		close(begun)
		<-ctx.Done()
		time.Sleep(2 * heartbeat)
		end.Outcome, end.Reason = runner.Interrupted, "stopped: "+context.Cause(ctx).Error()
		return end
	}
	r.startWorker("w1", agent)
	dir, req := r.request("a", "")
	req.Cap = budget.Dollar
	ctx, cancel := context.WithCancelCause(t.Context())
	result := r.attempt(ctx, dir, req)
	<-begun
	cancel(errors.New("stopped by the test"))
	if res := <-result; res.Outcome != runner.Interrupted || res.Cost != budget.Dollar/100 || res.WIP == "" ||
		!strings.Contains(res.Reason, "stopped by the test") {
		t.Errorf("%+v", res)
	}
}

// A prompt that the server would refuse travels by git.
func TestLongPrompt(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	agent := &scripted{Agent: runnertest.StandIn(runnertest.Works)}
	got := make(chan int, 1)
	agent.turn = func(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
		got <- len(req.Prompt)
		return agent.Agent.Turn(ctx, req)
	}
	r.startWorker("w1", agent)
	dir, req := r.request("a", "")
	req.Prompt = strings.Repeat("x", 3<<20)
	if res := <-r.attempt(t.Context(), dir, req); res.Outcome != runner.Done {
		t.Fatalf("%+v", res)
	}
	if n := <-got; n != 3<<20 {
		t.Errorf("the agent got %d bytes", n)
	}
}

// A git remote that refuses the work stops the task, and the worker keeps it.
func TestPushRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	hook := filepath.Join(r.place.Bare, "hooks", "update")
	testrepo.Must(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	const refuse = "#!/bin/sh\ncase $1 in *.away/*) echo not here >&2; exit 1;; esac\n"
	testrepo.Must(t, os.WriteFile(hook, []byte(refuse), 0o755))
	w := r.startProcess("w1")
	dir, req := r.request("a", "echo made > made.txt")
	res := <-r.attempt(t.Context(), dir, req)
	if res.Outcome != runner.Broken || res.Commit != "" ||
		!strings.Contains(res.Reason, "worker w1 keeps the work, commit ") {
		t.Fatalf("%+v", res)
	}
	_, after, _ := strings.Cut(res.Reason, "commit ")
	kept, _, _ := strings.Cut(after, ":")
	repos, err := filepath.Glob(filepath.Join(w.dir, "repos", "*"))
	testrepo.Must(t, err)
	if len(repos) != 1 || testrepo.Git(t, repos[0], "cat-file", "-t", kept) != "commit\n" {
		t.Errorf("the worker has no commit %q in %q", kept, repos)
	}
}

// Workers with another key or protocol get no attempt. It is given up after the wait.
func TestNoWorker(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	newRig(t, sharedServer(t)).startWorker("another key", runnertest.StandIn(runnertest.Works))
	dir, req := r.request("a", "true")
	run := r.runner(dir)
	run.QueueWait = time.Second
	if res := run.Attempt(t.Context(), req, runner.Hooks{}); res.Outcome != runner.Broken || res.Cost != 0 ||
		!strings.Contains(res.Reason, "no worker took it in 1s") {
		t.Errorf("%+v", res)
	}
}

// A worker makes no attempt of a request in another protocol, and says so.
func TestOtherProtocol(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	r.startWorker("w1", runnertest.StandIn(runnertest.Works))
	a := r.activity("a")
	a.Request = fmt.Appendf(nil, `{"protocol":1,"kind":"request","id":%q,"release":"0","repo":%q,"body":{}}`, a.ID,
		r.place.Bare)
	testrepo.Must(t, r.client.Start(t.Context(), a))
	data, end, err := r.client.Wait(t.Context(), a.ID)
	if end != remote.Completed || err != nil {
		t.Fatalf("%s, %v", end, err)
	}
	m, err := wire.Parse(wire.KindResult, a.ID, data)
	testrepo.Must(t, err)
	var res runner.Result
	testrepo.Must(t, m.Decode(&res))
	if res.Outcome != runner.Broken || !strings.Contains(res.Reason, "protocol 1; this wavex speaks protocol 9") {
		t.Errorf("%+v", res)
	}
}
