package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"wavex/budget"
	"wavex/e2e/rig"
	"wavex/internal/fakeapi"
	"wavex/internal/loop"
)

// A panel that a kill or a signal cuts off at any moment is convened again, so the first retry has its advice. The
// ledger differs from the charges by the cut answers at most.
func TestCutPanelIsConvenedAgain(t *testing.T) {
	t.Parallel()
	for n, moment := range [][2]int{{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {1, 5}, {all, 0}, {all, 3}} {
		for _, kill := range []bool{true, false} {
			if kill != (n%2 == 1) || !*allCases && n != 0 && n != 3 {
				continue
			}
			t.Run(fmt.Sprintf("%v, killed %t", moment, kill), func(t *testing.T) {
				t.Parallel()
				cutPanel(t, moment, kill)
			})
		}
	}
}

// all is more than the number of events of an answer.
const all = 100

// cutPanel cuts a panel of two experts off after a number of events of the answer of each, and resumes.
func cutPanel(t *testing.T, events [2]int, kill bool) {
	const answerCost budget.USD = 8_200
	advice := fakeapi.Use(fakeapi.StructuredOutput(map[string]any{
		"diagnosis": "The file has goats in it.", "cause": "The animals were mixed up.",
		"approach": "Write sheep in place of goats.", "confidence": 0.9,
		"falsifier": "grep finds sheep in the file", "action": "retry"})).WithUsage(use)
	gate, asked := fakeapi.NewLatch(), atomic.Int64{}
	opinion := fakeapi.Computed(func(*fakeapi.Request) fakeapi.Reply {
		if n := int(asked.Add(1)) - 1; n < 2 {
			return advice.WaitingAfter(events[n], gate)
		}
		return advice
	})
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{
		{Name: "experts", When: expert, Then: &opinion},
		{Name: "T-001", When: task("T-001"), Steps: []fakeapi.Reply{
			fakeapi.Use(fakeapi.Write("f0.txt", "goats\n")).WithUsage(use), report("true"),
			fakeapi.Use(fakeapi.Read("f0.txt")).WithUsage(use),
			fakeapi.Use(fakeapi.Edit("f0.txt", "goats", "sheep")).WithUsage(use), report("true"),
		}},
	}})
	env := Env(t, srv)
	r := newRepo(t, manyTasks(1, 1))
	w := r.wavexEnv(env, "run", "plan.json", "--output", "json", "--review", "off", "--accept-assumptions")
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	if !rig.Until(ctx, func() bool { return len(srv.Messages(expert)) >= 2 }) {
		t.Fatal("no panel is asked")
	}
	if kill {
		if err := w.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		w.end()
	} else if e := w.interrupted(syscall.SIGTERM); e.exit != 143 {
		t.Fatalf("stopped: exit %d\n%s", e.exit, e.stderr)
	}
	home := slices.IndexFunc(env, func(s string) bool { return strings.HasPrefix(s, "HOME=") })
	mustBeGone(t, env[home], goneTime, "the cut")
	if err := srv.Idle(ctx); err != nil { // else the cut requests would be answered, and charged
		t.Fatal(err)
	}
	gate.Open()
	e := r.wavexEnv(env, "resume", "--output", "json").end()
	_, last := e.events(t)
	if e.exit != 0 || last.Tasks.Completed != 1 || last.Iterations != 2 {
		t.Fatalf("resumed: exit %d, %s\n%s", e.exit, last.Data, e.stderr)
	}
	work := srv.Messages(task("T-001"))
	if len(work) != 5 || !strings.Contains(work[2].Users(), "Write sheep in place of goats.") {
		t.Errorf("the advice is not in the prompt of the retry; %d requests", len(work))
	}
	journal, err := os.ReadFile(filepath.Join(r.dir, loop.Name, loop.Journal))
	again := strings.Count(string(journal), `"again":true`)
	if err != nil || again > 1 || again == 0 && (kill || events[0] < all) {
		t.Errorf("%d panels were convened again, %v", again, err)
	}
	// An answer is charged from its first event on, and the CLI has not told the usage of one that is cut.
	cut := budget.USD(0)
	for _, n := range events {
		if n > 0 {
			cut += answerCost
		}
	}
	if off := srv.Charged() - budget.FromFloat(last.CostUSD); max(off, -off) > cut {
		t.Errorf("the ledger says %v, the API charged %s", last.CostUSD, srv.Charged())
	}
}
