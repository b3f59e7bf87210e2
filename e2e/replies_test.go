//go:build unix

package e2e

// This file holds parts of scripts for the API that several tests share.

import (
	"slices"
	"strconv"
	"testing"
	"time"

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

// usageLimit returns the 429 of a subscription whose window (claim, such as "five_hour") is used
// up until reset. The CLI (2.1.330) reads it from these headers and does not retry.
func usageLimit(claim string, reset time.Time) fakeapi.Reply {
	r := fakeapi.Fail(429, "This request would exceed your account's rate limit.")
	r.Header = rateLimitHeaders("rejected", claim, reset)
	return r
}

// rateLimitHeaders returns the anthropic-ratelimit-unified headers; status is "allowed", "allowed_warning"
// or "rejected".
func rateLimitHeaders(status, claim string, reset time.Time) map[string]string {
	window := map[string]string{"five_hour": "5h", "seven_day": "7d"}[claim]
	const p = "anthropic-ratelimit-unified-"
	at := strconv.FormatInt(reset.Unix(), 10)
	h := map[string]string{
		p + "status": status, p + "reset": at, p + "representative-claim": claim,
		p + "overage-status": "rejected",
	}
	if window != "" {
		h[p+window+"-status"] = status
		h[p+window+"-reset"] = at
		if status == "rejected" {
			h[p+window+"-utilization"] = "1.0"
		} else {
			h[p+window+"-utilization"] = "0.9"
		}
	}
	return h
}

// taskCreate returns a call that adds to the CLI's task list.
func taskCreate(subject, description string) fakeapi.Tool {
	return fakeapi.Tool{Name: "TaskCreate", Input: map[string]any{"subject": subject, "description": description}}
}
