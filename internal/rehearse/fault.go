package rehearse

// This file has the faulty outcomes of a turn, each named by an Outcome. The lines of outcomes that
// were observed on the real CLI are its own.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// apiFailure describes how the CLI reports that the API refused a request (2.1.258).
type apiFailure struct {
	status  int    // of the HTTP response
	retries int    // api_retry lines before it gives up
	retry   string // their error name
	kind    string // the assistant line's error
	text    string
	null    bool   // api_error_status is null, as after repeated 529s
	stop    string // stop_reason; "": stop_sequence
}

var apiFailures = map[Outcome]apiFailure{
	Error400: {status: 400, kind: "unknown", text: "API Error: 400 invalid_request_error"},
	Error401: {status: 401, retries: 1, retry: "authentication_failed", kind: "authentication_failed",
		text: "Failed to authenticate. API Error: 401 authentication_error"},
	Error403: {status: 403, kind: "authentication_failed",
		text: "Failed to authenticate. API Error: 403 permission_error"},
	Error429: {status: 429, retries: 2, retry: "rate_limit", kind: "rate_limit",
		text: "API Error: Request rejected (429) · rate_limit_error"},
	Error500: {status: 500, retries: 2, retry: "server_error", kind: "server_error",
		text: "API Error: 500 api_error. This is a server-side issue, usually temporary — try again in a moment."},
	Error529: {status: 529, retries: 2, retry: "overloaded", kind: "server_error",
		text: "API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. Try again in a moment.", null: true},
	Credit: {status: 400, kind: "billing_error", text: "Credit balance is too low"},
	Refusal: {kind: "invalid_request", text: "API Error: Claude can't help with this. Start a new session to continue.",
		null: true, stop: "refusal"}, // 2.1.258
	Limited: {status: 429, kind: "rate_limit"},
}

// isMidTurn reports whether the outcome takes effect after at least one response, so that a further
// response must follow.
func (o Outcome) isMidTurn() bool {
	switch o {
	case Stall, IgnoreSigterm, Exit137, InterruptedLooksGood, OverTurns:
		return true
	}
	return false
}

// endsTurn reports whether the outcome replaces the rest of the turn.
func (o Outcome) endsTurn() bool {
	_, api := apiFailures[o]
	return api || o.isMidTurn() || o == OverCap || o == GarbageOnly
}

// outcomeAfter returns the number of responses before the outcome takes effect.
func (t *turn) outcomeAfter() int {
	last := len(t.steps) - 1
	switch o := t.b.Outcome; {
	case t.b.After != nil:
		return min(int(*t.b.After), last)
	case o == OverTurns, o == OverCap:
		return last
	case o.isMidTurn():
		return min(1, last)
	}
	return 0
}

// preamble prints the lines between the init line and the first response.
func (t *turn) preamble() {
	switch t.b.Outcome {
	case Warning:
		t.emitRateLimit("allowed_warning")
	case Garbage:
		t.emitNoise()
	}
}

// applyOutcome replaces the rest of the turn.
func (t *turn) applyOutcome(ctx context.Context) error {
	switch t.b.Outcome {
	case Stall:
		return t.linger(ctx, t.b)
	case IgnoreSigterm: // only SIGKILL ends it
		time.Sleep(lingerTime(t.b))
		return t.lingerTimeout()
	case Exit137:
		t.killSelf()
		return exitError(137)
	case InterruptedLooksGood:
		return t.succeedWhenStopped(ctx)
	case OverCap:
		t.chargeRest()
		t.tokensBefore = tokenLine{} // observed on the CLI: all zero
		t.emitOverCap()
	case OverTurns:
		t.chargeRest()
		n := cmp.Or(t.cmd.turns, t.responses)
		t.emitOverTurns(n)
	case GarbageOnly:
		t.emitNoise()
		return exitError(0)
	default:
		return t.failAPI(ctx)
	}
	return nil
}

// failAPI ends a turn whose request the API finally refused.
func (t *turn) failAPI(ctx context.Context) error {
	f := apiFailures[t.b.Outcome]
	for n := range f.retries {
		delay := 500 * time.Millisecond << n
		t.emit(retryLine{Type: "system", Subtype: "api_retry", Attempt: n + 1, Max: f.retries,
			Delay: float64(delay.Milliseconds()), Status: f.status, Error: f.retry, Session: t.session, UUID: t.newID()})
		if valueOr(t.b.Duration, 1) == 0 {
			continue
		}
		if err := t.pause(ctx, delay); err != nil {
			return err
		}
	}
	if t.b.Outcome == Limited {
		f.text = "You've hit your limit · resets " + t.emitRateLimit("rejected").UTC().Format("3:04pm") + " (UTC)"
	}
	l := t.assistant(t.newID(), tokenLine{}, contentPart{Type: "text", Text: f.text})
	stop := cmp.Or(f.stop, "stop_sequence")
	l.Message.Model, l.Message.StopReason, l.Error = "<synthetic>", &stop, f.kind
	t.emit(l)
	r := t.newResultLine("success")
	r.IsError = true
	r.Result = &f.text
	r.Stop = &stop
	r.Terminal = "completed"
	r.Turns = t.responses + 1
	r.Status = json.RawMessage("null")
	if !f.null {
		r.Status = fmt.Append(nil, f.status)
	}
	t.emitResult(r)
	return nil
}

// emitRateLimit prints a rate_limit_event, as for subscriptions, and returns the time of the reset.
func (t *turn) emitRateLimit(status string) time.Time {
	wait := t.scale(time.Duration(valueOr(t.b.ResetIn, Duration(time.Hour))))
	at := t.now().Add(wait + time.Second - 1).Truncate(time.Second) // whole seconds, not before the wait ends
	l := limitLine{Type: "rate_limit_event", UUID: t.newID(), Session: t.session}
	l.Info.Status = status
	l.Info.ResetsAt = at.Unix()
	l.Info.Kind = "five_hour"
	l.Info.Overage = "rejected"
	if status != "rejected" {
		l.Info.Utilization = 0.92
	}
	t.emit(l)
	return at
}

// succeedWhenStopped works in a tool until it is stopped, and then reports success.
func (t *turn) succeedWhenStopped(ctx context.Context) error {
	act := action{id: t.newToolID(), tool: "Bash", input: map[string]string{"command": "make test"}}
	t.emitPart(t.newMessageID(), tokenLine{}, contentPart{Type: "tool_use", ID: act.id, Name: act.tool, Input: act.input})
	if _, err := t.ask(ctx, "PreToolUse", act, nil); err != nil {
		return err
	}
	err := t.linger(ctx, t.b)
	var code exitError
	if errors.As(err, &code) {
		return err
	}
	t.emitToolResult(act, "", false)
	t.chargeRest()
	text := t.reportText()
	t.emitPart(t.newMessageID(), tokenLine{}, contentPart{Type: "text", Text: text})
	t.emitResult(t.successLine(text, nil))
	if err == errInterrupt {
		return nil
	}
	return exitError(0)
}

// emitEnd prints the result of a successful turn. over is always true.
func (t *turn) emitEnd(ctx context.Context, r resultLine) (over bool, err error) {
	switch t.b.Outcome {
	case Orphan, OrphanStdout:
		if err := t.startOrphan(t.env, lingerTime(t.b), t.b.Outcome == OrphanStdout); err != nil {
			fmt.Fprintln(t.stderr, "wavex agent: leaving an orphan:", err)
			return true, exitError(1)
		}
	case Garbage:
		t.emitNoise()
	case NoResult:
		return true, exitError(0)
	case Truncated:
		b := encodeLine(r)
		t.out.write(b[:len(b)/2])
		return true, exitError(0)
	}
	t.emitResult(r)
	switch t.b.Outcome {
	case ResultTwice:
		t.emitResult(r)
	case HangAfterResult:
		return true, exitError(t.hang(ctx, t.b))
	}
	return true, nil
}

// emitNoise prints lines that a reader of the stream cannot use.
func (t *turn) emitNoise() {
	for _, l := range []string{"this is not JSON", "", `{"type":"assistant","message":`, "\xff\xfe\x00\xc3\x28", "[1,2,3]",
		"null", "42",
		`"text"`, "{}", `{"type":5}`, `{"type":"assistant"}`, `{"type":"assistant","message":"text"}`,
		`{"type":"user","message":null}`,
		`{"type":"wavex_unknown","subtype":"new","deep":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}"} {
		t.out.write([]byte(l + "\n"))
	}
}
