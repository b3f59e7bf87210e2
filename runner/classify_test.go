package runner

import (
	"errors"
	"strings"
	"testing"
	"time"

	"wavex/internal/check"
	"wavex/internal/plan"
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
		want   Outcome
		reason string // part of it
	}{
		{"success", turnEnd{lines: 3, initSeen: true, result: ok}, Done, ""},

		{"401", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(401, "Invalid API key"),
			lastError: "authentication_failed", retries: retries{count: 1, status: 401}}, Unauthorised, "Invalid API key"},
		{"403", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(403, "no")}, Unauthorised, "no"},
		{"401 seen in the retries only", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(0, "x"),
			retries: retries{count: 1, status: 401}}, Unauthorised, "x"},
		{"out of credit, by kind", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(400, "pay"),
			lastError: "billing_error"}, Unauthorised, "pay"},
		{"out of credit, by text", turnEnd{exit: 1, lines: 3, initSeen: true,
			result: failed(400, "Your Credit Balance is too low")}, Unauthorised, "Credit"},
		{"429", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(429, "slow"), lastError: "rate_limit"},
			Throttled, "slow"},
		{"500", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(500, "boom")}, Throttled, "boom"},
		{"529", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(529, "over")}, Throttled, "over"},
		{"null after repeated 529s", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(0, "over"),
			retries: retries{count: 3, status: 529, kind: "overloaded"}}, Throttled, "over"},
		{"network", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(0, "Unable to connect"),
			lastError: "server_error",
			retries:   retries{count: 1, kind: "unknown"}}, Throttled, "connect"},
		{"network, no kind", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(0, "Unable to connect"),
			retries: retries{count: 1}}, Throttled, "connect"},
		{"model unknown", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(404, "issue with the selected model"),
			lastError: "model_not_found"}, Broken, "selected model"},
		{"prompt too long", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(400, "Prompt is too long"),
			lastError: "invalid_request"}, Wrong, "too long"},
		{"error without any hint", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(0, "odd")}, Truncated, "odd"},

		{"limit with reset", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(429, "You've hit your limit"),
			limit: limit{status: "rejected", resetsAt: reset, window: "five_hour"}}, Limited,
			"five_hour, resets at 2026-11-21T04:29:00Z"},
		{"limit without reset", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(429, "limit"),
			limit: limit{status: "rejected"}}, Throttled, "limit"},
		{"limit rejected, but overage carried on", turnEnd{lines: 3, initSeen: true, result: ok,
			limit: limit{status: "rejected",
				resetsAt: reset, overage: true}}, Done, ""},
		{"limit only warned", turnEnd{exit: 1, lines: 3, initSeen: true, result: failed(429, "slow"),
			limit: limit{status: "allowed_warning", resetsAt: reset}}, Throttled, "slow"},

		{"max turns", turnEnd{exit: 1, lines: 3, initSeen: true, result: &resultLine{subtype: "error_max_turns",
			isError: true,
			errors:  []string{"Reached maximum number of turns (1)"}}}, OverTurns, "turns (1)"},
		{"max budget", turnEnd{exit: 1, lines: 3, initSeen: true, result: &resultLine{subtype: "error_max_budget_usd",
			isError: true, errors: []string{"Reached maximum budget ($0.01)"}}}, OverCap, "$0.01"},
		{"schema never honoured", turnEnd{exit: 1, lines: 3, initSeen: true,
			result: &resultLine{subtype: "error_max_structured_output_retries", isError: true}}, Wrong, ""},
		{"error subtype of a later version", turnEnd{exit: 1, lines: 3, initSeen: true,
			result: &resultLine{subtype: "error_new",
				isError: true}}, Truncated, "error_new"},
		{"subtype error without is_error", turnEnd{lines: 3, initSeen: true,
			result: &resultLine{subtype: "error_during_execution"}}, Truncated, "error_during_execution"},
		{"somebody else's SIGINT while a tool runs", turnEnd{exit: 0, lines: 3, initSeen: true,
			result: &resultLine{subtype: "error_during_execution", isError: true, terminal: "aborted_tools", turns: 2}},
			Truncated, "aborted_tools"},
		{"unknown session to resume", turnEnd{exit: 1, lines: 1, result: &resultLine{subtype: "error_during_execution",
			isError: true, errors: []string{"No conversation found"}}}, Broken, "No conversation"},

		{"unknown option, already in use, root with bypass",
			turnEnd{exit: 1, plainText: "error: unknown option '--nonsense'"},
			Broken, "error: unknown option '--nonsense' (exit code 1)"},
		{"died before reading the prompt", turnEnd{exit: 1}, Broken, "said nothing (exit code 1)"},
		{"could not start", turnEnd{exit: -1, startErr: errors.New("starting claude: not found")}, Broken, "not found"},

		{"SIGTERM while waiting for the API", turnEnd{exit: 143, lines: 1, initSeen: true}, Truncated, "exit code 143"},
		{"SIGINT while waiting for the API: exit 0, no result", turnEnd{exit: 0, lines: 1, initSeen: true}, Truncated,
			"no result line, exit code 0"},
		{"SIGKILL", turnEnd{exit: -1, signal: "SIGKILL", lines: 4, initSeen: true}, Truncated, "SIGKILL"},
		{"SIGKILL before the first line", turnEnd{exit: -1, signal: "SIGKILL"}, Truncated, "SIGKILL"},
		{"137 of a wrapper before the first line", turnEnd{exit: 137}, Truncated, "137"},
		{"nothing at all, exit 0", turnEnd{}, Truncated, "no result line"},
		{"garbage, exit 0", turnEnd{plainText: "welcome"}, Broken, "does not speak like the claude CLI; it said: welcome"},
		{"hangs before its first line", turnEnd{agent: true, exit: -1, signal: "SIGTERM", stop: ErrIdle, timeout: time.Hour,
			idle: time.Minute}, Broken, "does not answer: not a line of the CLI's protocol in 1m0s"},
		{"hangs before its first line, for ever", turnEnd{agent: true, exit: -1, signal: "SIGTERM", stop: ErrTimeout,
			timeout: time.Hour, plainText: "wait"}, Broken, "in 1h0m0s; it said: wait"},
		{"unreadable result", turnEnd{lines: 4, initSeen: true, badResult: true}, Truncated, "unreadable"},
		{"a good result, then an unreadable one", turnEnd{lines: 4, initSeen: true, result: ok, badResult: true}, Truncated,
			"unreadable"},
		{"success, but exit 1", turnEnd{exit: 1, lines: 4, initSeen: true, result: ok}, Truncated, "exit code is 1"},
		{"success, then killed by somebody", turnEnd{exit: -1, signal: "SIGKILL", lines: 4, initSeen: true, result: ok},
			Truncated, "SIGKILL"},
		{"success, then it hung and we ended it", turnEnd{exit: -1, signal: "SIGTERM", lines: 4, initSeen: true, result: ok,
			endedAfterTurn: true}, Done, ""},
		{"401, then it hung and we ended it", turnEnd{exit: -1, signal: "SIGTERM", lines: 4, initSeen: true,
			result: failed(401, "key"), endedAfterTurn: true}, Unauthorised, "key"},

		{"our stop, and it looks like success (SIGTERM while a tool runs)", turnEnd{exit: 0, lines: 4, initSeen: true,
			result: ok, stop: stopped}, Interrupted, "interrupted by the user"},
		{"our stop, error_during_execution", turnEnd{exit: 1, lines: 4, initSeen: true,
			result: &resultLine{subtype: "error_during_execution", isError: true}, stop: stopped}, Interrupted, ""},
		{"our stop, no result", turnEnd{exit: 143, lines: 1, stop: stopped}, Interrupted, ""},
		{"our stop, and it looks like a refusal to start", turnEnd{exit: 1, plainText: "x", stop: stopped}, Interrupted, ""},
		{"wall clock, and it looks like success", turnEnd{exit: 0, lines: 4, initSeen: true, result: ok, stop: ErrTimeout,
			timeout: time.Minute}, TimedOut, "not finished after 1m0s"},
		{"idle", turnEnd{exit: 0, lines: 4, initSeen: true, stop: ErrIdle, idle: time.Minute}, Stalled,
			"no sign of life for 1m0s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := classifyTurn(tc.end)
			if v.outcome != tc.want || !strings.Contains(v.reason, tc.reason) {
				t.Errorf("classifyTurn = %s %q, want %s %q", v.outcome, v.reason, tc.want, tc.reason)
			}
			if (v.outcome == Limited) != !v.resetsAt.IsZero() {
				t.Errorf("resetsAt = %v with %s", v.resetsAt, v.outcome)
			}
		})
	}
}

func TestClassifyWork(t *testing.T) {
	t.Parallel()
	good := check.Evidence{Check: "go test", Passed: true}
	bad := check.Evidence{Check: "go test", Reason: "exit code 1", Output: "FAIL x"}
	edit := []plan.File{{Path: "a.go", Action: "modify"}, {Path: "b.go", Action: "read"}}
	reads := []plan.File{{Path: "b.go", Action: "read"}}
	bash := []Denial{{Tool: "Bash", Rule: "Bash(make lint)"}}
	fetch := []Denial{{Tool: "WebFetch", Rule: "WebFetch(domain:x)"}}
	no := claim{found: true, failed: true, why: "the agent reports unmet: x"}
	for _, tc := range []struct {
		name   string
		work   work
		want   Outcome
		reason string
	}{
		{"checks pass, file changed", work{checks: []check.Evidence{good}, files: edit, changed: []string{"a.go"}}, Done,
			""},
		{"no checks, nothing promised", work{}, Done, ""},
		{"no checks, only reads", work{files: reads}, Done, ""},
		{"a check fails", work{checks: []check.Evidence{good, bad}, files: edit, changed: []string{"a.go"}}, Wrong,
			"check failed: go test: exit code 1"},
		{"two checks fail", work{checks: []check.Evidence{bad, bad}}, Wrong, "(and 1 more)"},
		{"promised, nothing changed", work{checks: []check.Evidence{good}, files: edit}, Wrong,
			"no declared file changed: a.go"},
		{"promised, nothing changed, vacuous", work{checks: []check.Evidence{good}, files: edit, vacuous: true}, Wrong,
			"passed before the attempt already"},
		{"vacuous, but changed", work{checks: []check.Evidence{good}, files: edit, changed: []string{"a.go"}, vacuous: true},
			Done, ""},
		{"denied, checks fail", work{checks: []check.Evidence{bad}, denials: bash}, Denied,
			"add to allowedTools: Bash(make lint)"},
		{"denied by the way, edits made, checks fail", work{checks: []check.Evidence{bad}, denials: bash, edited: true},
			Wrong, "check failed"},
		{"denied by the way, files changed, checks fail", work{checks: []check.Evidence{bad}, denials: bash, files: edit,
			changed: []string{"a.go"}}, Wrong, "check failed"},
		{"an edit denied after others, checks fail", work{checks: []check.Evidence{bad},
			denials: []Denial{{Tool: "Edit", Rule: "Edit(/x/**)"}}, edited: true}, Denied, "Edit(/x/**)"},
		{"denied, checks pass, it says not done", work{checks: []check.Evidence{good}, denials: bash,
			claim: claim{failed: true, why: "not done"}}, Denied, "not done"},
		{"denied by the way, checks pass, it says not done", work{checks: []check.Evidence{good}, denials: bash,
			edited: true, claim: claim{failed: true, why: "not done"}}, Wrong, "not done"},
		{"denied, checks pass", work{checks: []check.Evidence{good}, denials: bash}, Done, ""},
		{"denied, no checks, promise broken", work{files: edit, denials: fetch}, Denied, "WebFetch(domain:x)"},
		{"edit denied, checks pass, promise broken", work{checks: []check.Evidence{good}, files: edit, denials: bash},
			Denied, "no declared file changed"},
		{"a fetch denied, checks pass, promise broken", work{checks: []check.Evidence{good}, files: edit, denials: fetch},
			Wrong, "no declared file changed"},
		{"the agent says failure, checks pass", work{checks: []check.Evidence{good}, claim: no}, Wrong,
			"the agent reports unmet"},
		{"the agent says failure, checks fail", work{checks: []check.Evidence{bad}, claim: no}, Wrong, "check failed"},
		{"the agent says success, checks fail", work{checks: []check.Evidence{bad}, claim: claim{found: true}}, Wrong,
			"check failed"},
		{"stopped during the checks", work{checks: []check.Evidence{bad}, stop: errors.New("ctrl-c"), denials: bash},
			Interrupted, "ctrl-c"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v := classifyWork(tc.work)
			if v.outcome != tc.want || !strings.Contains(v.reason, tc.reason) {
				t.Errorf("classifyWork = %s %q, want %s %q", v.outcome, v.reason, tc.want, tc.reason)
			}
		})
	}
}

func TestReadClaim(t *testing.T) {
	t.Parallel()
	block := func(exit, criteria, next string) string {
		return "Report.\n---LOOP_STATUS---\nEXIT_SIGNAL: " + exit + "\nCRITERIA: " + criteria + "\nSTUCK_COUNT: 0\nNEXT: " +
			next + "\n---END_STATUS---\n"
	}
	for _, tc := range []struct {
		name, report string
		want         claim
	}{
		{"no block", "all good", claim{}},
		{"all met", block("true", `{"a":true}`, "none"), claim{found: true}},
		{"unmet", block("false", `{"lint":true,"tests pass":false}`, "Fix tests"), claim{found: true, failed: true,
			why: "the agent reports unmet: tests pass; next: Fix tests"}},
		{"unmet, yet it signals the exit", block("true", `{"a":false}`, "none"), claim{found: true, failed: true,
			why: "the agent reports unmet: a"}},
		{"no criteria, not finished", block("false", `{}`, "go on"), claim{found: true, failed: true,
			why: "the agent reports that it is not finished; next: go on"}},
		{"its part is met, the loop goes on", block("false", `{"a":true}`, "T-002"), claim{found: true}},
		{"criteria unreadable", block("true", `{oops`, "none"), claim{found: true}},
		{"the last block counts", block("false", `{"a":false}`, "x") + block("true", `{"a":true}`, "none"),
			claim{found: true}},
		{"unclosed", "---LOOP_STATUS---\nEXIT_SIGNAL: FALSE", claim{found: true, failed: true,
			why: "the agent reports that it is not finished"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := readClaim(tc.report); got != tc.want {
				t.Errorf("readClaim = %+v, want %+v", got, tc.want)
			}
		})
	}
}

func FuzzReadClaim(f *testing.F) {
	f.Add("---LOOP_STATUS---\nEXIT_SIGNAL: false\nCRITERIA: {\"a\":false}\nNEXT: x\n---END_STATUS---")
	f.Fuzz(func(t *testing.T, report string) {
		if c := readClaim(report); c.failed != (c.why != "") || c.failed && !c.found {
			t.Errorf("claim = %+v", c)
		}
	})
}

func TestSignature(t *testing.T) {
	t.Parallel()
	same := [][2][2]string{
		{{"check failed: go test: exit code 1", "--- FAIL: TestX (0.01s)\n    /tmp/a1/x_test.go:12: got 3, want 4\n"},
			{"check failed: go test: exit code 1", "--- FAIL: TestX (1.20s)\n    /home/u/b2/x_test.go:19: got 5, want 4\n"}},
		{{"not finished after 30m0s", ""}, {"not finished after 15m0s", ""}},
		{{"API Error at 2026-11-21T03:00:00Z id 0xdeadbeef", ""}, {"API Error at 2025-01-02T04:05:06.7Z id 0xfeedface", ""}},
		{{"session 11111111-1111-4111-8111-111111111111 lost", ""},
			{"session 22222222-aaaa-4111-8111-111111111111 lost", ""}},
	}
	for _, s := range same {
		if a, b := Signature(s[0][0], s[0][1]), Signature(s[1][0], s[1][1]); a != b || a == "" {
			t.Errorf("one error, two signatures:\n%q\n%q", a, b)
		}
	}
	a := Signature("check failed: go test: exit code 1", "x_test.go:12: undefined: foo")
	b := Signature("check failed: go test: exit code 1", "x_test.go:12: missing return")
	if a == b {
		t.Errorf("two errors, one signature: %q", a)
	}
	if got := Signature("", ""); got != "" {
		t.Errorf("signature of nothing = %q", got)
	}
}
