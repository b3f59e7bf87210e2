package rehearse

// This file has the faulty outcomes of a turn, each named by an Outcome. The lines of outcomes that
// were observed on the real CLI are its own.

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// apiFailure describes how the CLI reports that the API refused a request (2.1.197).
type apiFailure struct {
	status  int    // of the HTTP response
	retries int    // api_retry lines before it gives up
	retry   string // their error name
	kind    string // the assistant line's error
	text    string
	null    bool // api_error_status is null, as after repeated 529s
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
	Credit:  {status: 400, kind: "billing_error", text: "Credit balance is too low"},
	Limited: {status: 429, kind: "rate_limit"},
}

// midway reports whether the outcome takes effect after at least one response, so that a further
// response must follow.
func (o Outcome) midway() bool {
	switch o {
	case Stall, IgnoreSigterm, Exit137, InterruptedLooksGood, OverTurns:
		return true
	}
	return false
}

// strikes reports whether the outcome replaces the rest of the turn.
func (o Outcome) strikes() bool {
	_, api := apiFailures[o]
	return api || o.midway() || o == OverCap || o == GarbageOnly
}

// when returns the number of responses before the outcome takes effect.
func (t *turn) when() int {
	last := len(t.steps) - 1
	switch o := t.b.Outcome; {
	case t.b.After != nil:
		return min(int(*t.b.After), last)
	case o == OverTurns, o == OverCap:
		return last
	case o.midway():
		return min(1, last)
	}
	return 0
}

// overture prints the lines between the init line and the first response.
func (t *turn) overture(ctx context.Context) error {
	switch t.b.Outcome {
	case Warning:
		t.limit("allowed_warning")
	case Garbage:
		t.noise()
	case BigLine:
		return t.bigLine(ctx)
	}
	return nil
}

// strike replaces the rest of the turn.
func (t *turn) strike(ctx context.Context) error {
	switch t.b.Outcome {
	case Stall:
		return t.stall(ctx)
	case IgnoreSigterm:
		return t.ignore()
	case Exit137:
		t.die()
		return exit(137)
	case InterruptedLooksGood:
		return t.looksGood(ctx)
	case OverCap:
		t.chargeRest()
		t.before = tokenLine{} // observed on the CLI: all zero
		t.overCap(t.made)
	case OverTurns:
		t.chargeRest()
		n := t.cmd.turns
		if n == 0 {
			n = t.made
		}
		t.overTurns(n)
	case GarbageOnly:
		t.noise()
		return exit(0)
	default:
		return t.apiFails(ctx)
	}
	return nil
}

// apiFails ends a turn whose request the API finally refused.
func (t *turn) apiFails(ctx context.Context) error {
	f := apiFailures[t.b.Outcome]
	for n := range f.retries {
		delay := 500 * time.Millisecond << n
		t.emit(retryLine{Type: "system", Subtype: "api_retry", Attempt: n + 1, Max: f.retries,
			Delay: float64(delay.Milliseconds()), Status: f.status, Error: f.retry, Session: t.session, UUID: t.id()})
		if or(t.b.Duration, 1) == 0 {
			continue
		}
		if err := t.pause(ctx, delay); err != nil {
			return err
		}
	}
	if t.b.Outcome == Limited {
		f.text = "You've hit your limit · resets " + t.limit("rejected").UTC().Format("3:04pm") + " (UTC)"
	}
	l := t.assistant(t.id(), tokenLine{}, part{Type: "text", Text: f.text})
	stop := "stop_sequence"
	l.Message.Model, l.Message.StopReason, l.Error = "<synthetic>", &stop, f.kind
	t.emit(l)
	r := t.line("success")
	r.IsError = true
	r.Result = &f.text
	r.Stop = &stop
	r.Terminal = "completed"
	r.Turns = t.made + 1
	r.Status = json.RawMessage("null")
	if !f.null {
		r.Status = fmt.Append(nil, f.status)
	}
	t.conclude(r)
	return nil
}

// limit prints a rate_limit_event, as for subscriptions, and returns the time of the reset.
func (t *turn) limit(status string) time.Time {
	wait := t.scale(time.Duration(or(t.b.ResetIn, Duration(time.Hour))))
	at := t.now().Add(wait + time.Second - 1).Truncate(time.Second) // whole seconds, not before the wait ends
	l := limitLine{Type: "rate_limit_event", UUID: t.id(), Session: t.session}
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

// stall waits like the CLI for an API that does not answer. It reacts to an interrupt and to
// signals.
func (t *turn) stall(ctx context.Context) error {
	timer := time.NewTimer(linger(t.b))
	defer timer.Stop()
	if err := t.await(ctx, timer.C, nil); err != nil {
		return err
	}
	return exit(t.lingered())
}

// ignore reacts only to SIGKILL.
func (t *turn) ignore() error {
	timer := time.NewTimer(linger(t.b))
	defer timer.Stop()
	<-timer.C
	return exit(t.lingered())
}

// looksGood works in a tool until it is stopped, and then reports success.
func (t *turn) looksGood(ctx context.Context) error {
	act := action{id: t.toolID(), tool: "Bash", input: map[string]string{"command": "make test"}}
	t.say(t.message(), tokenLine{}, part{Type: "tool_use", ID: act.id, Name: act.tool, Input: act.input})
	timer := time.NewTimer(linger(t.b))
	defer timer.Stop()
	err := t.await(ctx, timer.C, nil)
	if err == nil {
		return exit(t.lingered())
	}
	t.result(act, "", false)
	t.chargeRest()
	text := t.text()
	t.say(t.message(), tokenLine{}, part{Type: "text", Text: text})
	t.conclude(t.success(text, nil))
	if err == errInterrupt {
		return nil
	}
	return exit(0)
}

// end prints the result of a successful turn. over is always true.
func (t *turn) end(ctx context.Context, r resultLine) (over bool, err error) {
	switch t.b.Outcome {
	case Orphan, OrphanStdout:
		if err := t.orphan(t.env, linger(t.b), t.b.Outcome == OrphanStdout); err != nil {
			fmt.Fprintln(t.stderr, "wavex agent: leaving an orphan:", err)
			return true, exit(1)
		}
	case Garbage:
		t.noise()
	case NoResult:
		return true, exit(0)
	case Truncated:
		b := line(r)
		t.out.write(b[:len(b)/2])
		return true, exit(0)
	}
	t.conclude(r)
	switch t.b.Outcome {
	case ResultTwice:
		t.conclude(r)
	case HangAfterResult:
		return true, exit(t.hang(ctx, t.b))
	}
	return true, nil
}

// noise prints lines that a reader of the stream cannot use.
func (t *turn) noise() {
	for _, l := range []string{"this is not JSON", "", `{"type":"assistant","message":`, "\xff\xfe\x00\xc3\x28", "[1,2,3]",
		"null", "42",
		`"text"`, "{}", `{"type":5}`, `{"type":"assistant"}`, `{"type":"assistant","message":"text"}`,
		`{"type":"user","message":null}`,
		`{"type":"wavex_unknown","subtype":"new","deep":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}"} {
		if t.stream {
			t.out.write([]byte(l + "\n"))
		}
	}
}

// bigLine prints a tool's result of the block's size in bytes, without holding it in memory.
func (t *turn) bigLine(ctx context.Context) error {
	if !t.stream {
		return nil
	}
	const mark = "BIG-LINE"
	act := action{id: t.toolID(), tool: "Bash", input: map[string]string{"command": "cat big.log"}}
	t.say(t.message(), tokenLine{}, part{Type: "tool_use", ID: act.id, Name: act.tool, Input: act.input})
	whole := line(t.user(toolResult{Tool: act.id, Type: "tool_result", Content: mark}))
	head, tail, _ := strings.Cut(string(whole), mark)
	left := int(or(t.b.Size, 50<<20)) - len(head) - len(tail)
	t.out.write([]byte(head))
	chunk := []byte(strings.Repeat("0123456789abcdef", 4096))
	for left > 0 && t.out.err == nil {
		n := min(left, len(chunk))
		t.out.write(chunk[:n])
		left -= n
	}
	t.out.write([]byte(tail))
	if ctx.Err() != nil {
		return errTerm
	}
	return nil
}

// sayText prints the last message. With split-utf8, it cuts every character of several bytes and
// prints the second half later.
func (t *turn) sayText(ctx context.Context, id string, used tokenLine, text string) error {
	t.begin(id, used)
	l := line(t.assistant(id, used, part{Type: "text", Text: text}))
	if !t.stream {
		return nil
	}
	if t.b.Outcome != SplitUTF8 {
		t.out.write(l)
		return nil
	}
	start := 0
	for i := 0; i < len(l); {
		_, size := utf8.DecodeRune(l[i:])
		if size > 1 {
			t.out.write(l[start : i+1])
			start = i + 1
			if err := t.pause(ctx, 2*time.Millisecond); err != nil {
				return err
			}
		}
		i += size
	}
	t.out.write(l[start:])
	return nil
}
