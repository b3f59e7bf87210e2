package runner

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"wavex/internal/plan"
	"wavex/internal/verify"
)

// This file decides how an attempt ended. It is pure: facts in, outcome out; no
// clock, no process, no file. docs/outcomes.md is its table in words.

// The causes of a stop of ours. Any other cause of a cancelled context is an interruption.
var (
	ErrTimeout = errors.New("the attempt's time is up")
	ErrIdle    = errors.New("no sign of life")
)

// turnEnd is what was observed of the end of one agent process.
type turnEnd struct {
	agent    bool   // the process should speak the CLI's protocol; a command task's does not
	startErr error  // the process could not be started
	exit     int    // -1 when a signal ended it
	signal   string // "SIGKILL"
	stop     error  // why we stopped the turn; nil: we did not
	cut      bool   // we ended the process, but only after its turn was over
	timeout  time.Duration
	idle     time.Duration

	lines     int    // JSON lines on stdout
	answered  bool   // this process, or an earlier one of the same Agent, printed such a line
	begun     bool   // the session's init line was among them
	words     string // what the CLI said in plain text, on stdout or stderr
	result    *resultLine
	badResult bool
	retries   retries
	limit     limit
	lastError string // kind of error of the last message
	lastText  string
}

// verdict is an outcome with what a person and the next attempt need to know.
type verdict struct {
	outcome    Outcome
	reason     string
	detail     string
	resetsAt   time.Time
	retryAfter time.Duration
}

// judgeTurn tells how the agent's turn ended. Done means only that there is work to
// verify. A stop of ours decides before everything else, because an interrupted run can
// look like a good one (exit 0, result success).
func judgeTurn(e turnEnd) verdict {
	switch {
	case e.startErr != nil:
		return verdict{outcome: Broken, reason: e.startErr.Error()}
	case errors.Is(e.stop, errNoise):
		return verdict{outcome: Broken, reason: said("it does not speak like the claude CLI", e.words), detail: e.words}
	case e.agent && !e.answered && (errors.Is(e.stop, ErrTimeout) || errors.Is(e.stop, ErrIdle)):
		// No process of this program has printed a line yet: another attempt would hang as well.
		// Where others did, a process that hangs at its start is retried like any stalled one.
		return verdict{outcome: Broken, detail: e.words,
			reason: said("it does not answer: not a line of the CLI's protocol in "+min(e.timeout, orDefault(e.idle, e.timeout)).String(), e.words)}
	case errors.Is(e.stop, ErrTimeout):
		return verdict{outcome: TimedOut, reason: fmt.Sprintf("not finished after %s", e.timeout)}
	case errors.Is(e.stop, ErrIdle):
		return verdict{outcome: Stalled, reason: fmt.Sprintf("no sign of life for %s", e.idle)}
	case e.stop != nil:
		return verdict{outcome: Interrupted, reason: "stopped: " + e.stop.Error()}
	case e.result == nil || e.badResult:
		return judgeSilence(e)
	case e.result.isError || e.result.subtype != "success":
		return judgeError(e)
	case e.cut:
		// The process outlived its own result: the work is as good as the result says.
	case e.signal != "":
		return verdict{outcome: Truncated, reason: "the result says success, but the process was ended by " + e.signal}
	case e.exit != 0:
		return verdict{outcome: Truncated, reason: fmt.Sprintf("the result says success, but the exit code is %d", e.exit), detail: e.words}
	}
	return verdict{outcome: Done}
}

// judgeSilence is for a process without a readable result line. One that ended itself
// before its first JSON line has said in plain text why it cannot work; from others
// nothing is known.
func judgeSilence(e turnEnd) verdict {
	ended := fmt.Sprintf("exit code %d", e.exit)
	if e.signal != "" {
		ended = "ended by " + e.signal
	}
	switch {
	case e.badResult:
		return verdict{outcome: Truncated, reason: "the result line is unreadable, " + ended, detail: e.words}
	case e.lines == 0 && e.signal == "" && e.exit == 0 && e.words != "":
		return verdict{outcome: Broken, reason: said("it does not speak like the claude CLI", e.words), detail: e.words}
	case e.lines == 0 && e.signal == "" && e.exit > 0 && e.exit < 128:
		reason := e.words
		if reason == "" {
			reason = "it ended before it read its prompt, and said nothing"
		}
		return verdict{outcome: Broken, reason: fmt.Sprintf("%s (%s)", verify.OneLine(reason, reasonMax-40), ended), detail: e.words}
	}
	return verdict{outcome: Truncated, reason: "no result line, " + ended, detail: e.words}
}

// said adds to a reason what the CLI said in plain text.
func said(reason, words string) string {
	if words == "" {
		return reason
	}
	return reason + "; it said: " + words
}

// judgeError is for a result that says error. The CLI's codes and kinds decide;
// of its texts only "credit balance" is looked at, which some versions give no kind for.
func judgeError(e turnEnd) verdict {
	r := e.result
	said := r.text
	if len(r.errors) > 0 {
		said = strings.Join(r.errors, "; ")
	}
	if said == "" {
		said = e.words
	}
	v := verdict{reason: said, detail: said}
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
	case e.limit.status == "rejected" && !e.limit.resetsAt.IsZero() && (status == http.StatusTooManyRequests || e.lastError == "rate_limit"):
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
	case status >= 400: // refused for what it is: too long a prompt, a bad image
		v.outcome = Wrong
	case r.subtype == "error_during_execution" && !e.begun && r.turns == 0:
		v.outcome = Broken // refused before it began, for example an unknown session to resume
	default:
		v.outcome = Truncated
		v.reason = fmt.Sprintf("ended with %s: %s", strings.TrimSpace(r.subtype+" "+r.terminal), said)
	}
	return v
}

// work is what there is to judge when the turn ended well.
type work struct {
	checks  []verify.Evidence
	stop    error // the checks were cut short
	denials []Denial
	claim   claim
	files   []plan.File
	changed []string
	vacuous bool
	edited  bool // the agent used a tool that edits
}

// judgeWork tells whether the work is done. Only evidence makes it so; the agent's
// own claim can only spoil it.
func judgeWork(w work) verdict {
	var promised []string
	for _, f := range w.files {
		if f.Writes() {
			promised = append(promised, f.Path)
		}
	}
	missing := len(promised) > 0 && len(w.changed) == 0
	reason, detail := failures(w.checks)
	switch {
	case w.stop != nil:
		return verdict{outcome: Interrupted, reason: "stopped during the checks: " + w.stop.Error()}
	case reason != "" && len(w.denials) > 0 && (!w.edited && len(w.changed) == 0 || editDenied(w.denials, false)):
		return verdict{outcome: Denied, reason: denialReason(w.denials) + "; " + reason, detail: detail}
	case reason != "" && len(w.denials) > 0:
		// It could edit, and did: what was refused by the way (agents try things) is not
		// why the check fails, and no reason to stop the whole run. The next attempt is told.
		return verdict{outcome: Wrong, reason: reason, detail: detail + "\n" + denialReason(w.denials)}
	case reason != "":
		return verdict{outcome: Wrong, reason: reason, detail: detail}
	case missing && len(w.denials) > 0 && (len(w.checks) == 0 || editDenied(w.denials, true)):
		return verdict{outcome: Denied, reason: denialReason(w.denials) + "; no declared file changed"}
	case missing:
		reason = "no declared file changed: " + strings.Join(promised, ", ")
		if w.vacuous {
			reason += "; the checks passed before the attempt already"
		}
		return verdict{outcome: Wrong, reason: reason}
	case w.claim.failed && len(w.denials) > 0 && (!w.edited && len(w.changed) == 0 || editDenied(w.denials, false)):
		// It says itself that it is not done. Another attempt would be denied as well.
		return verdict{outcome: Denied, reason: denialReason(w.denials) + "; " + w.claim.why}
	case w.claim.failed:
		return verdict{outcome: Wrong, reason: w.claim.why}
	}
	return verdict{outcome: Done}
}

// failures puts the failed checks in a line, and their outputs in a text.
func failures(checks []verify.Evidence) (reason, detail string) {
	var b strings.Builder
	failed := 0
	for _, c := range checks {
		if c.Passed {
			continue
		}
		failed++
		if failed == 1 {
			reason = fmt.Sprintf("check failed: %s: %s", verify.OneLine(c.Check, 200), c.Reason)
		}
		fmt.Fprintf(&b, "$ %s\n%s\n%s\n\n", c.Check, c.Output, c.Reason)
	}
	if failed > 1 {
		reason += fmt.Sprintf(" (and %d more)", failed-1)
	}
	return reason, b.String()
}

// denialReason names the rules that would have allowed what was refused.
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

// editDenied tells whether a tool that edits was refused; Bash can edit too.
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

// judgeCommand tells how the command of a task without an agent ended.
func judgeCommand(e turnEnd) verdict {
	switch {
	case e.startErr != nil, e.stop != nil:
		return judgeTurn(e)
	case e.signal != "":
		return verdict{outcome: Wrong, reason: "the command was ended by " + e.signal, detail: e.words}
	case e.exit != 0:
		return verdict{outcome: Wrong, reason: fmt.Sprintf("the command's exit code is %d", e.exit), detail: e.words}
	}
	return verdict{outcome: Done}
}

// reasonMax and detailMax bound the texts of a Result, in bytes.
const (
	reasonMax = 400
	detailMax = 4 << 10
)
