package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"wavex/budget"
	"wavex/e2e/rig"
	"wavex/internal/fakeapi"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// A signal stops a fleet at any moment: within seven seconds, with the costs of all turns on record and
// no process left. The resume pays for no turn that had ended.
func TestSignalledFleet(t *testing.T) {
	t.Parallel()
	tasks := 3 // each has three requests, or four after a cut
	if *allCases {
		tasks = 6
	}
	for requests := 1; requests < 3*tasks-2; requests += 4 {
		t.Run(strconv.Itoa(requests), func(t *testing.T) {
			t.Parallel()
			onCLIs(t, requests == 5, func(t *testing.T, c cli) { signalledFleet(t, c, tasks, requests) })
		})
	}
}

// stubbornWriters write their file twice, and until it is there: the signal may cut a tool call, which then counts as
// used in the continued session.
func stubbornWriters(n int) (all []*fakeapi.Agent) {
	for i := range n {
		a := fileWriter(i)
		then := fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
			name := "f" + strconv.Itoa(i) + ".txt"
			if _, err := os.Stat(filepath.Join(r.Dir(), name)); r.ToolTurns() < 2 || err != nil {
				return fakeapi.Use(fakeapi.Write(name, "sheep\n")).WithUsage(use)
			}
			return report("true").WithUsage(use)
		})
		a.Then = &then
		all = append(all, a)
	}
	return all
}

func signalledFleet(t *testing.T, c cli, tasks, requests int) {
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: stubbornWriters(tasks)})
	env := Env(t, srv)
	r := newRepo(t, manyTasks(tasks, 3)).on(c)
	w := r.wavexEnv(env, "run", "plan.json", "--output", "json")
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	if !rig.Until(ctx, func() bool { return len(srv.Requests()) >= requests }) {
		t.Fatalf("there are no %d requests", requests)
	}
	e := w.interrupted(syscall.SIGTERM)
	_, last := e.events(t)
	if e.exit != 143 {
		t.Fatalf("stopped: exit %d\n%s", e.exit, e.stderr)
	}
	home := slices.IndexFunc(env, func(s string) bool { return strings.HasPrefix(s, "HOME=") })
	mustBeGone(t, env[home], goneTime, "the end")
	// A response that the signal cuts is charged, and the CLI has not told its usage.
	within := func(last event) {
		t.Helper()
		if off := srv.Charged() - budget.FromFloat(last.CostUSD); off < 0 || off > 3*7_650 {
			t.Errorf("the ledger says %s, the API charged %s", budget.FromFloat(last.CostUSD), srv.Charged())
		}
	}
	within(last)
	e = r.wavexEnv(env, "resume", "--output", "json").end()
	all, last := e.events(t)
	if e.exit != 0 || last.Tasks.Completed != tasks {
		t.Fatalf("resumed: exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	within(last)
	journal, err := os.ReadFile(loop.In(r.dir).Path(loop.Journal))
	testrepo.Must(t, err)
	if n := strings.Count(string(journal), `"type":"turn_ended"`); n != tasks {
		t.Errorf("%d turns of %d tasks have ended, %d events in the resume", n, tasks, len(all))
	}
}
