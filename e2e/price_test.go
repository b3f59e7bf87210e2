//go:build unix

package e2e

// This file checks the prices of the CLI, which the tests use too.

import (
	"testing"

	"wavex/budget"
	"wavex/internal/fakeapi"
)

func TestPricesOfTheCLI(t *testing.T) {
	t.Parallel()
	eachCLI(t, func(t *testing.T, c cli) {
		usage := fakeapi.Usage{Input: 1_009, Output: 1_103, CacheRead: 10_007, CacheWrite: 2_003}
		for _, name := range []string{model, per(c, "claude-opus-5", "claude-opus-5-5")} {
			srv := serve(t, fakeapi.Text("hello").WithUsage(usage))
			e := call(t, srv, setup{cli: c, stdin: "go", args: []string{"--model", name}})
			if got := budget.FromFloat(e.result(t).TotalCostUSD); got != srv.Charged() {
				t.Errorf("%s: the CLI says %d, the table %d", name, got, srv.Charged())
			}
		}
	})
}
