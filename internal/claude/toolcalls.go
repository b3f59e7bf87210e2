package claude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"wavex/budget"
	"wavex/internal/jsonobject"
	"wavex/internal/policy"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// This file answers the CLI's questions about tool calls. It knows the protocol and no rule: a
// policy.Judge decides. All facts were observed on claude 2.1.330.

// initializeID marks the request that registers the callbacks.
const initializeID = "wavex-policy"

// initializeLine registers the callbacks, before the first prompt of a process. The timeouts are in seconds: a call
// waits longer than a person may take for an answer. With onFailure, which 2.1.258 does not know, a call without a
// usable answer is not carried out. From 2.1.332 on the CLI also asks about the commands in the text of a skill.
func initializeLine(askTimeout time.Duration) []byte {
	return fmt.Appendf(nil, `{"type":"control_request","request_id":"`+initializeID+
		`","request":{"subtype":"initialize","hooks":{`+
		`"PreToolUse":[{"hookCallbackIds":["before"],"timeout":%[1]d,"onFailure":"block"}],`+
		`"PreSkillShellCommand":[{"hookCallbackIds":["before"],"timeout":%[1]d,"onFailure":"block"}],`+
		`"PostToolUse":[{"hookCallbackIds":["after"],"timeout":60}],`+
		`"Stop":[{"hookCallbackIds":["stop"],"timeout":60}]}}}`+"\n", max(60, int(askTimeout.Seconds())+10))
}

// toolCalls holds the tool calls of one process: those that the CLI asked about, and those that ran.
// The methods whose names begin with on belong to the goroutine that reads the stream.
type toolCalls struct {
	judge   policy.Judge // nil: every call passes
	answer  func([]byte) // sends a line to the CLI; nil: it drops it. It must not block.
	giveUp  func(error)  // ends the turn; nil: nothing
	observe func(kind, text string)

	// person decides on a call: it passes the decision to answer, from another goroutine. nil: no person is there.
	person     func(q policy.Question, answer func(allowed bool, why string)) (cancel func())
	askTimeout time.Duration // of person; 0: there are no such calls

	mu       sync.Mutex               // of the fields below; an answer of a person may come at any time
	stopping bool                     // every further call is denied
	open     map[string]*openQuestion // calls that wait for a person, by the id of the request

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
	event   string      // of the question: "PreToolUse", or "PreSkillShellCommand" for a command of a skill
	refused bool
	refusal runner.Refusal // if it is refused
	cut     bool           // strings of the input were shortened
	began   time.Time
	took    time.Duration // 0: it has not ended
	ran     []byte        // the input that the tool had
}

// openQuestion is a call that waits for a person.
type openQuestion struct {
	call     *askedCall
	decision policy.Decision
	cancel   func()
}

// toolUse is a call in a message of the model.
type toolUse struct {
	tool, message string
	input         []byte
}

// refusalsMax bounds the refusals in a result.
const refusalsMax = 100

// onUse handles a call in a message of the model.
func (p *toolCalls) onUse(id, tool, message string, input []byte) {
	if p.uses == nil {
		p.uses = map[string]toolUse{}
	}
	p.uses[id] = toolUse{tool, message, bytes.Clone(input)}
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
// settings keep callbacks away (observed on claude 2.1.330).
func (p *toolCalls) onInitialized(r jsonobject.Value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	applied := r.Get("response.hooks_applied")
	if r.Get("subtype").Text() == "error" || applied != nil && !applied.Bool() {
		p.fail(runner.Broken, "the CLI does not take the policy: %s", cmp.Or(r.Get("error").Text(), "hooks_applied is false"))
	}
}

// onInit ends the turn of a CLI in bare mode, before its first response.
func (p *toolCalls) onInit(o jsonobject.Value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if IsBare(o) {
		p.fail(runner.Broken, BareAdvice+", or install a version that does not begin so")
	}
}

// BareAdvice says why no CLI in bare mode is used, and how to leave it.
const BareAdvice = "the CLI is in bare mode, which keeps the policy on tool calls from working: leave out --bare and " +
	"CLAUDE_CODE_SIMPLE"

// IsBare reports whether an init line is that of a CLI in bare mode. Such a CLI accepts the callbacks for tool calls,
// and asks none. It has few tools, no socket and no memory (observed on claude 2.1.258 and 2.1.332).
func IsBare(init []byte) bool {
	o := jsonobject.Value(init)
	tools := string(o.Get("tools"))
	return strings.HasPrefix(tools, `["Bash","Edit","Read"`) && !strings.Contains(tools, "Write") &&
		o.Get("memory_paths") == nil && o.Get("messaging_socket_path") == nil
}

// onRequest answers a control request of the CLI. It ignores requests other than callbacks.
func (p *toolCalls) onRequest(o jsonobject.Value, cut bool) {
	r := o.Get("request")
	if r.Get("subtype").Text() != "hook_callback" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id, in, out := o.Get("request_id").Text(), r.Get("input"), (*preToolUse)(nil)
	switch r.Get("callback_id").Text() {
	case "before":
		a, d := p.before(in, cut)
		if d.Act == policy.Ask && p.person != nil {
			p.ask(id, a, d)
			return
		}
		was := p.refused
		if out = p.conclude(a, d); p.refused > was && p.observe != nil {
			p.observe("denied", a.refusal.String())
		}
	case "after":
		p.after(in)
	case "stop":
		p.background = 0
		for _, task := range in.Get("background_tasks").Members() {
			if task.Get("status").Text() == "running" {
				p.background++
			}
		}
	}
	p.reply(id, out)
}

// reply sends an answer: nil has no opinion, so that the CLI's own rules decide.
func (p *toolCalls) reply(id string, out *preToolUse) {
	if p.answer == nil {
		return
	}
	answer := []byte("{}") // other answers let the call run on some version
	if out != nil {
		answer, _ = json.Marshal(map[string]*preToolUse{"hookSpecificOutput": out}) // encoding strings cannot fail
	}
	request, _ := json.Marshal(id)
	p.answer(fmt.Appendf(nil, `{"type":"control_response","response":{"subtype":"success","request_id":%s,"response":%s}}`+
		"\n", request, answer))
}

// ask puts a call to a person. The request stays open until then.
func (p *toolCalls) ask(id string, a *askedCall, d policy.Decision) {
	if p.open == nil {
		p.open = map[string]*openQuestion{}
	}
	q := &openQuestion{call: a, decision: d}
	p.open[id] = q
	q.cancel = p.person(policy.Question{Tool: a.call.Tool, Target: d.Target, Pattern: d.Rule, Others: d.Others},
		func(allowed bool, why string) { p.answered(id, allowed, why) })
}

// answered sends a person's decision. It may be called from any goroutine.
func (p *toolCalls) answered(id string, allowed bool, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.open[id]
	if q == nil {
		return // the CLI or wavex has given up
	}
	delete(p.open, id)
	q.call.began = time.Now()
	if allowed {
		p.passed = true
		p.reply(id, &preToolUse{q.call.event, "allow", "a person allowed it"})
		return
	}
	q.decision.Reason = why
	p.reply(id, p.conclude(q.call, q.decision))
}

// onCancelled drops a question of which the CLI awaits no answer any more. The call does not run.
func (p *toolCalls) onCancelled(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.open[id]; q != nil {
		delete(p.open, id)
		q.cancel()
	}
}

// isAsking reports whether a call waits for a person.
func (p *toolCalls) isAsking() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open) > 0
}

// stop denies all further calls, and those that wait for a person.
func (p *toolCalls) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopping = true
	for id, q := range p.open {
		delete(p.open, id)
		q.cancel()
		q.decision.Reason = whyStopped
		p.reply(id, p.conclude(q.call, q.decision))
	}
}

// preToolUse is a denial, or what a person allowed.
type preToolUse struct {
	Event    string `json:"hookEventName"`
	Decision string `json:"permissionDecision"`
	Reason   string `json:"permissionDecisionReason"`
}

// whyStopped is the reason of calls that are denied because the turn ends.
const whyStopped = "the attempt is being stopped"

// before decides on a call that has not run.
func (p *toolCalls) before(in jsonobject.Value, cut bool) (*askedCall, policy.Decision) {
	id := in.Get("tool_use_id").Text()
	call := policy.Call{ID: id, Agent: in.Get("agent_id").Text(),
		Tool: in.Get("tool_name").Text(), Dir: in.Get("cwd").Text(),
		Input: append([]byte{}, in.Get("tool_input")...)} // not nil: the call has not ended
	a := &askedCall{call: call, cut: cut, began: time.Now(),
		event: cmp.Or(in.Get("hook_event_name").Text(), "PreToolUse")}
	if p.asked == nil {
		p.asked = map[string]*askedCall{}
	}
	p.asked[id] = a
	d := p.nearCap(call)
	switch {
	case p.stopping || p.end != nil:
		return a, policy.Decision{Act: policy.Deny, Reason: whyStopped}
	case d.Act != policy.Pass || p.judge == nil:
	case cut && policy.RunsCommand(call.Tool):
		d = policy.Decision{Act: policy.Deny, Rule: "length", Target: "a long command",
			Reason: "the command is too long to be checked; write a script file and run that"}
	default:
		d = p.judge.Before(call)
	}
	return a, d
}

// conclude records a decision and returns the answer.
func (p *toolCalls) conclude(a *askedCall, d policy.Decision) *preToolUse {
	if d.Act == policy.Pass {
		p.passed = true
		return nil
	}
	d.Reason = cmp.Or(d.Reason, "a person must allow this, and none is there; do without it")
	answer := &preToolUse{a.event, "deny", "wavex: " + d.Reason}
	if a.refused = true; d.Reason == whyStopped {
		return answer
	}
	a.call.Input = nil
	p.refused++
	r := runner.Refusal{Tool: a.call.Tool, Agent: a.call.Agent, Act: string(d.Act), Rule: d.Rule,
		Target: textfmt.OneLine(d.Target, 300), Reason: textfmt.OneLine(d.Reason, 600)}
	answer.Reason = "wavex: " + r.Reason
	if len(p.refusals) < refusalsMax {
		p.refusals = append(p.refusals, r)
	}
	a.refusal = r
	switch {
	case d.Act == policy.Stop && d.Rule == ruleCap:
		p.fail(runner.OverCap, "near its cap of %s it was told to report, and went on", p.limit)
	case d.Act == policy.Stop:
		p.fail(runner.Stalled, "stopped at %s %s: %s", r.Tool, r.Target, r.Reason)
	}
	return answer
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
	use, _, _ := strings.Cut(c.ID, ":preamble-") // a command of a skill is part of the call of Skill
	message := p.uses[use].message
	if first, told := p.told[c.Agent]; !told {
		p.told[c.Agent] = message
	} else if first != message {
		d.Act = policy.Stop
	}
	return d
}

// after compares the input of a call that ran with the one that was asked about: hooks of the user
// or the project can change it in between.
func (p *toolCalls) after(in jsonobject.Value) {
	a := p.asked[in.Get("tool_use_id").Text()]
	if a == nil || a.took != 0 {
		return // onResult handles a call that was not asked about
	}
	ran := in.Get("tool_input")
	a.took = max(time.Since(a.began), 1)
	switch {
	case a.refused:
		p.fail(runner.Wrong, "the policy was not in force: %s ran although it was denied", a.call.Tool)
	case !sameInput(a.call.Input, ran, a.call.Dir, a.cut):
		p.fail(runner.Wrong, "the policy was not in force: a hook changed the input of %s after the policy saw it; "+
			"the tool had %s", a.call.Tool, ran)
	}
	a.ran = bytes.Clone(ran)
}

// onResult handles a user line. Each call that ran was asked about before, also those of subagents;
// a result of any other call is an error, such as an unknown tool or input that the tool refuses.
func (p *toolCalls) onResult(o jsonobject.Value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range o.Get("message.content").Members() {
		if b.Get("type").Text() != "tool_result" {
			continue
		}
		id, failed := b.Get("tool_use_id").Text(), b.Get("is_error").Bool()
		a := p.asked[id]
		switch {
		case a == nil && !failed:
			p.fail(runner.Wrong, "the policy was not in force: the CLI carried out %s without asking",
				cmp.Or(p.uses[id].tool, "a tool"))
		case a == nil:
			p.failedUnasked(p.uses[id], o.Get("parent_tool_use_id").Text(), b.Get("content"))
		case a.refused && !failed:
			p.fail(runner.Wrong, "the policy was not in force: %s ran although it was denied", a.call.Tool)
		case !a.refused && a.call.Input != nil:
			p.ended(a, b.Get("content"), failed)
		}
		delete(p.uses, id)
	}
}

// failedUnasked gives the judge a call that failed before the CLI could ask about it: nothing ran, and it may be one of
// a loop. agent names the subagent by the call that started it.
func (p *toolCalls) failedUnasked(u toolUse, agent string, content jsonobject.Value) {
	if p.judge == nil || u.tool == "" {
		return
	}
	call := policy.Call{Agent: agent, Tool: u.tool, Input: u.input}
	switch d := p.judge.Before(call); d.Act {
	case policy.Stop:
		p.fail(runner.Stalled, "stopped at %s %s: %s", call.Tool, textfmt.OneLine(d.Target, 300), d.Reason)
	case policy.Pass, policy.Ask:
		p.judge.After(call, policy.Result{Input: u.input, Output: outputOf(content), Failed: true})
	case policy.Deny: // the judge counts it
	}
}

// outputOf returns the content of a result.
func outputOf(content jsonobject.Value) []byte {
	if content.Kind() == '"' {
		return []byte(content.Text())
	}
	return bytes.Clone(content)
}

// ended gives the judge the result of a call.
func (p *toolCalls) ended(a *askedCall, content jsonobject.Value, failed bool) {
	if p.judge != nil {
		r := policy.Result{Input: a.ran, Output: outputOf(content), Failed: failed,
			Took: cmp.Or(a.took, time.Since(a.began))}
		if r.Input == nil {
			r.Input = a.call.Input
		}
		p.judge.After(a.call, r)
	}
	a.call.Input, a.ran = nil, nil
}

// sameInput reports whether a tool had the input that was asked about. The CLI makes paths absolute,
// and may add a key with a zero value. Of a cut line, only the beginnings of strings are compared.
func sameInput(asked, ran []byte, dir string, cut bool) bool {
	if bytes.Equal(asked, ran) {
		return true
	}
	cut = cut || len(ran) > chunkSize-tightMax
	was, is := comparedInput(asked, dir, cut), comparedInput(ran, dir, cut)
	if asked, ok := was["command"].(string); ok && is != nil {
		ran, _ := is["command"].(string)
		was["command"], is["command"] = braced(asked), braced(guard().ReplaceAllString(ran, "$${$1}"))
	}
	return was != nil && reflect.DeepEqual(was, is)
}

// The CLI may write ${NAME:?} for $NAME in an rm after it asked, so that the command fails where the variable is empty
// (2.1.332, behind a server flag).
var (
	guard    = textfmt.Pattern(`\$\{(\w+):\?\}`)
	variable = textfmt.Pattern(`\$(\w+)`)
)

// braced writes ${NAME} for each $NAME of a command.
func braced(command string) string { return variable().ReplaceAllString(command, "$${$1}") }

// comparedInput returns the parts of an input that have to be equal, or nil if it is not an object.
func comparedInput(input []byte, dir string, cut bool) (in map[string]any) {
	if json.Unmarshal(input, &in) != nil {
		return nil
	}
	for k, v := range in {
		text, _ := v.(string)
		switch {
		case isZero(v):
			delete(in, k)
		case text != "" && strings.HasSuffix(k, "path") && !filepath.IsAbs(text):
			in[k] = filepath.Join(dir, text)
		case text != "" && strings.HasSuffix(k, "path"):
			in[k] = filepath.Clean(text)
		case cut && len(text) > tightMax:
			in[k] = text[:tightMax]
		}
	}
	return in
}

// isZero reports whether a JSON value is null, false, 0 or empty.
func isZero(v any) bool {
	r := reflect.ValueOf(v)
	return v == nil || r.IsZero() || (r.Kind() == reflect.Slice || r.Kind() == reflect.Map) && r.Len() == 0
}

// others returns the denials that are not refusals of the policy. A person could not add a rule against
// refusals of the policy.
func (p *toolCalls) others(all []denial) []denial {
	return slices.DeleteFunc(slices.Clone(all), func(d denial) bool {
		a := p.asked[d.id]
		return a != nil && a.refused
	})
}
