package rehearse

// This file asks the caller about tool calls, as the CLI does (observed on claude 2.1.258): with the
// callbacks that initialize registered, before and after each call.

import (
	"cmp"
	"context"
)

// callbackLine asks about a tool call.
type callbackLine struct {
	Type    string `json:"type"`
	ID      string `json:"request_id"`
	Request struct {
		Subtype  string        `json:"subtype"`
		Callback string        `json:"callback_id"`
		Input    callbackInput `json:"input"`
		ToolID   string        `json:"tool_use_id"`
	} `json:"request"`
}

type callbackInput struct {
	Session  string `json:"session_id"`
	Dir      string `json:"cwd"`
	Mode     string `json:"permission_mode"`
	Event    string `json:"hook_event_name"`
	Tool     string `json:"tool_name"`
	Input    any    `json:"tool_input"`
	Response any    `json:"tool_response,omitempty"`
	ToolID   string `json:"tool_use_id"`
}

// ask asks about a call and waits for the answer. It returns the reason of a denial, or "". Without a
// callback, and after the end of the input, nothing is asked.
func (t *turn) ask(ctx context.Context, event string, act action, response any) (reason string, err error) {
	for _, h := range t.hooks.Get(event).Members() {
		for _, id := range h.Get("hookCallbackIds").Members() {
			l := callbackLine{Type: "control_request", ID: t.newID()}
			l.Request.Subtype, l.Request.Callback, l.Request.ToolID = "hook_callback", id.Text(), act.id
			l.Request.Input = callbackInput{Session: t.session, Dir: t.dir, Event: event, Tool: act.tool, Input: act.input,
				Mode: cmp.Or(t.cmd.value("--permission-mode"), "default"), Response: response, ToolID: act.id}
			t.answer = nil
			for t.emit(l); t.in != nil && t.answer.Get("request_id").Text() != l.ID; {
				if err := t.await(ctx, nil, nil); err != nil {
					return "", err
				}
			}
			out := t.answer.Get("response.hookSpecificOutput")
			if out.Get("permissionDecision").Text() == "deny" {
				return out.Get("permissionDecisionReason").Text(), nil
			}
		}
	}
	return "", nil
}

// do runs a tool if no callback denies it.
func (t *turn) do(ctx context.Context, act action) (string, error) {
	reason, err := t.ask(ctx, "PreToolUse", act, nil)
	if err != nil {
		return "", err
	}
	if reason != "" {
		t.denials = append(t.denials, denialLine{Tool: act.tool, ID: act.id, Input: act.input})
		return "", toolError(reason)
	}
	text, err := act.do(ctx)
	if err == nil {
		_, err = t.ask(ctx, "PostToolUse", act, text)
	}
	return text, err
}
