//go:build unix

package e2e

// This file tests and measures attempts near their caps: with a denied call, so that the last response is a report, and
// without, where the CLI cuts the attempt off.

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/fakeapi"
	"wavex/runner"
)

var capsToTry = flag.Int("caps", 0, "how many caps TestCutsAtTheCap draws for each version, beside its own")

// stepWriter is a scripted agent that makes files one after the other, and the record of its replies.
type stepWriter struct {
	dir     string
	costs   []fakeapi.Usage // of the replies, in order
	sent    int
	replies []stepReply
}

// stepReply is a reply of a stepWriter: a call that makes a file, or a text.
type stepReply struct {
	step int // 0: a text
	cost budget.USD
}

// newStepWriter returns the agent with costs that the seed draws, in whole micro-dollars: a growing context, and
// outputs of any size.
func newStepWriter(seed uint64) *stepWriter {
	random := rand.New(rand.NewPCG(seed, 1))
	w := &stepWriter{}
	for i := range 40 {
		w.costs = append(w.costs, fakeapi.Usage{Input: 10, CacheRead: int64(10_000 + 1_500*i),
			CacheWrite: (500 + random.Int64N(2_000)) &^ 3, Output: 100 + random.Int64N(900)})
	}
	return w
}

// stepsOfWriter is the number of files that a stepWriter makes.
const stepsOfWriter = 9

func (w *stepWriter) file(step int) string { return filepath.Join(w.dir, fmt.Sprintf("step%d", step)) }

func (w *stepWriter) made(step int) bool {
	_, err := os.Stat(w.file(step))
	return err == nil
}

// reply makes the next missing file, or reports if there is none or if the agent is told to.
func (w *stepWriter) reply(r *fakeapi.Request) fakeapi.Reply {
	use := w.costs[w.sent]
	w.sent++
	step := 1
	for step <= stepsOfWriter && w.made(step) {
		step++
	}
	for _, res := range r.ToolResults() {
		if res.Error && strings.Contains(res.Text, "wavex: the money for this attempt") {
			step = stepsOfWriter + 1
		}
	}
	price, _ := prices.Of(model)
	if step > stepsOfWriter {
		w.replies = append(w.replies, stepReply{cost: price.Cost(use)})
		return fakeapi.Text("A report.").WithUsage(use)
	}
	w.replies = append(w.replies, stepReply{step, price.Cost(use)})
	return fakeapi.Use(fakeapi.Bash("touch '" + w.file(step) + "'")).WithUsage(use)
}

// cutFigures are the costs of attempts that reach their cap, in micro-dollars.
type cutFigures struct {
	attempts, reports int
	overCap           budget.USD // above the caps
	cut               budget.USD // of responses at which the attempt ended, whose calls did not run
	denied            budget.USD // of responses whose calls were denied, so that a report follows
	report            budget.USD // of these reports
	total             budget.USD // until the work was done
}

func (f *cutFigures) String() string {
	return fmt.Sprintf("%d attempts, %d reports: %s over the caps, %s cut, %s denied, %s reports; %s until done",
		f.attempts, f.reports, f.overCap, f.cut, f.denied, f.report, f.total)
}

// attempt makes an attempt with a cap, and goes on with it without one until the work is done.
func (f *cutFigures) attempt(t *testing.T, c cli, seed uint64, limit budget.USD, denies bool) (first runner.Result) {
	w := newStepWriter(seed)
	then := fakeapi.Computed(w.reply)
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{{Then: &then}}})
	b := newFixtureOn(t, c, srv)
	if !denies {
		b.agent.Prices = budget.Prices{} // of calls that cost nothing none is denied
	}
	allowBash(b)
	w.dir, b.req.Cap, b.req.Settings.Timeout = b.req.Dir, limit, 20*time.Minute
	first = b.attempt(t.Context())
	f.attempts++
	f.overCap += max(0, srv.Charged()-limit)
	last := w.replies[len(w.replies)-1]
	switch {
	case last.step == 0 && first.Outcome == runner.OverCap:
		f.reports++
		f.report += last.cost
		f.denied += w.replies[len(w.replies)-2].cost
	case first.Outcome == runner.OverCap && !w.made(last.step):
		f.cut += last.cost
	}
	if first.Cost != srv.Charged() {
		t.Errorf("cost %s, charged %s", first.Cost, srv.Charged())
	}
	if first.Outcome != runner.Done && *capsToTry > 0 {
		b.req.Attempt, b.req.Resume, b.req.Prompt, b.req.LogDir, b.req.Cap = 2, true, "Go on.", t.TempDir(), 0
		if r := b.attempt(t.Context()); r.Outcome != runner.Done || !w.made(stepsOfWriter) {
			t.Errorf("continued: %s: %s", r.Outcome, r.Reason)
		}
	}
	f.total += srv.Charged()
	return first
}

// Near its cap an attempt is told to report. It stays under the cap, where one without that goes above it.
func TestCutsAtTheCap(t *testing.T) {
	t.Parallel()
	eachCLI(t, func(t *testing.T, c cli) {
		release := reserveProcesses(t, 1)
		defer release()
		var with, without cutFigures
		const seed, limit = 1, 105_000
		if r := with.attempt(t, c, seed, limit, true); r.Outcome != runner.OverCap || r.Report != "A report." ||
			r.Cost > limit || r.Refused != 1 || !strings.Contains(r.Reason, "told to report") {
			t.Errorf("%s: %s; cost %s, report %q, refusals %v", r.Outcome, r.Reason, r.Cost, r.Report, r.Refusals)
		}
		if r := without.attempt(t, c, seed, limit, false); r.Outcome != runner.OverCap || r.Cost <= limit || r.Refused != 0 {
			t.Errorf("without: %s: %s; cost %s", r.Outcome, r.Reason, r.Cost)
		}
		// The CLI may have made the call of the response that it cuts off.
		if with.overCap+with.cut > 0 || without.overCap == 0 {
			t.Errorf("with %s\nwithout %s", &with, &without)
		}
		random := rand.New(rand.NewPCG(2, 1))
		for seed := range uint64(*capsToTry) {
			limit := budget.USD(50_000 + random.Int64N(60_000))
			with.attempt(t, c, seed, limit, true)
			without.attempt(t, c, seed, limit, false)
			t.Logf("so far with %s\nwithout %s", &with, &without) // the rest may be cut off
		}
		if with.overCap+with.cut >= without.overCap+without.cut {
			t.Error("it loses as much")
		}
		t.Logf("with %s\nwithout %s", &with, &without)
	})
}

// An agent that makes another call instead of its report is interrupted.
func TestGoesOnAtTheCap(t *testing.T) {
	t.Parallel()
	onCLIs(t, false, func(t *testing.T, c cli) {
		release := reserveProcesses(t, 1)
		defer release()
		then := fakeapi.Use(fakeapi.Bash("echo again >> calls")).WithUsage(use)
		srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{{Then: &then}}})
		b := newFixtureOn(t, c, srv)
		allowBash(b)
		b.req.Cap = 4*7_650 + 100 // the third call is denied, the fourth stopped
		r := b.attempt(t.Context())
		calls, err := os.ReadFile(filepath.Join(b.req.Dir, "calls"))
		if r.Outcome != runner.OverCap || !strings.Contains(r.Reason, "and went on") || r.Refused != 2 || err != nil ||
			strings.Count(string(calls), "again") != 2 || r.Cost != srv.Charged() || r.Cost != 4*7_650 {
			t.Errorf("%s: %s; %v, calls %q, cost %s of %s", r.Outcome, r.Reason, r.Refusals, calls, r.Cost, srv.Charged())
		}
	})
}
