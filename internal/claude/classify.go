package claude

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"wavex/internal/proc"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// This file decides how a turn ended. It is pure: no clock, no process, no file.
// docs/outcomes.md documents the same decisions as a table.

// These are the causes with which wavex itself ends a turn. Every other cause of a cancelled
// context means an interruption.
var (
	errTimeout = errors.New("the attempt's time is up")
	errIdle    = errors.New("no sign of life")
	errNoise   = errors.New("output without a line of the CLI's protocol") // the program is not the CLI
	// errBare means that the CLI would ask about no tool call.
	errBare = errors.New("--bare keeps the policy on tool calls from working; leave it out")
)

// policyError ends a turn because of its tool calls.
type policyError struct {
	outcome runner.Outcome
	reason  string
}

func (e *policyError) Error() string { return e.reason }

// turnEnd holds the observed end of one agent process.
type turnEnd struct {
	startErr       error        // the process could not be started
	exit           int          // -1 after a signal
	signal         string       // "SIGKILL"
	stop           error        // why wavex stopped the turn; nil: it did not
	policy         *policyError // why its tool calls end the turn; nil: they do not
	told           bool         // it was told to report near its cap
	endedAfterTurn bool         // wavex ended the process after its turn was over
	resumed        bool         // the turn continued a session
	timeout        time.Duration
	idle           time.Duration

	lines        int    // JSON lines on stdout
	protocolSeen bool   // this process, or an earlier one of the same Agent, printed such a line
	initSeen     bool   // one of them was the session's init line
	plainText    string // plain text output of the CLI, on stdout or stderr
	result       *resultLine
	badResult    bool
	retries      retries
	limit        limit
	lastError    string // kind of error of the last message
}

// classifyTurn returns the outcome of the agent's turn. Done means only that there is work to verify.
// A stop by wavex is checked first, because an interrupted run can look like a good one (exit 0,
// result success).
func classifyTurn(e turnEnd) runner.TurnResult {
	switch {
	case e.startErr != nil:
		return ended(runner.Broken, proc.ErrorText(e.startErr), "")
	case e.policy != nil:
		return ended(e.policy.outcome, e.policy.reason, "")
	case errors.Is(e.stop, errNoise):
		return ended(runner.Broken, withPlainText("it does not speak like the claude CLI", e.plainText), e.plainText)
	case !e.protocolSeen && (errors.Is(e.stop, errTimeout) || errors.Is(e.stop, errIdle)):
		// No process of this program has printed a line yet, so another attempt would hang as well.
		// If an earlier process has, this one is retried like any stalled attempt.
		return ended(runner.Broken, withPlainText("it does not answer: not a line of the CLI's protocol in "+
			min(e.timeout, cmp.Or(e.idle, e.timeout)).String(), e.plainText), e.plainText)
	case errors.Is(e.stop, errTimeout):
		return ended(runner.TimedOut, fmt.Sprintf("not finished after %s", e.timeout), "")
	case errors.Is(e.stop, errIdle):
		return ended(runner.Stalled, fmt.Sprintf("no sign of life for %s", e.idle), "")
	case e.stop != nil:
		return ended(runner.Interrupted, "stopped: "+e.stop.Error(), "")
	case e.result == nil || e.badResult:
		return classifyNoResult(e)
	case e.result.isError || e.result.subtype != "success":
		return classifyError(e)
	case e.told:
		return ended(runner.OverCap, "near its cap it was told to report, and did", "")
	case e.endedAfterTurn:
		// The process did not exit after its result line, but the result counts.
	case e.signal != "":
		return ended(runner.Truncated, "the result says success, but the process was ended by "+e.signal, "")
	case e.exit != 0:
		return ended(runner.Truncated, fmt.Sprintf("the result says success, but the exit code is %d", e.exit), e.plainText)
	}
	return ended(runner.Done, "", "")
}

func ended(o runner.Outcome, reason, detail string) runner.TurnResult {
	return runner.TurnResult{Outcome: o, Reason: reason, Detail: detail}
}

// classifyNoResult returns the outcome for a process without a readable result line. A process that
// exited before its first JSON line has printed the reason in plain text; for others the reason is
// unknown.
func classifyNoResult(e turnEnd) runner.TurnResult {
	how := fmt.Sprintf("exit code %d", e.exit)
	if e.signal != "" {
		how = "ended by " + e.signal
	}
	switch {
	case e.badResult:
		return ended(runner.Truncated, "the result line is unreadable, "+how, e.plainText)
	case e.lines == 0 && e.signal == "" && e.exit == 0 && e.plainText != "":
		return ended(runner.Broken, withPlainText("it does not speak like the claude CLI", e.plainText), e.plainText)
	case e.lines == 0 && e.signal == "" && e.exit > 0 && e.exit < 128:
		reason := cmp.Or(e.plainText, "it ended before it read its prompt, and said nothing")
		return ended(runner.Broken, fmt.Sprintf("%s (%s)", textfmt.OneLine(reason, runner.ReasonMax-40), how), e.plainText)
	}
	return ended(runner.Truncated, "no result line, "+how, e.plainText)
}

// withPlainText appends the plain text output of the CLI to a reason.
func withPlainText(reason, words string) string {
	if words == "" {
		return reason
	}
	return reason + "; it said: " + words
}

// classifyError returns the outcome for a result line that reports an error. It uses the CLI's codes
// and kinds. The only text that it matches is "credit balance", because some versions report no
// kind for it.
func classifyError(e turnEnd) runner.TurnResult {
	r := e.result
	said := r.text
	if len(r.errors) > 0 {
		said = strings.Join(r.errors, "; ")
	}
	said = cmp.Or(said, e.plainText)
	v := runner.TurnResult{Reason: said, Detail: said}
	status := r.status
	if status == 0 && r.subtype == "success" && e.retries.count > 0 {
		status = e.retries.status // null after repeated 529s
	}
	switch {
	case r.subtype == "error_max_budget_usd":
		v.Outcome = runner.OverCap
	case r.subtype == "error_max_turns":
		v.Outcome = runner.OverTurns
	case r.subtype == "error_max_structured_output_retries":
		v.Outcome = runner.Wrong
	case r.stop == "refusal", e.lastError == "max_output_tokens": // the context is full: the same kind
		v.Outcome, v.FreshMayHelp = runner.Refused, true
	case e.limit.status == "rejected" && !e.limit.resetsAt.IsZero() && (status == http.StatusTooManyRequests ||
		e.lastError == "rate_limit"):
		v.Outcome, v.ResetsAt = runner.Limited, e.limit.resetsAt
		v.Reason = fmt.Sprintf("usage limit %s, resets at %s", e.limit.window, e.limit.resetsAt.Format(time.RFC3339))
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired,
		e.lastError == "billing_error", e.lastError == "authentication_failed",
		strings.Contains(strings.ToLower(said), "credit balance"):
		v.Outcome = runner.Unauthorised
	case status == http.StatusTooManyRequests, status >= 500, status == http.StatusRequestTimeout,
		e.lastError == "rate_limit", e.lastError == "overloaded", e.lastError == "server_error",
		status == 0 && r.subtype == "success" && e.retries.count > 0: // network: retried without an answer
		v.Outcome, v.RetryAfter = runner.Throttled, e.retries.delay
	case status == http.StatusNotFound, e.lastError == "model_not_found":
		v.Outcome = runner.Refused
	case status >= 400, e.lastError == "invalid_request": // too long a prompt, a bad image
		v.Outcome, v.FreshMayHelp = runner.Refused, e.resumed || r.turns > 1
	case r.subtype == "error_during_execution" && !e.initSeen && r.turns == 0:
		v.Outcome = runner.Broken // the CLI refused to start, for example an unknown session to resume
	default:
		v.Outcome = runner.Truncated
		v.Reason = fmt.Sprintf("ended with %s: %s", strings.TrimSpace(r.subtype+" "+r.terminal), said)
	}
	return v
}
