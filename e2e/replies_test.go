//go:build unix

package e2e

// This file holds parts of scripts for the API that several tests share.

import (
	"slices"
	"testing"

	"wavex/internal/fakeapi"
)

// serve starts a scripted API with the tests' prices and one agent for all requests.
func serve(t *testing.T, steps ...fakeapi.Reply) *fakeapi.Server {
	t.Helper()
	return fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{{Steps: steps}}})
}

// use costs exactly 0.00765 dollars at the tests' prices.
var use = fakeapi.Usage{Input: 1_000, Output: 10, CacheRead: 10_000, CacheWrite: 400}

// offered returns the tools that a request offers to the model. Since 2.1.330 there may be a
// placeholder among them, which stands for tools that a turn loads later and does nothing itself.
func offered(r *fakeapi.Request) []string {
	return slices.DeleteFunc(r.Tools(), func(name string) bool { return name == "DeferredToolPlaceholder" })
}

// task matches the conversations of one task of a plan.
func task(id string) fakeapi.Match { return fakeapi.Prompt("# Your task: " + id + "\n") }

// report returns the last message of an agent.
func report(exit string) fakeapi.Reply {
	return fakeapi.Text("All there.\n---LOOP_STATUS---\nEXIT_SIGNAL: " + exit +
		"\nCRITERIA: {}\nSTUCK_COUNT: 0\nNEXT: none\n---END_STATUS---").WithUsage(use)
}
