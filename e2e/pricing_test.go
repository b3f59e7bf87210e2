//go:build unix

package e2e

// This file compares the booked cost of an attempt with the API's charges, for CLIs that do not
// report it or report it wrongly.

import (
	"slices"
	"testing"

	"wavex/budget"
	"wavex/internal/claude"
	"wavex/internal/fakeapi"
	"wavex/runner"
)

// expensiveUsage is a response of 8,000 tokens of output; it costs 0.123 dollars.
var expensiveUsage = fakeapi.Usage{Input: 1_000, Output: 8_000}

// A CLI that is killed after eleven responses is booked at ten of them at least.
func TestKilledCLIIsPricedByItsResponses(t *testing.T) {
	t.Parallel()
	eachCLI(t, func(t *testing.T, c cli) {
		steps := slices.Repeat([]fakeapi.Reply{fakeapi.Use(fakeapi.Bash("true")).WithUsage(expensiveUsage)}, 10)
		srv := serve(t, append(steps, fakeapi.Use(fakeapi.Bash("kill -9 $PPID; sleep 5")).WithUsage(expensiveUsage))...)
		b := newFixtureOn(t, c, srv)
		allowBash(b)
		reserveProcesses(t, 1)
		r := b.attempt(t.Context())
		charged := srv.Charged()
		if r.Outcome != runner.Truncated || r.Priced != "stream" || r.Cost > charged || r.Cost < charged-123_000 ||
			charged != 11*123_000 {
			t.Errorf("%s (%s), cost %d by %q, charged %d", r.Outcome, r.Reason, r.Cost, r.Priced, charged)
		}
		again, err := claude.RecoverCost(b.req.LogDir, b.agent.Prices, 0)
		if err != nil || again.Cost != r.Cost {
			t.Errorf("its stream says %d, %v", again.Cost, err)
		}
	})
}

// A session that continues in several processes, one of them killed, is booked once.
func TestSessionOfSeveralProcessesIsCountedOnce(t *testing.T) {
	t.Parallel()
	eachCLI(t, func(t *testing.T, c cli) {
		srv := serve(t, fakeapi.Text("one").WithUsage(expensiveUsage),
			fakeapi.Use(fakeapi.Bash("kill -9 $PPID; sleep 5")).WithUsage(expensiveUsage),
			fakeapi.Text("three").WithUsage(expensiveUsage), fakeapi.Text("four").WithUsage(expensiveUsage))
		b := newFixtureOn(t, c, srv)
		allowBash(b)
		reserveProcesses(t, 1)
		var sum budget.USD
		for n := range 4 {
			b.req.Attempt, b.req.Resume, b.req.LogDir = n+1, n > 0, t.TempDir()
			r := b.attempt(t.Context())
			if sum += r.Cost; n != 1 && (r.Cost != 123_000 || r.Priced != "result") {
				t.Errorf("attempt %d: %s (%s), cost %d by %q", n+1, r.Outcome, r.Reason, r.Cost, r.Priced)
			}
		}
		if charged := srv.Charged(); sum > charged || sum < charged-123_000 {
			t.Errorf("booked %d, charged %d", sum, charged)
		}
	})
}

// The cost of an attempt equals the API's charges, for each model with a row of its own and each factor. A
// model without one is priced by the CLI, and its killed attempt by a guess.
func TestModelsAndFactors(t *testing.T) {
	t.Parallel()
	kill := fakeapi.Use(fakeapi.Bash("kill -9 $PPID; sleep 5"))
	for _, test := range []struct {
		model string
		usage fakeapi.Usage
		guess budget.USD // of two responses; 0: the model has a price
	}{
		{"fable", fakeapi.Usage{Input: 1_000, Output: 8_000, CacheRead: 100_000, CacheWrite: 10_000}, 0},
		{"claude-mythos-5-2", fakeapi.Usage{Input: 1_000, Output: 8_000, CacheRead: 100_000, CacheWrite: 10_000}, 0},
		{model, fakeapi.Usage{Input: 1_000, Output: 8_000, CacheWrite: 10_000, CacheHour: 4_000, Searches: 2}, 0},
		{model, fakeapi.Usage{Input: 1_000, Output: 8_000, CacheRead: 100_000, Geo: "us"}, 0},
		{"claude-tomorrow-1", expensiveUsage, 2 * 615_000},
		{"claude-fable-5-9", expensiveUsage, 2 * 410_000},
	} {
		t.Run(test.model+test.usage.Geo, func(t *testing.T) {
			t.Parallel()
			for end, last := range map[string]fakeapi.Reply{"ends": fakeapi.Text("done"), "is killed": kill} {
				srv := serve(t, fakeapi.Use(fakeapi.Bash("true")).WithUsage(test.usage), last.WithUsage(test.usage))
				b := newFixture(t, srv)
				b.req.Settings.Model, b.req.Cap = test.model, 10*budget.Dollar
				allowBash(b)
				release := reserveProcesses(t, 1)
				r := b.attempt(t.Context())
				release()
				want, by := srv.Charged(), "result"
				switch {
				case end == "ends" && test.guess > 0:
					want = r.Cost // the CLI's own figure
				case end != "ends":
					if by = "stream"; test.guess > 0 {
						want, by = test.guess, "guess"
					}
				}
				if by == "result" && r.Disputed != 0 && shared.cli.before("2.1.330") { // it has another price
					by, r.Disputed = "table", 0
				}
				if r.Cost != want || r.Cost == 0 || r.Priced != by || r.Disputed != 0 {
					t.Errorf("%s on %s: %s (%s), cost %d by %q, want %d by %q; disputed %d", end, r.Model, r.Outcome,
						r.Reason, r.Cost, r.Priced, want, by, r.Disputed)
				}
			}
		})
	}
}
