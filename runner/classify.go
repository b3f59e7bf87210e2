package runner

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"wavex/internal/check"
	"wavex/internal/plan"
)

// This file decides how an attempt ended. It is pure: no clock, no process, no file.
// docs/outcomes.md documents the same decisions as a table.

// These are the causes with which wavex itself ends a turn. Every other cause of a cancelled
// context means an interruption.
var (
	ErrTimeout = errors.New("the attempt's time is up")
	ErrIdle    = errors.New("no sign of life")
)

// turnEnd holds the observed end of one agent process.
type turnEnd struct {
	agent          bool   // the process should speak the CLI's protocol; the process of a command task does not
	startErr       error  // the process could not be started
	exit           int    // -1 after a signal
	signal         string // "SIGKILL"
	stop           error  // why wavex stopped the turn; nil: it did not
	endedAfterTurn bool   // wavex ended the process after its turn was over
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
	lastText     string
}

// classification is an outcome with its explanation for the user and for the next attempt.
type classification struct {
	outcome    Outcome
	reason     string
	detail     string
	resetsAt   time.Time
	retryAfter time.Duration
}

// classifyTurn returns the outcome of the agent's turn. Done means only that there is work to verify.
// A stop by wavex is checked first, because an interrupted run can look like a good one (exit 0,
// result success).
func classifyTurn(e turnEnd) classification {
	switch {
	case e.startErr != nil:
		return classification{outcome: Broken, reason: e.startErr.Error()}
	case errors.Is(e.stop, errNoise):
		return classification{outcome: Broken, reason: withPlainText("it does not speak like the claude CLI", e.plainText),
			detail: e.plainText}
	case e.agent && !e.protocolSeen && (errors.Is(e.stop, ErrTimeout) || errors.Is(e.stop, ErrIdle)):
		// No process of this program has printed a line yet, so another attempt would hang as well.
		// If an earlier process has, this one is retried like any stalled attempt.
		return classification{outcome: Broken, detail: e.plainText,
			reason: withPlainText("it does not answer: not a line of the CLI's protocol in "+
				min(e.timeout, orDefault(e.idle, e.timeout)).String(), e.plainText)}
	case errors.Is(e.stop, ErrTimeout):
		return classification{outcome: TimedOut, reason: fmt.Sprintf("not finished after %s", e.timeout)}
	case errors.Is(e.stop, ErrIdle):
		return classification{outcome: Stalled, reason: fmt.Sprintf("no sign of life for %s", e.idle)}
	case e.stop != nil:
		return classification{outcome: Interrupted, reason: "stopped: " + e.stop.Error()}
	case e.result == nil || e.badResult:
		return classifyNoResult(e)
	case e.result.isError || e.result.subtype != "success":
		return classifyError(e)
	case e.endedAfterTurn:
		// The process did not exit after its result line, but the result counts.
	case e.signal != "":
		return classification{outcome: Truncated, reason: "the result says success, but the process was ended by " + e.signal}
	case e.exit != 0:
		return classification{outcome: Truncated, reason: fmt.Sprintf("the result says success, but the exit code is %d",
			e.exit),
			detail: e.plainText}
	}
	return classification{outcome: Done}
}

// classifyNoResult returns the outcome for a process without a readable result line. A process that
// exited before its first JSON line has printed the reason in plain text; for others the reason is
// unknown.
func classifyNoResult(e turnEnd) classification {
	ended := fmt.Sprintf("exit code %d", e.exit)
	if e.signal != "" {
		ended = "ended by " + e.signal
	}
	switch {
	case e.badResult:
		return classification{outcome: Truncated, reason: "the result line is unreadable, " + ended, detail: e.plainText}
	case e.lines == 0 && e.signal == "" && e.exit == 0 && e.plainText != "":
		return classification{outcome: Broken, reason: withPlainText("it does not speak like the claude CLI", e.plainText),
			detail: e.plainText}
	case e.lines == 0 && e.signal == "" && e.exit > 0 && e.exit < 128:
		reason := e.plainText
		if reason == "" {
			reason = "it ended before it read its prompt, and said nothing"
		}
		return classification{outcome: Broken, reason: fmt.Sprintf("%s (%s)", check.OneLine(reason, reasonMax-40), ended),
			detail: e.plainText}
	}
	return classification{outcome: Truncated, reason: "no result line, " + ended, detail: e.plainText}
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
func classifyError(e turnEnd) classification {
	r := e.result
	said := r.text
	if len(r.errors) > 0 {
		said = strings.Join(r.errors, "; ")
	}
	if said == "" {
		said = e.plainText
	}
	v := classification{reason: said, detail: said}
	status := r.status
	if status == 0 && r.subtype == "success" && e.retries.count > 0 {
		status = e.retries.status // null after repeated 529s
	}
	switch {
	case r.subtype == "error_max_budget_usd":
		v.outcome = OverCap
	case r.subtype == "error_max_turns":
		v.outcome = OverTurns
	case r.subtype == "error_max_structured_output_retries":
		v.outcome = Wrong
	case e.limit.status == "rejected" && !e.limit.resetsAt.IsZero() && (status == http.StatusTooManyRequests ||
		e.lastError == "rate_limit"):
		v.outcome, v.resetsAt = Limited, e.limit.resetsAt
		v.reason = fmt.Sprintf("usage limit %s, resets at %s", e.limit.window, e.limit.resetsAt.Format(time.RFC3339))
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired,
		e.lastError == "billing_error", e.lastError == "authentication_failed",
		strings.Contains(strings.ToLower(said), "credit balance"):
		v.outcome = Unauthorised
	case status == http.StatusTooManyRequests, status >= 500, status == http.StatusRequestTimeout,
		e.lastError == "rate_limit", e.lastError == "overloaded", e.lastError == "server_error",
		status == 0 && r.subtype == "success" && e.retries.count > 0: // network: retried without an answer
		v.outcome, v.retryAfter = Throttled, e.retries.delay
	case status == http.StatusNotFound, e.lastError == "model_not_found":
		v.outcome = Broken
	case status >= 400: // the API rejects the request itself: too long a prompt, a bad image
		v.outcome = Wrong
	case r.subtype == "error_during_execution" && !e.initSeen && r.turns == 0:
		v.outcome = Broken // the CLI refused to start, for example an unknown session to resume
	default:
		v.outcome = Truncated
		v.reason = fmt.Sprintf("ended with %s: %s", strings.TrimSpace(r.subtype+" "+r.terminal), said)
	}
	return v
}

// work holds the evidence on an attempt whose turn ended well.
type work struct {
	checks  []check.Evidence
	stop    error // why the checks were cut short
	denials []Denial
	claim   claim
	files   []plan.File
	changed []string
	vacuous bool
	edited  bool // the agent used a tool that edits
}

// classifyWork returns the outcome of the work. Only evidence makes it Done; the agent's own claim can
// only make it worse.
func classifyWork(w work) classification {
	var promised []string
	for _, f := range w.files {
		if f.Writes() {
			promised = append(promised, f.Path)
		}
	}
	missing := len(promised) > 0 && len(w.changed) == 0
	reason, detail := failedChecks(w.checks)
	switch {
	case w.stop != nil:
		return classification{outcome: Interrupted, reason: "stopped during the checks: " + w.stop.Error()}
	case reason != "" && len(w.denials) > 0 && (!w.edited && len(w.changed) == 0 || editDenied(w.denials, false)):
		return classification{outcome: Denied, reason: denialReason(w.denials) + "; " + reason, detail: detail}
	case reason != "" && len(w.denials) > 0:
		// The agent could edit, and did. A denied tool call (agents try several) is not why the
		// check fails, and no reason to stop the run. The next attempt gets the denials in its
		// prompt.
		return classification{outcome: Wrong, reason: reason, detail: detail + "\n" + denialReason(w.denials)}
	case reason != "":
		return classification{outcome: Wrong, reason: reason, detail: detail}
	case missing && len(w.denials) > 0 && (len(w.checks) == 0 || editDenied(w.denials, true)):
		return classification{outcome: Denied, reason: denialReason(w.denials) + "; no declared file changed"}
	case missing:
		reason = "no declared file changed: " + strings.Join(promised, ", ")
		if w.vacuous {
			reason += "; the checks passed before the attempt already"
		}
		return classification{outcome: Wrong, reason: reason}
	case w.claim.failed && len(w.denials) > 0 && (!w.edited && len(w.changed) == 0 || editDenied(w.denials, false)):
		// The agent itself reports failure. Another attempt would be denied as well.
		return classification{outcome: Denied, reason: denialReason(w.denials) + "; " + w.claim.why}
	case w.claim.failed:
		return classification{outcome: Wrong, reason: w.claim.why}
	}
	return classification{outcome: Done}
}

// failedChecks returns a line that names the failed checks, and a text with their outputs.
func failedChecks(checks []check.Evidence) (reason, detail string) {
	var b strings.Builder
	failed := 0
	for _, c := range checks {
		if c.Passed {
			continue
		}
		failed++
		if failed == 1 {
			reason = fmt.Sprintf("check failed: %s: %s", check.OneLine(c.Check, 200), c.Reason)
		}
		fmt.Fprintf(&b, "$ %s\n%s\n%s\n\n", c.Check, c.Output, c.Reason)
	}
	if failed > 1 {
		reason += fmt.Sprintf(" (and %d more)", failed-1)
	}
	return reason, b.String()
}

// denialReason names the rules that would have allowed the denied tool calls.
func denialReason(ds []Denial) string {
	var rules []string
	for _, d := range ds {
		if len(rules) == 3 {
			rules = append(rules, "...")
			break
		}
		rules = append(rules, d.Rule)
	}
	return "permission denied; to allow it, add to allowedTools: " + strings.Join(rules, ", ")
}

// editDenied reports whether an editing tool was denied; with bash, Bash counts as one.
func editDenied(ds []Denial, bash bool) bool {
	for _, d := range ds {
		switch d.Tool {
		case "Edit", "Write", "MultiEdit", "NotebookEdit":
			return true
		case "Bash":
			if bash {
				return true
			}
		}
	}
	return false
}

// classifyCommand returns the outcome for the command of a command task.
func classifyCommand(e turnEnd) classification {
	switch {
	case e.startErr != nil, e.stop != nil:
		return classifyTurn(e)
	case e.signal != "":
		return classification{outcome: Wrong, reason: "the command was ended by " + e.signal, detail: e.plainText}
	case e.exit != 0:
		return classification{outcome: Wrong, reason: fmt.Sprintf("the command's exit code is %d", e.exit),
			detail: e.plainText}
	}
	return classification{outcome: Done}
}

// reasonMax and detailMax bound the texts of a Result, in bytes.
const (
	reasonMax = 400
	detailMax = 4 << 10
)
