//go:build unix

package e2e

// This file checks that the ledger of a run equals the API's charges, to the micro-dollar, for
// every course of a run.

import (
	"cmp"
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"wavex/budget"
	"wavex/e2e/rig"
	"wavex/internal/fakeapi"
	"wavex/internal/jsonobject"
)

// checkLedger checks that a run's ledger equals the API's charges.
func checkLedger(t *testing.T, srv *fakeapi.Server, last event) {
	t.Helper()
	if spent, charged := budget.FromFloat(last.CostUSD), srv.Charged(); spent != charged || charged == 0 {
		t.Errorf("the ledger says %d, the API charged %d", spent, charged)
	}
}

// Panels and reviews are in TestPanelAdvisesTheRetry and TestReviewedToCompletion.
func TestLedgerMatchesCharges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		of   manyTasksPlan
		both bool
	}{
		{"chain", manyTasksPlan{n: 4, parallel: 4, chained: true, model: model}, false},
		{"chain on the default model", manyTasksPlan{n: 3, parallel: 1, chained: true}, true},
		{"worktrees", manyTasksPlan{n: 4, parallel: 2, model: model, isolation: "worktree"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onCLIs(t, test.both, func(t *testing.T, c cli) {
				srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: fileWriters(test.of.n)})
				r := newRepo(t, "-- .gitignore --\n.loop\n"+test.of.String()).on(c)
				if test.of.isolation != "" {
					gitRepo(t, r.dir)
				}
				e := r.wavex(srv, "run", "plan.json", "--output", "json").end()
				_, last := e.events(t)
				if e.exit != 0 || last.Tasks.Completed != test.of.n {
					t.Fatalf("exit %d, %s\n%s", e.exit, last.Data, e.stderr)
				}
				checkLedger(t, srv, last)
				name := cmp.Or(test.of.model, per(c, "claude-opus-5", "claude-opus-5-5"))
				costs := r.wavexIn(func() {}, Env(t, srv), "costs", "--by", "model", "--output", "json").end()
				row := jsonobject.Value(costs.stdout).Get("rows.0") // its model is like claude-opus-5[1m]
				if !strings.HasPrefix(row.Get("key").Text(), name) ||
					budget.FromFloat(row.Get("cost_usd").Float()) != srv.Charged() {
					t.Errorf("wavex costs says\n%s\n%s, the API charged %d", costs.stdout, costs.stderr, srv.Charged())
				}
			})
		})
	}
}

// A retry in the same session resumes it: the former turns of the session are not charged again.
func TestLedgerOfRetriesInOneSession(t *testing.T) {
	t.Parallel()
	eachCLI(t, func(t *testing.T, c cli) {
		srv := fakeapi.New(t, fakeapi.Script{Prices: prices,
			Agents: []*fakeapi.Agent{{When: task("T-001"), Steps: []fakeapi.Reply{
				report("true"), // a false report, twice
				fakeapi.Use(fakeapi.Write("f0.txt", "goats\n")).WithUsage(use), report("true"),
				fakeapi.Use(fakeapi.Edit("f0.txt", "goats", "sheep")).WithUsage(use), report("true"),
			}}}})
		e := newRepo(t, manyTasks(1, 1)).on(c).wavexEnv(Env(t, srv, "WAVEX_OPT_RETRY_SESSION=same"), "run", "plan.json",
			"--output", "json", "--counsel", "off").end()
		_, last := e.events(t)
		if e.exit != 0 || last.Iterations != 3 {
			t.Fatalf("exit %d, %s\n%s", e.exit, last.Data, e.stderr)
		}
		checkLedger(t, srv, last)
		asked := srv.Messages(nil)
		for _, r := range asked[1:] {
			if r.Session() != asked[0].Session() {
				t.Errorf("request %d is of session %s, the first of %s", r.Index, r.Session(), asked[0].Session())
			}
		}
	})
}

// worked matches the request with the results of a task's nth use of tools.
func worked(id string, n int) fakeapi.Match {
	return fakeapi.All(task(id), func(r *fakeapi.Request) bool { return r.ToolTurns() == n })
}

// waitingAgents returns agents that wait at a gate once they have used tools n times.
func waitingAgents(agents []*fakeapi.Agent, n int, gate *fakeapi.Latch) []*fakeapi.Agent {
	for _, a := range agents {
		plain := a.Then.Compute
		held := fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
			reply := plain(r)
			if r.ToolTurns() == n {
				reply = reply.WaitingFor(gate)
			}
			return reply
		})
		a.Then = &held
	}
	return agents
}

// awaitAll waits for a request of each of the first n tasks that has used tools that often.
func awaitAll(t *testing.T, srv *fakeapi.Server, n, times int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	for _, a := range fileWriters(n) {
		if _, err := srv.Wait(ctx, worked(a.Name, times)); err != nil {
			t.Fatalf("%s: %v", a.Name, err)
		}
	}
}

// interrupted sends a run a signal, which interrupts it at once. It must be over within seven seconds, as
// counted by rig.Within.
func (w *wavexRun) interrupted(s syscall.Signal) wavexEnd {
	w.t.Helper()
	if err := w.cmd.Process.Signal(s); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), testLimit)
	defer cancel()
	if took, ok := rig.Within(ctx, 7*time.Second, func() bool { return len(w.done) > 0 }); !ok {
		w.t.Errorf("%s has not ended it after %s", s, took)
	}
	return w.end()
}

func TestLedgerOfAResumedRun(t *testing.T) {
	t.Parallel()
	eachCLI(t, func(t *testing.T, c cli) {
		gate := fakeapi.NewLatch()
		srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: waitingAgents(fileWriters(3), 1, gate)})
		env := Env(t, srv)
		r := newRepo(t, manyTasks(3, 2)).on(c)
		w := r.wavexEnv(env, "run", "plan.json", "--output", "json")
		awaitAll(t, srv, 2, 1)
		e := w.interrupted(syscall.SIGTERM)
		_, last := e.events(t)
		if e.exit != 143 {
			t.Fatalf("stopped: exit %d, want 143\n%s", e.exit, e.stderr)
		}
		checkLedger(t, srv, last)
		gate.Open()
		e = r.wavexEnv(env, "resume", "--output", "json").end()
		_, last = e.events(t)
		if e.exit != 0 || last.Tasks.Completed != 3 {
			t.Fatalf("resumed: exit %d, %s\n%s", e.exit, last.Data, e.stderr)
		}
		checkLedger(t, srv, last)
	})
}
