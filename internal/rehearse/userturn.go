package rehearse

// This file runs one user turn without faults: responses with their share of time and cost, tools
// that really run, a report. fault.go has the faulty outcomes.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"wavex/budget"
)

// modelAliases maps values of --model as the CLI does (2.1.258).
var modelAliases = map[string]string{"default": "claude-opus-4-8", "opus": "claude-opus-4-8",
	"sonnet": "claude-sonnet-5",
	"haiku":  "claude-haiku-4-5-20251001"}

// turn is one user turn.
type turn struct {
	*agent
	b            *Block
	started      time.Time
	steps        [][]action // tools of each response; the last response is the report
	responses    int64      // responses made
	tokensBefore tokenLine  // tokens of this turn without the last response
	tokens       tokenLine  // tokens of this turn
	begun        string     // the response whose begin was printed, without its final usage
	denials      []denialLine
	notes        []string // completed actions, for the report
	failed       []string // failed actions
}

// runTurn runs one user turn from the prompt to its result.
func (a *agent) runTurn(ctx context.Context) error {
	b := a.block.ForAttempt(a.task.Attempt)
	given := cmp.Or(a.cmd.value("--model"), "default")
	a.model = cmp.Or(b.Model, modelAliases[given], given)
	t := &turn{agent: a, b: b, started: a.now()}
	t.planSteps()
	err := t.run(ctx)
	switch {
	case errors.Is(err, errTurnOver):
		return nil
	case errors.Is(err, errInterrupt):
		t.emitAborted("aborted_streaming", nil)
		return nil
	}
	return err
}

// planSteps spreads the tools over the responses.
func (t *turn) planSteps() {
	acts := t.actions()
	n := int64(valueOr(t.b.Turns, Count(len(acts)+1)))
	if (len(acts) > 0 || t.b.Outcome.isMidTurn()) && n < 2 {
		n = 2
	}
	t.steps = make([][]action, n)
	for i, act := range acts {
		k := i * int(n-1) / len(acts)
		t.steps[k] = append(t.steps[k], act)
	}
	for k := range t.steps[:n-1] {
		if len(t.steps[k]) == 0 {
			t.steps[k] = []action{{id: t.newToolID(), tool: "Bash", // a use that changes nothing
				input: map[string]string{"command": "pwd", "description": "rehearsed"},
				do:    func(context.Context) (string, error) { return t.dir, nil }}}
		}
	}
}

func (t *turn) run(ctx context.Context) error {
	mode := cmp.Or(t.cmd.value("--permission-mode"), "default")
	t.emit(initLine{Type: "system", Subtype: "init", Cwd: t.dir, Session: t.session, MCP: []string{},
		Tools: []string{"Bash", "Edit", "Read", "Write"}, Model: t.model, Permission: mode, KeySource: "none",
		Version: cliVersion, Rehearsal: true, UUID: t.newID()})
	t.preamble()
	for i := range t.steps {
		if t.b.Outcome.endsTurn() && i == t.outcomeAfter() {
			return t.applyOutcome(ctx)
		}
		if over, err := t.respond(ctx, i); over || err != nil {
			return err
		}
	}
	return nil
}

// respond makes one API response and runs its tools. over means that it was the last one of this
// turn.
func (t *turn) respond(ctx context.Context, i int) (over bool, err error) {
	n := time.Duration(len(t.steps))
	if err := t.pause(ctx, time.Duration(valueOr(t.b.Duration, Duration(200*time.Millisecond)))/n); err != nil {
		return false, err
	}
	used := t.charge()
	id := t.newMessageID()
	if i == len(t.steps)-1 {
		return t.emitReport(ctx, id, used)
	}
	if i == 0 {
		t.emitPart(id, used, contentPart{Type: "text", Text: "This is a rehearsal: no model is asked."})
	}
	for _, act := range t.steps[i] {
		t.emitPart(id, used, contentPart{Type: "tool_use", ID: act.id, Name: act.tool, Input: act.input})
	}
	t.finish(used)
	if t.cmd.cap > 0 && t.cost >= t.cmd.cap {
		t.emitOverCap()
		return true, nil
	}
	for _, act := range t.steps[i] {
		if err := t.runAction(ctx, act); err != nil {
			return false, err
		}
	}
	if t.cmd.turns > 0 && t.responses >= t.cmd.turns {
		t.emitOverTurns(t.cmd.turns)
		return true, nil
	}
	return false, nil
}

// runAction runs a tool and prints its result.
func (t *turn) runAction(ctx context.Context, act action) error {
	if t.b.Outcome == Denial && act.command != "" {
		t.denials = append(t.denials, denialLine{Tool: act.tool, ID: act.id, Input: act.input})
		t.emitToolResult(act, "Claude requested permissions to use "+act.tool+", but you haven't granted it yet.", true)
		t.failed = append(t.failed, act.note+" was not permitted")
		return nil
	}
	text, err := t.do(ctx, act)
	var tool toolError
	switch {
	case errors.As(err, &tool):
		t.failed = append(t.failed, act.note+": "+tool.Error())
		t.emitToolResult(act, tool.Error(), true)
	case errors.Is(err, errInterrupt), errors.Is(err, errInt):
		t.emitAborted("aborted_tools", &act)
		if errors.Is(err, errInt) {
			return exitError(0)
		}
		return errTurnOver
	case err != nil:
		return err
	default:
		if act.note != "" {
			t.notes = append(t.notes, act.note)
		}
		t.emitToolResult(act, text, false)
	}
	return nil
}

// errTurnOver means that the result of the turn is already printed.
var errTurnOver = errors.New("turn over")

// emitReport makes the last response: the structured answer if a schema asks for one, else the text.
func (t *turn) emitReport(ctx context.Context, id string, used tokenLine) (over bool, err error) {
	var answer json.RawMessage
	if s := t.cmd.value("--json-schema"); s != "" {
		var wrong error
		if answer, wrong = t.structured(s); wrong != nil {
			// As observed: the tool refuses, the CLI insists once, and then accepts the text.
			for range 2 {
				act := action{id: t.newToolID(), tool: "StructuredOutput", input: answer}
				t.emitPart(id, used, contentPart{Type: "tool_use", ID: act.id, Name: act.tool, Input: act.input})
				t.finish(used)
				t.emitToolResult(act, "Output does not match required schema: "+wrong.Error(), true)
				id, used = t.newMessageID(), tokenLine{} // the first one has the tokens of the turn
			}
			answer = nil
			if t.b.Structured == nil {
				t.failed = append(t.failed, "the rehearsal agent cannot make up a value for the schema; "+
					"give one as structured in the rehearse block")
			}
		} else {
			act := action{id: t.newToolID(), tool: "StructuredOutput", input: answer}
			t.emitPart(id, used, contentPart{Type: "tool_use", ID: act.id, Name: act.tool, Input: act.input})
			t.finish(used)
			if _, err := t.ask(ctx, "PreToolUse", act, nil); err != nil {
				return false, err
			}
			t.emitToolResult(act, "Structured output provided successfully", false)
		}
	}
	text := t.reportText()
	if answer == nil {
		t.emitPart(id, used, contentPart{Type: "text", Text: text})
		t.finish(used)
	} else {
		text = string(answer)
	}
	if t.cmd.cap > 0 && t.cost >= t.cmd.cap {
		t.emitOverCap()
		return true, nil
	}
	return t.emitEnd(ctx, t.successLine(text, answer))
}

// reportText returns the agent's last message with the status block that the prompt asks for at its end.
func (t *turn) reportText() string {
	var b strings.Builder
	good := t.b.Outcome != Fail && len(t.failed) == 0
	switch {
	case t.b.Report != nil:
		b.WriteString(*t.b.Report)
	default:
		b.WriteString("This was a rehearsal: no model was asked.\n")
		if t.task.Task != "" {
			fmt.Fprintf(&b, "%s, attempt %d.\n", t.task.Task, max(t.task.Attempt, 1))
		}
		if len(t.notes) > 0 {
			b.WriteString("Done: " + strings.Join(t.notes, ", ") + ".\n")
		}
		if t.b.Outcome == Fail {
			b.WriteString("I could not do the task.\n")
		}
	}
	for _, f := range t.failed {
		b.WriteString("\nNot done: " + f)
	}
	if !strings.Contains(b.String(), "---LOOP_STATUS---") {
		next := "none"
		if !good {
			next = "the task is not done"
		}
		fmt.Fprintf(&b, "\n---LOOP_STATUS---\nEXIT_SIGNAL: %v\nCRITERIA: {}\nSTUCK_COUNT: 0\nNEXT: %s\n---END_STATUS---",
			good, next)
	}
	return b.String()
}

// structured returns the answer to --json-schema: the block's, or the smallest valid one.
func (t *turn) structured(schema string) (json.RawMessage, error) {
	answer := makeInstance([]byte(schema))
	if t.b.Structured != nil {
		answer = json.RawMessage(t.b.Structured)
	}
	return answer, validate(schema, answer)
}

// charge adds the next response's share of cost and tokens.
func (t *turn) charge() tokenLine {
	n, k := int64(len(t.steps)), t.responses
	share := func(total int64) int64 { return total*(k+1)/n - total*k/n }
	cost := int64(valueOr(t.b.Cost, Dollars(budget.Dollar/1000)))
	all := t.usage(cost)
	used := tokenLine{share(all.Input), share(all.CacheWrite), share(all.CacheRead), share(all.Output)}
	t.responses++
	t.tokensBefore, t.tokens = t.tokens, t.tokens.plus(used)
	t.cost += budget.USD(share(cost))
	return used
}

// chargeRest adds the remaining cost of the turn, for an outcome that ends it with its whole cost.
func (t *turn) chargeRest() {
	for t.responses < int64(len(t.steps)) {
		t.charge()
	}
}

// usage returns the block's tokens, or tokens computed from the cost: four fifths of it for input,
// at the prices that the CLI was observed to use.
func (t *turn) usage(cost int64) tokenLine {
	if u := t.b.Usage; u != nil {
		return tokenLine{int64(u.Input), int64(u.CacheWrite), int64(u.CacheRead), int64(u.Output)}
	}
	in, out := int64(5), int64(25) // micro-dollars per token
	switch {
	case strings.Contains(t.model, "sonnet"):
		in, out = 3, 15
	case strings.Contains(t.model, "haiku"):
		in, out = 1, 5
	}
	read := cost * 4 / 5 / in
	return tokenLine{Input: read, Output: (cost - read*in) / out}
}
