package rehearse

// This file builds the lines of a turn: the agent's messages, the results of its tools, and the
// result line of every outcome. It decides nothing.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// newMessageID and newToolID return new ids in the API's style.
func (t *turn) newMessageID() string { return "msg_" + strings.ReplaceAll(t.newID(), "-", "")[:24] }
func (t *turn) newToolID() string    { return "toolu_" + strings.ReplaceAll(t.newID(), "-", "")[:24] }

// emitPart prints a part of a response, after the events that begin the response. Its output tokens are
// those that the CLI knows at the start of a response: a lower bound.
func (t *turn) emitPart(id string, used tokenLine, p contentPart) {
	t.begin(id, used)
	t.emit(t.assistant(id, used, p))
}

// begin prints the event that begins a response, once for each id (--include-partial-messages).
func (t *turn) begin(id string, used tokenLine) {
	if !t.cmd.has("--include-partial-messages") || id == t.begun {
		return
	}
	t.begun = id
	m := t.assistant(id, used, contentPart{}).Message
	m.Content = []contentPart{}
	e := eventLine{Type: "stream_event", Session: t.session, UUID: t.newID()}
	e.Event.Type, e.Event.Message = "message_start", &m
	t.emit(e)
}

// finish prints the event with the final count of output tokens of the last response.
func (t *turn) finish(used tokenLine) {
	if t.begun == "" {
		return
	}
	e := eventLine{Type: "stream_event", Session: t.session, UUID: t.newID()}
	e.Event.Type, e.Event.Usage = "message_delta", &outputLine{used.Output}
	t.emit(e)
	t.begun = ""
}

func (t *turn) assistant(id string, used tokenLine, p contentPart) assistantLine {
	l := assistantLine{Type: "assistant", Session: t.session, UUID: t.newID()}
	l.Message.ID = id
	l.Message.Type = "message"
	l.Message.Role = "assistant"
	l.Message.Model = t.model
	l.Message.Content, l.Message.Usage = []contentPart{p}, used
	l.Message.Usage.Output = min(used.Output, 1)
	return l
}

// emitToolResult prints the result of a tool.
func (t *turn) emitToolResult(act action, text string, bad bool) {
	l := t.user(toolResult{Tool: act.id, Type: "tool_result", Content: text, IsError: bad})
	if bad {
		l.Result = "Error: " + text
	}
	t.emit(l)
}

func (t *turn) user(r toolResult) userLine {
	l := userLine{Type: "user", Session: t.session, UUID: t.newID(),
		Timestamp: t.now().UTC().Format("2006-01-02T15:04:05.000Z")}
	l.Message.Role, l.Message.Content = "user", []toolResult{r}
	return l
}

// newResultLine returns a result line with the fields that all result lines have.
func (t *turn) newResultLine(subtype string) resultLine {
	took := t.now().Sub(t.started).Milliseconds()
	models := map[string]modelLine{}
	if n := t.tokens; t.responses > 0 {
		models[t.model] = modelLine{n.Input, n.Output, n.CacheRead, n.CacheWrite, t.cost.Float()}
	}
	return resultLine{Type: "result", Subtype: subtype, IsError: subtype != "success", Duration: took, API: took,
		Turns: t.responses, Session: t.session, Cost: t.cost.Float(), Usage: t.tokens, Models: models,
		Denials: append([]denialLine{}, t.denials...), UUID: t.newID()}
}

// emitResult prints the result and remembers the exit code.
func (t *turn) emitResult(r resultLine) {
	t.exitCode = 0
	if r.IsError {
		t.exitCode = 1
	}
	t.emit(r)
}

// emitOverCap ends a turn as the CLI does when the cost has reached --max-budget-usd: usage lacks the
// last response, modelUsage includes it.
func (t *turn) emitOverCap() {
	r := t.newResultLine("error_max_budget_usd")
	limit := cmp.Or(t.cmd.value("--max-budget-usd"), strconv.FormatFloat(t.cost.Float(), 'f', -1, 64))
	stop := "tool_use"
	r.Usage, r.Stop = t.tokensBefore, &stop
	r.Errors = []string{"Reached maximum budget ($" + limit + ")"}
	t.emitResult(r)
}

// emitOverTurns ends a turn as the CLI does when --max-turns is reached.
func (t *turn) emitOverTurns(limit int64) {
	r := t.newResultLine("error_max_turns")
	stop := "tool_use"
	r.Turns, r.Stop, r.Terminal = limit+1, &stop, "max_turns"
	r.Errors = []string{fmt.Sprintf("Reached maximum number of turns (%d)", limit)}
	t.emitResult(r)
}

// emitAborted ends a turn that was interrupted, inside or outside of a tool.
func (t *turn) emitAborted(reason string, act *action) {
	text, extra, stop := "[Request interrupted by user]", int64(2), (*string)(nil)
	if act != nil {
		t.emitToolResult(*act, "The user doesn't want to proceed with this tool use. The tool use was rejected. STOP what you are doing and wait for the user to tell you how to proceed.", true)
		s := "tool_use"
		text, stop = "[Request interrupted by user for tool use]", &s
	}
	t.emit(t.user(toolResult{Type: "text", Text: text}))
	r := t.newResultLine("error_during_execution")
	r.Turns, r.Terminal, r.Stop = t.responses+extra, reason, stop
	r.Errors = []string{"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null"}
	t.emitResult(r)
}

// successLine returns the result line of a successful turn.
func (t *turn) successLine(text string, answer json.RawMessage) resultLine {
	r := t.newResultLine("success")
	r.Status = json.RawMessage("null")
	r.Result = &text
	r.Structured = answer
	r.Terminal = "completed"
	stop := "end_turn"
	if answer != nil {
		stop = "tool_use"
		r.Turns++
	}
	r.Stop = &stop
	return r
}
