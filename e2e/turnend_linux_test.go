package e2e

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"wavex/budget"
	"wavex/e2e/rig"
	"wavex/internal/fakeapi"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// Three agents are done and one is at work when wavex is killed. The resume pays for a second turn of
// the one that was at work, and for no other.
func TestEndedTurnsArePaidOnce(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"shared", "worktree"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			onCLIs(t, isolation == "shared", func(t *testing.T, c cli) { endedTurnsArePaidOnce(t, c, isolation) })
			for n := range *killsOfRun {
				t.Run(strconv.Itoa(n+1), func(t *testing.T) {
					t.Parallel()
					killedAtRecord(t, shared.cli, isolation, n+1)
				})
			}
		})
	}
}

// startFourTasks starts a run of four agents at once.
func startFourTasks(t *testing.T, c cli, env []string, isolation string) (r repo, w *wavexRun, journal string) {
	t.Helper()
	r = newRepo(t, manyTasksPlan{n: 4, parallel: 4, model: model, isolation: isolation, tools: `"Bash"`}.String()).on(c)
	if isolation == "worktree" {
		testrepo.Git(t, r.dir, "init", "-q")
		testrepo.Git(t, r.dir, "add", "plan.json")
		testrepo.Git(t, r.dir, "commit", "-q", "-m", "plan")
	}
	w = r.wavexEnv(env, "run", "plan.json", "--output", "json", "--review", "off", "--accept-assumptions")
	return r, w, filepath.Join(r.dir, loop.Name, "journal.jsonl")
}

// killsOfRun is the number of further moments: at the first record of the journal, the second, and so on.
var killsOfRun = flag.Int("kills", 0, "how many more times TestEndedTurnsArePaidOnce kills, at one record each")

// killedAtRecord kills wavex when the journal has n records. A task whose turn had ended gets no other one.
func killedAtRecord(t *testing.T, c cli, isolation string, n int) {
	gate := fakeapi.NewLatch()
	open := sync.OnceFunc(gate.Open)
	agents := append(fileWriters(3), waitingAgents([]*fakeapi.Agent{fileWriter(3)}, 2, gate)...)
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: agents})
	env := Env(t, srv)
	r, w, journal := startFourTasks(t, c, env, isolation)
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	var text []byte
	reached := rig.Until(ctx, func() bool {
		text, _ = os.ReadFile(journal)
		if bytes.Count(text, []byte(`"turn_ended"`)) == 3 {
			open() // the slow one ends, for the later records
		}
		// The first line is the header. A short journal ends before n records.
		return bytes.Count(text, []byte("\n")) > n || bytes.Contains(text, []byte(`"run_ended"`))
	})
	if !reached {
		t.Fatalf("the journal does not reach %d records", n)
	}
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	w.end()
	if err := srv.Idle(ctx); err != nil {
		t.Fatal(err)
	}
	text, _ = os.ReadFile(journal)
	open()
	charged := srv.Charged()
	e := r.wavexEnv(env, "resume", "--output", "json").end()
	if bytes.Contains(text, []byte(`"run_ended"`)) {
		return // killed after the end: there is nothing to resume
	}
	if _, last := e.events(t); e.exit != 0 || last.Tasks.Completed != 4 {
		t.Fatalf("resumed: exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	cut := 4
	for _, a := range agents {
		ended := bytes.Contains(text, []byte(`"turn_ended","data":{"task":"`+a.Name+`"`))
		if ended {
			cut--
		}
		if turns := len(srv.Messages(worked(a.Name, 0))); turns != 1 && (ended || turns > 2) {
			t.Errorf("%s had %d turns, ended before the kill: %t", a.Name, turns, ended)
		}
	}
	if more := srv.Charged() - charged; more > budget.USD(cut)*3*7_650 {
		t.Errorf("the resume is charged %d for %d tasks", more, cut)
	}
}

func endedTurnsArePaidOnce(t *testing.T, c cli, isolation string) {
	const responseCost budget.USD = 7_650
	gate := fakeapi.NewLatch()
	agents := append(fileWriters(3), waitingAgents([]*fakeapi.Agent{fileWriter(3)}, 2, gate)...)
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: agents})
	env := Env(t, srv)
	r, w, journal := startFourTasks(t, c, env, isolation)
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	ended := func() bool {
		text, _ := os.ReadFile(journal)
		return bytes.Count(text, []byte(`"turn_ended"`)) == 3
	}
	if _, err := srv.Wait(ctx, worked("T-004", 2)); err != nil || !rig.Until(ctx, ended) {
		t.Fatalf("three turns do not end: %v", err)
	}
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	w.end()
	// The killed agent's request would be answered, and charged, if the gate opened before its connection is cut.
	if err := srv.Idle(ctx); err != nil {
		t.Fatal(err)
	}
	charged := srv.Charged()
	gate.Open()
	e := r.wavexEnv(env, "resume", "--output", "json").end()
	_, last := e.events(t)
	if e.exit != 0 || last.Tasks.Completed != 4 {
		t.Fatalf("resumed: exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	for i, a := range agents {
		if n := len(srv.Messages(worked(a.Name, 0))); i < 3 && n != 1 {
			t.Errorf("%s had %d turns", a.Name, n)
		}
	}
	if more := srv.Charged() - charged; more > 3*responseCost {
		t.Errorf("the resume is charged %d, more than a turn", more)
	}
	// The response that the kill cut is charged, and the CLI has not told its usage.
	if spent := budget.FromFloat(last.CostUSD); spent > srv.Charged() || srv.Charged()-spent > responseCost {
		t.Errorf("the ledger says %d, the API charged %d", spent, srv.Charged())
	}
}
