package e2e

// This file kills wavex, the CLI, or both in runs with long responses, and checks the ledger
// afterwards, and that every command prints the same figures.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"wavex/budget"
	"wavex/internal/fakeapi"
	"wavex/internal/testrepo"
)

// heavyUsage costs 0.1275 dollars at the tests' prices, nearly all of it output.
var heavyUsage = fakeapi.Usage{Input: 1_000, Output: 8_000, CacheRead: 10_000, CacheWrite: 400}

const heavyCost budget.USD = 127_500

// responses is the number of heavy responses of a task before the kill.
const responses = 11

// heavyAgents returns the agents of n tasks: heavy responses one after another, then the file.
func heavyAgents(n int) (all []*fakeapi.Agent) {
	for i := range n {
		plain := fileWriter(i)
		then := fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
			switch n := r.ToolTurns(); {
			case n < responses:
				return fakeapi.Use(fakeapi.Bash("true " + strconv.Itoa(n))).WithUsage(heavyUsage)
			case n == responses:
				return fakeapi.Use(fakeapi.Write("f"+strconv.Itoa(i)+".txt", "sheep\n")).WithUsage(use)
			}
			return report("true").WithUsage(use)
		})
		plain.Then = &then
		all = append(all, plain)
	}
	return all
}

func TestLedgerAfterKill(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		wavex, cli bool // the processes to kill
	}{{"wavex", true, false}, {"the CLI", false, true}, {"both", true, true}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onCLIs(t, test.wavex && test.cli, func(t *testing.T, c cli) { ledgerAfterKill(t, c, test.wavex, test.cli) })
		})
	}
}

func ledgerAfterKill(t *testing.T, c cli, killWavex, killCLI bool) {
	const processes = 2
	gate := fakeapi.NewLatch()
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: waitingAgents(heavyAgents(processes), responses, gate)})
	env := Env(t, srv)
	mark := env[slices.IndexFunc(env, func(s string) bool { return strings.HasPrefix(s, "HOME=") })]
	r := newRepo(t, manyTasksPlan{n: processes, parallel: processes, model: model, tools: `"Bash"`}.String()).on(c)
	w := r.wavexEnv(env, "run", "plan.json", "--output", "json")
	awaitAll(t, srv, processes, responses)
	if killWavex {
		testrepo.Must(t, w.cmd.Process.Kill())
	}
	if n := killMarked(t, mark, c); killCLI && !killWavex && n != processes {
		t.Fatalf("%d processes of the CLI killed, want %d", n, processes)
	}
	within := func(what string, spent, charged budget.USD) {
		t.Helper()
		if off := charged - spent; max(off, -off) > processes*heavyCost {
			t.Errorf("%s says %d, the API charged %d: off by more than a response of each process", what, spent, charged)
		}
	}
	if !killWavex {
		gate.Open()
		e := w.end()
		_, last := e.events(t)
		if e.exit != 0 || last.Tasks.Completed != processes {
			t.Fatalf("exit %d, %s\n%s", e.exit, last.Data, e.stderr)
		}
		within("the run", budget.FromFloat(last.CostUSD), srv.Charged())
		return
	}
	w.end()
	mustBeGone(t, mark, goneTime, "the kill")
	charged := srv.Charged()
	if charged != processes*responses*heavyCost {
		t.Fatalf("charged %d before the kill", charged)
	}
	before := r.figures(env)
	within("status", before, charged)

	gate.Open()
	e := r.wavexEnv(env, "resume", "--output", "json").end()
	_, last := e.events(t)
	if e.exit != 0 || last.Tasks.Completed != processes {
		t.Fatalf("resumed: exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	after := budget.FromFloat(last.CostUSD)
	if more := srv.Charged() - charged; after != before+more {
		t.Errorf("resume says %d, after %d of a killed run and %d charged since", after, before, more)
	}
	within("resume", after, srv.Charged())
}

// killMarked kills the processes of the CLI whose environment contains an entry, and returns
// their number.
func killMarked(t *testing.T, entry string, c cli) (n int) {
	t.Helper()
	path, err := filepath.EvalSymlinks(c.path)
	testrepo.Must(t, err)
	for pid, fd := range marked(t, entry) {
		if exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); err == nil && exe == path {
			if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err == nil {
				n++
			}
		}
		_ = unix.Close(fd)
	}
	return n
}

var (
	costOfTasks = regexp.MustCompile(`(?:tasks \| |Cost: )(\$[0-9.]+)/`)
	costSpent   = regexp.MustCompile(`(\$[0-9.]+) spent`)
)

// figures returns the cost of a run according to status, and checks that runs, watch and cancel
// print the same. It cancels a copy.
func (r repo) figures(env []string) budget.USD {
	r.t.Helper()
	ask := func(r repo, args ...string) string {
		r.t.Helper()
		e := r.wavexEnv(env, args...).end()
		if e.exit != 0 {
			r.t.Fatalf("wavex %v: exit %d\n%s", args, e.exit, e.stderr)
		}
		return e.stdout + e.stderr
	}
	var status struct {
		Cost float64 `json:"cost_usd"`
	}
	var runs struct {
		Runs []struct {
			Cost float64 `json:"cost_usd"`
		}
	}
	if err := json.Unmarshal([]byte(ask(r, "status", "--output", "json")), &status); err != nil {
		r.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(ask(r, "runs", "--output", "json")), &runs); err != nil || len(runs.Runs) != 1 {
		r.t.Fatalf("%v: %+v", err, runs)
	}
	if runs.Runs[0].Cost != status.Cost {
		r.t.Errorf("runs says %v, status %v", runs.Runs[0].Cost, status.Cost)
	}
	copied := repo{r.t, filepath.Join(r.t.TempDir(), "copy"), r.cli}
	if err := os.CopyFS(copied.dir, os.DirFS(r.dir)); err != nil {
		r.t.Fatal(err)
	}
	want := only(r.t, costOfTasks, ask(r, "status"))
	if got := only(r.t, costOfTasks, ask(r, "watch", "--plain")); got != want {
		r.t.Errorf("watch says %s, status %s", got, want)
	}
	if got := only(r.t, costSpent, ask(copied, "cancel")); got != want {
		r.t.Errorf("cancel says %s, status %s", got, want)
	}
	return budget.FromFloat(status.Cost)
}

// only returns the first group of a pattern's first match.
func only(t *testing.T, pattern *regexp.Regexp, text string) string {
	t.Helper()
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in\n%s", pattern, text)
	}
	return m[1]
}
