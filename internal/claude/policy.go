package claude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"wavex/budget"
	"wavex/internal/policy"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// This file answers the CLI's questions about tool calls. It knows the protocol and no rule: a
// policy.Judge decides. All facts were observed on claude 2.1.197 and 2.1.330.

// initializeLine registers the callbacks, before the first prompt of a process: later, 2.1.197
// accepts it and asks nothing. The timeout is in seconds. With onFailure, which 2.1.197 does not
// know, a call without a usable answer is not carried out.
const (
	initializeID   = "wavex-policy"
	initializeLine = `{"type":"control_request","request_id":"` + initializeID +
		`","request":{"subtype":"initialize","hooks":{` +
		`"PreToolUse":[{"hookCallbackIds":["before"],"timeout":60,"onFailure":"block"}],` +
		`"PostToolUse":[{"hookCallbackIds":["after"],"timeout":60}],` +
		`"Stop":[{"hookCallbackIds":["stop"],"timeout":60}]}}}` + "\n"
)

// toolCalls holds the tool calls of one process: those that the CLI asked about, and those that ran.
// It belongs to the goroutine that reads the stream, except stopping.
type toolCalls struct {
	judge    policy.Judge // nil: every call passes
	answer   func([]byte) // sends a line to the CLI; nil: it drops it. It must not block.
	giveUp   func(error)  // ends the turn; nil: nothing
	observe  func(kind, text string)
	stopping atomic.Bool // every further call is denied

	limit    budget.USD                                  // the cap of the turn; 0: none
	forecast func() (spent, next budget.USD, known bool) // the cost so far, and of one more response
	passed   bool                                        // a call has passed
	told     map[string]string                           // near the cap: the messages of denied calls, by agent

	asked      map[string]*askedCall // by tool_use_id
	uses       map[string]toolUse    // calls without a result, by tool_use_id
	refusals   []runner.Refusal      // the first refusalsMax
	refused    int
	background int          // background tasks of the agent that ran when it last wanted to stop
	end        *policyError // the first reason to end the turn
}

// askedCall is a call that the CLI asked about.
type askedCall struct {
	call    policy.Call // without Input once the call has ended
	refused bool
	cut     bool // strings of the input were shortened
	began   time.Time
	took    time.Duration // 0: it has not ended
	ran     []byte        // the input that the tool had
}

// toolUse is a call in a message of the model.
type toolUse struct{ tool, message string }

// refusalsMax bounds the refusals in a result.
const refusalsMax = 100

// onUse handles a call in a message of the model.
func (p *toolCalls) onUse(id, tool, message string) {
	if p.uses == nil {
		p.uses = map[string]toolUse{}
	}
	p.uses[strings.Clone(id)] = toolUse{strings.Clone(tool), strings.Clone(message)}
}

// fail ends the turn. The first reason counts.
func (p *toolCalls) fail(outcome runner.Outcome, format string, args ...any) {
	if p.end != nil {
		return
	}
	p.end = &policyError{outcome, textfmt.OneLine(fmt.Sprintf(format, args...), runner.ReasonMax)}
	if p.giveUp != nil {
		p.giveUp(p.end)
	}
}

// onInitialized handles the answer to initializeLine. hooks_applied is false where the CLI's own
// settings keep callbacks away (2.1.330; 2.1.197 does not have the key).
func (p *toolCalls) onInitialized(r gjson.Result) {
	applied := r.Get("response.hooks_applied")
	if r.Get("subtype").Str == "error" || applied.Exists() && !applied.Bool() {
		p.fail(runner.Broken, "the CLI does not take the policy: %s", cmp.Or(r.Get("error").Str, "hooks_applied is false"))
	}
}

// onRequest answers a control request of the CLI. It ignores requests other than callbacks.
func (p *toolCalls) onRequest(o gjson.Result, cut bool) {
	r := o.Get("request")
	if r.Get("subtype").Str != "hook_callback" {
		return
	}
	in, answer := r.Get("input"), callbackAnswer{}
	switch r.Get("callback_id").Str {
	case "before":
		if why := p.before(in, cut); why != "" {
			answer.Output = &preToolUse{"PreToolUse", "deny", "wavex: " + why}
		}
	case "after":
		p.after(in)
	case "stop":
		p.background = len(in.Get(`background_tasks.#(status=="running")#`).Array())
	}
	if p.answer == nil {
		return
	}
	line := controlResponse{Type: "control_response"}
	line.Response.Subtype, line.Response.ID, line.Response.Response = "success", o.Get("request_id").Str, answer
	data, err := json.Marshal(line)
	if err != nil {
		panic(fmt.Sprintf("encoding an answer: %v", err)) // strings only
	}
	p.answer(append(data, '\n'))
}

type controlResponse struct {
	Type     string `json:"type"`
	Response struct {
		Subtype  string         `json:"subtype"`
		ID       string         `json:"request_id"`
		Response callbackAnswer `json:"response"`
	} `json:"response"`
}

// callbackAnswer is {} or a denial. Other answers let the call run on some version.
type callbackAnswer struct {
	Output *preToolUse `json:"hookSpecificOutput,omitempty"`
}

type preToolUse struct {
	Event    string `json:"hookEventName"`
	Decision string `json:"permissionDecision"`
	Reason   string `json:"permissionDecisionReason"`
}

// before decides on a call that has not run. It returns why the call is denied, or "".
func (p *toolCalls) before(in gjson.Result, cut bool) (why string) {
	id := strings.Clone(in.Get("tool_use_id").Str)
	call := policy.Call{ID: id, Agent: strings.Clone(in.Get("agent_id").Str),
		Tool: strings.Clone(in.Get("tool_name").Str), Dir: strings.Clone(in.Get("cwd").Str),
		Input: []byte(in.Get("tool_input").Raw)}
	a := &askedCall{call: call, cut: cut, began: time.Now()}
	if p.asked == nil {
		p.asked = map[string]*askedCall{}
	}
	p.asked[id] = a
	d := p.nearCap(call)
	switch {
	case p.stopping.Load() || p.end != nil:
		a.refused = true
		return "the attempt is being stopped"
	case d.Act != policy.Pass || p.judge == nil:
	case cut && call.Tool == "Bash":
		d = policy.Decision{Act: policy.Deny, Rule: "length", Target: "a long command",
			Reason: "the command is too long to be checked; write a script file and run that"}
	default:
		d = p.judge.Before(call)
	}
	if d.Act == policy.Pass {
		p.passed = true
		return ""
	}
	if d.Act == policy.Ask {
		d.Reason = cmp.Or(d.Reason, "a person must allow this, and none is there; do without it")
	}
	a.refused, a.call.Input = true, nil
	p.refused++
	r := runner.Refusal{Tool: call.Tool, Agent: call.Agent, Act: string(d.Act), Rule: d.Rule,
		Target: textfmt.OneLine(d.Target, 300), Reason: textfmt.OneLine(d.Reason, 600)}
	if len(p.refusals) < refusalsMax {
		p.refusals = append(p.refusals, r)
	}
	if p.observe != nil {
		p.observe("denied", r.String())
	}
	switch {
	case d.Act == policy.Stop && d.Rule == ruleCap:
		p.fail(runner.OverCap, "near its cap of %s it was told to report, and went on", p.limit)
	case d.Act == policy.Stop:
		p.fail(runner.Stalled, "stopped at %s %s: %s", r.Tool, r.Target, r.Reason)
	}
	return r.Reason
}

// ruleCap is the rule of calls that are denied near the cap.
const ruleCap = "cap"

// nearCap decides on a call by the money. When the cap pays for one more response and not for two, that one is kept
// for a report: each call is denied, and one in a later message stops the turn. The first call of a turn passes, so
// that every turn makes progress. The CLI ends a turn whose cost reaches its cap, without its last calls.
func (p *toolCalls) nearCap(c policy.Call) policy.Decision {
	pass := policy.Decision{Act: policy.Pass}
	if p.limit == 0 || c.Tool == outputTool {
		return pass
	}
	if p.told == nil {
		spent, next, known := p.forecast()
		if !known || !p.passed || spent+next >= p.limit || spent+2*next < p.limit {
			return pass
		}
		p.told = map[string]string{}
	}
	d := policy.Decision{Act: policy.Deny, Rule: ruleCap, Target: textfmt.OneLine(policy.Target(c), 300),
		Reason: "the money for this attempt is nearly used up, and it pays for one more message: make no further call, " +
			"say there in a few words what is done and what is missing; the work goes on from there"}
	message := p.uses[c.ID].message
	if first, told := p.told[c.Agent]; !told {
		p.told[c.Agent] = message
	} else if first != message {
		d.Act = policy.Stop
	}
	return d
}

// after compares the input of a call that ran with the one that was asked about: hooks of the user
// or the project can change it in between.
func (p *toolCalls) after(in gjson.Result) {
	a := p.asked[in.Get("tool_use_id").Str]
	if a == nil || a.took != 0 {
		return // onResult handles a call that was not asked about
	}
	ran := in.Get("tool_input").Raw
	a.took = max(time.Since(a.began), 1)
	switch {
	case a.refused:
		p.fail(runner.Wrong, "the policy was not in force: %s ran although it was denied", a.call.Tool)
	case !sameInput(a.call.Input, []byte(ran), a.call.Dir, a.cut):
		p.fail(runner.Wrong, "the policy was not in force: a hook changed the input of %s after the policy saw it; "+
			"the tool had %s", a.call.Tool, ran)
	}
	a.ran = []byte(ran)
}

// onResult handles a user line. Each call that ran was asked about before, also those of subagents;
// a result of any other call is an error, such as an unknown tool.
func (p *toolCalls) onResult(o gjson.Result) {
	o.Get("message.content").ForEach(func(_, b gjson.Result) bool {
		if b.Get("type").Str != "tool_result" {
			return true
		}
		id, failed := b.Get("tool_use_id").Str, b.Get("is_error").Bool()
		a := p.asked[id]
		switch {
		case a == nil && !failed:
			p.fail(runner.Wrong, "the policy was not in force: the CLI carried out %s without asking",
				cmp.Or(p.uses[id].tool, "a tool"))
		case a == nil:
		case a.refused && !failed:
			p.fail(runner.Wrong, "the policy was not in force: %s ran although it was denied", a.call.Tool)
		case !a.refused && a.call.Input != nil:
			p.conclude(a, b.Get("content"), failed)
		}
		delete(p.uses, id)
		return true
	})
}

// conclude gives the judge the result of a call.
func (p *toolCalls) conclude(a *askedCall, content gjson.Result, failed bool) {
	if p.judge != nil {
		r := policy.Result{Input: a.ran, Output: []byte(content.Raw), Failed: failed,
			Took: cmp.Or(a.took, time.Since(a.began))}
		if r.Input == nil {
			r.Input = a.call.Input
		}
		if content.Type == gjson.String {
			r.Output = []byte(content.Str)
		}
		p.judge.After(a.call, r)
	}
	a.call.Input, a.ran = nil, nil
}

// sameInput reports whether a tool had the input that was asked about. The CLI makes paths absolute,
// and may add a key with a zero value. Of a cut line, long strings are not compared.
func sameInput(asked, ran []byte, dir string, cut bool) bool {
	if bytes.Equal(asked, ran) {
		return true
	}
	var was, is map[string]any
	if json.Unmarshal(asked, &was) != nil || json.Unmarshal(ran, &is) != nil {
		return false
	}
	for k := range maps.Keys(is) {
		if _, had := was[k]; !had && !isZero(is[k]) {
			return false
		}
	}
	for k, v := range was {
		s, isText := v.(string)
		t, wasText := is[k].(string)
		switch {
		case isText && wasText && s != t && strings.HasSuffix(k, "path"):
			if inDir(dir, s) != inDir(dir, t) {
				return false
			}
		case isText && wasText && len(s) > tightMax && len(t) > tightMax && (cut || len(ran) > chunkSize-tightMax):
		case !reflect.DeepEqual(v, is[k]) && !(isZero(v) && is[k] == nil):
			return false
		}
	}
	return true
}

func inDir(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// isZero reports whether a JSON value is null, false, 0 or empty.
func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return reflect.ValueOf(v).IsZero()
}

// others returns the denials that are not refusals of the policy. Those of the policy are no rules that
// a person could add; 2.1.197 does not list them for subagents.
func (p *toolCalls) others(all []denial) []denial {
	return slices.DeleteFunc(slices.Clone(all), func(d denial) bool {
		a := p.asked[d.id]
		return a != nil && a.refused
	})
}
