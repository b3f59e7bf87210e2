package claude

import (
	"errors"
	"strings"
	"testing"
	"time"

	"wavex/runner"
)

// TestClassifyTurn covers every trap of docs/claude-cli.md and every row of the table of outcomes.
func TestClassifyTurn(t *testing.T) {
	t.Parallel()
	ok := &resultLine{subtype: "success"}
	failed := func(status int, text string) *resultLine {
		return &resultLine{subtype: "success", isError: true, status: status, text: text}
	}
	stopped := errors.New("interrupted by the user")
	reset := time.Date(2026, 11, 21, 4, 29, 0, 0, time.UTC)
	for _, tc := range []struct {
		name   string
		end    turnEnd
		want   runner.Outcome
		reason string // part of it
	}{
		{"success", turnEnd{lines: 3, initSeen: true, result: ok}, runner.Done, ""},
		{"success, told to report near the cap", turnEnd{lines: 3, initSeen: true, result: ok, told: true}, runner.OverCap,
			"near its cap"},
		{"stopped by the policy", turnEnd{lines: 3, initSeen: true, result: ok,
			policy: &policyError{runner.Stalled, "in a loop"}, stop: &policyError{runner.Stalled, "in a loop"}},
			runner.Stalled, "in a loop"},

		{"401", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(401, "Invalid API key"),
			lastError: "authentication_failed", retries: retries{count: 1, status: 401}}, runner.Unauthorised,
			"Invalid API key"},
		{"403", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(403, "no")}, runner.Unauthorised, "no"},
		{"401 seen in the retries only", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(0, "x"),
			retries: retries{count: 1, status: 401}}, runner.Unauthorised, "x"},
		{"out of credit, by kind", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(400, "pay"),
			lastError: "billing_error"}, runner.Unauthorised, "pay"},
		{"out of credit, by text", turnEnd{exit: 1, lines: 3, initSeen: true,
			result: failed(400, "Your Credit Balance is too low")}, runner.Unauthorised, "Credit"},
		{"429", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(429, "slow"), lastError: "rate_limit"},
			runner.Throttled, "slow"},
		{"500", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(500, "boom")}, runner.Throttled, "boom"},
		{"500 after a retry of another kind", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(500, "boom"),
			retries: retries{count: 1, status: 401}}, runner.Throttled, "boom"},
		{"529", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(529, "over")}, runner.Throttled, "over"},
		{"null after repeated 529s", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(0, "over"),
			retries: retries{count: 3, status: 529, kind: "overloaded"}}, runner.Throttled, "over"},
		{"network", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(0, "Unable to connect"),
			lastError: "server_error",
			retries:   retries{count: 1, kind: "unknown"}}, runner.Throttled, "connect"},
		{"network, no kind", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(0, "Unable to connect"),
			retries: retries{count: 1}}, runner.Throttled, "connect"},
		{"model unknown", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(404, "issue with the selected model"),
			lastError: "model_not_found"}, runner.Refused, "selected model"},
		{"prompt too long", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(400, "Prompt is too long"),
			lastError: "invalid_request"}, runner.Refused, "too long"},
		{"a refusal after a retry", turnEnd{exit: 1, lines: 9, initSeen: true, retries: retries{count: 1, status: 529},
			result: &resultLine{subtype: "success", isError: true, stop: "refusal", text: "can't help"}}, runner.Refused,
			"can't help"},
		{"the output limit", turnEnd{exit: 1, lines: 9, initSeen: true, result: failed(0, "exceeded"),
			lastError: "max_output_tokens"}, runner.Refused, "exceeded"},
		{"error without any hint", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(0, "odd")}, runner.Truncated,
			"odd"},

		{"limit with reset", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(429, "You've hit your limit"),
			limit: limit{status: "rejected", resetsAt: reset, window: "five_hour"}}, runner.Limited,
			"five_hour, resets at 2026-11-21T04:29:00Z"},
		{"limit without reset", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(429, "limit"),
			limit: limit{status: "rejected"}}, runner.Throttled, "limit"},
		{"limit rejected, but overage carried on", turnEnd{lines: 3, initSeen: true, result: ok,
			limit: limit{status: "rejected",
				resetsAt: reset}}, runner.Done, ""},
		{"limit only warned", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(429, "slow"),
			limit: limit{status: "allowed_warning", resetsAt: reset}}, runner.Throttled, "slow"},

		{"max turns", turnEnd{exit: 1, lines: 3, initSeen: true, result: &resultLine{subtype: "error_max_turns",
			isError: true,
			errors:  []string{"Reached maximum number of turns (1)"}}}, runner.OverTurns, "turns (1)"},
		{"max budget", turnEnd{exit: 1, lines: 3, initSeen: true, result: &resultLine{subtype: "error_max_budget_usd",
			isError: true, errors: []string{"Reached maximum budget ($0.01)"}}}, runner.OverCap, "$0.01"},
		{"schema never honoured", turnEnd{exit: 1, lines: 3, initSeen: true,
			result: &resultLine{subtype: "error_max_structured_output_retries", isError: true}}, runner.Wrong, ""},
		{"error subtype of a later version", turnEnd{exit: 1, lines: 3, initSeen: true,
			result: &resultLine{subtype: "error_new",
				isError: true}}, runner.Truncated, "error_new"},
		{"subtype error without is_error", turnEnd{lines: 3, initSeen: true,
			result: &resultLine{subtype: "error_during_execution"}}, runner.Truncated, "error_during_execution"},
		{"somebody else's SIGINT while a tool runs", turnEnd{exit: 0, lines: 3, initSeen: true,
			result: &resultLine{subtype: "error_during_execution", isError: true, terminal: "aborted_tools", turns: 2}},
			runner.Truncated, "aborted_tools"},
		{"unknown session to resume", turnEnd{exit: 1, lines: 1, result: &resultLine{subtype: "error_during_execution",
			isError: true, errors: []string{"No conversation found"}}}, runner.Broken, "No conversation"},

		{"unknown option, already in use, root with bypass",
			turnEnd{exit: 1, plainText: "error: unknown option '--nonsense'"},
			runner.Broken, "error: unknown option '--nonsense' (exit code 1)"},
		{"died before reading the prompt", turnEnd{exit: 1}, runner.Broken, "said nothing (exit code 1)"},
		{"could not start", turnEnd{exit: -1, startErr: errors.New("starting claude: not found")}, runner.Broken,
			"not found"},

		{"SIGTERM while waiting for the API", turnEnd{exit: 143, lines: 1, initSeen: true}, runner.Truncated,
			"exit code 143"},
		{"SIGINT while waiting for the API: exit 0, no result", turnEnd{exit: 0, lines: 1, initSeen: true}, runner.Truncated,
			"no result line, exit code 0"},
		{"SIGKILL", turnEnd{exit: -1, signal: "SIGKILL", lines: 4, initSeen: true}, runner.Truncated, "SIGKILL"},
		{"SIGKILL before the first line", turnEnd{exit: -1, signal: "SIGKILL"}, runner.Truncated, "SIGKILL"},
		{"137 of a wrapper before the first line", turnEnd{exit: 137}, runner.Truncated, "137"},
		{"128 of a shell before the first line", turnEnd{exit: 128}, runner.Truncated, "128"},
		{"nothing at all, exit 0", turnEnd{}, runner.Truncated, "no result line"},
		{"garbage, exit 0", turnEnd{plainText: "welcome"}, runner.Broken,
			"does not speak like the claude CLI; it said: welcome"},
		{"hangs before its first line", turnEnd{exit: -1, signal: "SIGTERM", stop: errIdle, timeout: time.Hour,
			idle: time.Minute}, runner.Broken, "does not answer: not a line of the CLI's protocol in 1m0s"},
		{"hangs before its first line, for ever", turnEnd{exit: -1, signal: "SIGTERM", stop: errTimeout,
			timeout: time.Hour, plainText: "wait"}, runner.Broken, "in 1h0m0s; it said: wait"},
		{"unreadable result", turnEnd{lines: 4, initSeen: true, badResult: true}, runner.Truncated, "unreadable"},
		{"a good result, then an unreadable one", turnEnd{lines: 4, initSeen: true, result: ok, badResult: true},
			runner.Truncated,
			"unreadable"},
		{"success, but exit 1", turnEnd{exit: 1, lines: 4, initSeen: true, result: ok}, runner.Truncated, "exit code is 1"},
		{"success, then killed by somebody", turnEnd{exit: -1, signal: "SIGKILL", lines: 4, initSeen: true, result: ok},
			runner.Truncated, "SIGKILL"},
		{"success, then it hung and we ended it", turnEnd{exit: -1, signal: "SIGTERM", lines: 4, initSeen: true, result: ok,
			endedAfterTurn: true}, runner.Done, ""},
		{"401, then it hung and we ended it", turnEnd{exit: -1, signal: "SIGTERM", lines: 4, initSeen: true,
			result: failed(401, "key"), endedAfterTurn: true}, runner.Unauthorised, "key"},

		{"our stop, and it looks like success (SIGTERM while a tool runs)", turnEnd{exit: 0, lines: 4, initSeen: true,
			result: ok, stop: stopped}, runner.Interrupted, "interrupted by the user"},
		{"our stop, error_during_execution", turnEnd{exit: 1, lines: 4, initSeen: true,
			result: &resultLine{subtype: "error_during_execution", isError: true}, stop: stopped}, runner.Interrupted, ""},
		{"our stop, no result", turnEnd{exit: 143, lines: 1, stop: stopped}, runner.Interrupted, ""},
		{"our stop, and it looks like a refusal to start", turnEnd{exit: 1, plainText: "x", stop: stopped},
			runner.Interrupted, ""},
		{"wall clock, and it looks like success", turnEnd{exit: 0, lines: 4, initSeen: true, result: ok, stop: errTimeout,
			protocolSeen: true, timeout: time.Minute}, runner.TimedOut, "not finished after 1m0s"},
		{"idle", turnEnd{exit: 0, lines: 4, protocolSeen: true, initSeen: true, stop: errIdle, idle: time.Minute},
			runner.Stalled,
			"no sign of life for 1m0s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := classifyTurn(tc.end)
			if v.Outcome != tc.want || !strings.Contains(v.Reason, tc.reason) {
				t.Errorf("classifyTurn = %s %q, want %s %q", v.Outcome, v.Reason, tc.want, tc.reason)
			}
			if (v.Outcome == runner.Limited) != !v.ResetsAt.IsZero() {
				t.Errorf("resetsAt = %v with %s", v.ResetsAt, v.Outcome)
			}
		})
	}
}

// A fresh session may help where the session is why the API refused, and not where its first request was refused.
func TestFreshMayHelp(t *testing.T) {
	t.Parallel()
	refused := func(status, turns int, kind, stop string) turnEnd {
		return turnEnd{exit: 1, lines: 3, initSeen: true, lastError: kind,
			result: &resultLine{subtype: "success", isError: true, status: status, turns: turns, stop: stop, text: "no"}}
	}
	continued := refused(413, 1, "invalid_request", "")
	continued.resumed = true
	for _, c := range []struct {
		name string
		end  turnEnd
		want bool
	}{
		{"refusal", refused(0, 1, "invalid_request", "refusal"), true},
		{"output limit", refused(0, 4, "max_output_tokens", ""), true},
		{"first request", refused(400, 1, "unknown", ""), false},
		{"later request", refused(400, 7, "invalid_request", ""), true},
		{"first request of a continued session", continued, true},
		{"too long, without a status", refused(0, 1, "invalid_request", ""), false},
		{"unknown model", refused(404, 7, "model_not_found", ""), false},
	} {
		if got := classifyTurn(c.end); got.Outcome != runner.Refused || got.FreshMayHelp != c.want {
			t.Errorf("%s: %s, %v", c.name, got.Outcome, got.FreshMayHelp)
		}
	}
}
