//go:build unix

package e2e

// This file compares a run's promise about money with the API's real charges.

import (
	"fmt"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/fakeapi"
)

// manyTasksPlan is a plan of n tasks, each of which writes one file.
type manyTasksPlan struct {
	n, parallel int
	model       string // "" means the CLI's default
	chained     bool   // each task waits for the one before
	isolation   string
	tools       string // allowed to all, as JSON strings
}

func (f manyTasksPlan) String() string {
	var tasks []string
	for i := range f.n {
		after := ""
		if f.chained && i > 0 {
			after = fmt.Sprintf(`"blockedBy": ["T-%03d"], `, i)
		}
		tasks = append(tasks, fmt.Sprintf(`{"id": "T-%03d", "subject": "Write file %d", %s
  "files": [{"path": "f%d.txt", "action": "create"}], "verify": [{"file": "f%d.txt", "contains": "sheep"}]}`, i+1, i,
			after, i, i))
	}
	defaults := fmt.Sprintf(`"allowedTools": [%s]`, f.tools)
	if f.model != "" {
		defaults += fmt.Sprintf(`, "model": %q`, f.model)
	}
	isolation := f.isolation
	if isolation == "" {
		isolation = "auto"
	}
	return fmt.Sprintf(
		"-- plan.json --\n{\"version\": 1, \"name\": \"sheep\", \"parallel\": %d, \"isolation\": %q, \"defaults\": {%s},\n\"tasks\": [\n%s\n]}\n",
		f.parallel, isolation, defaults, strings.Join(tasks, ",\n"))
}

// manyTasks returns a plan of n independent tasks, each of which writes one file.
func manyTasks(n, parallel int) string {
	return manyTasksPlan{n: n, parallel: parallel, model: model}.String()
}

// fileWriter writes the file of a task of sheep, looks around once, and reports: three replies in
// each session, however often it is started.
func fileWriter(i int) *fakeapi.Agent {
	id := fmt.Sprintf("T-%03d", i+1)
	then := fakeapi.Computed(func(r *fakeapi.Request) fakeapi.Reply {
		switch r.ToolTurns() {
		case 0:
			return fakeapi.Use(fakeapi.Write(fmt.Sprintf("f%d.txt", i), "sheep\n")).WithUsage(use)
		case 1:
			return fakeapi.Use(fakeapi.Bash("pwd")).WithUsage(use)
		}
		return report("true").WithUsage(use)
	})
	return &fakeapi.Agent{Name: id, When: task(id), Then: &then}
}

func fileWriters(n int) (all []*fakeapi.Agent) {
	for i := range n {
		all = append(all, fileWriter(i))
	}
	return all
}

// Four processes at once on five cents, with responses of 0.00765 dollars: the ledger equals the
// API's charges, and overshoots by at most one response per process.
func TestBudgetHolds(t *testing.T) {
	t.Parallel()
	eachCLI(t, budgetHolds)
}

func budgetHolds(t *testing.T, c cli) {
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: fileWriters(8)})
	r := newRepo(t, manyTasks(8, 4)).on(c)
	env := Env(t, srv)
	e := r.wavexEnv(env, "run", "plan.json", "--output", "json", "--budget", "0.05", "--allow-short").end()
	_, last := e.events(t)
	charged, spent := srv.Charged(), budget.FromFloat(last.CostUSD)
	if spent != charged {
		t.Errorf("the ledger says %d, the API charged %d", spent, charged)
	}
	if bound := budget.USD(50_000 + 4*7_650); charged > bound {
		t.Errorf("charged %d, more than the budget and a response for each process, %d", charged, bound)
	}
	if charged < 50_000-3*7_650 {
		t.Errorf("charged %d: the budget was hardly used", charged)
	}
	if e.exit != 3 || last.ExitCode != 3 || last.Tasks.Pending == 0 {
		t.Errorf("exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	if n := srv.Peak(); n > 4 {
		t.Errorf("%d requests at once, more than 4", n)
	}
	// With more money the remaining tasks are done, and completed tasks are not repeated.
	e = r.wavexEnv(env, "resume", "--output", "json", "--budget", "5").end()
	_, last = e.events(t)
	if e.exit != 0 || last.Tasks.Completed != 8 {
		t.Errorf("resumed: exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	if spent := budget.FromFloat(last.CostUSD); spent != srv.Charged() {
		t.Errorf("resumed: the ledger says %d, the API charged %d", spent, srv.Charged())
	}
}
