package claude

import (
	"bytes"
	"cmp"

	"wavex/internal/jsonobject"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// This file parses result lines; classify.go decides on them.

// resultLine holds the CLI's own account of the end of a turn.
type resultLine struct {
	subtype    string
	isError    bool
	status     int    // api_error_status; 0: none
	text       string // bounded
	full       string
	errors     []string
	turns      int
	total      float64 // total_cost_usd, in dollars: cumulative (see account)
	hasCost    bool
	usage      runner.Usage // of modelUsage: cumulative, and also set when the line's usage is all zero
	turnCost   float64      // of model_usage_since_last_result, in dollars
	turnUsage  runner.Usage
	hasTurn    bool
	denials    []denial
	structured []byte // nil: none
	terminal   string // terminal_reason
	stop       string // stop_reason of the last message
	cut        bool   // the line was too long to be kept whole
}

type denial struct {
	id    string // tool_use_id
	tool  string
	input jsonobject.Value // tool_input
}

// onResult parses a result line. Sums are cumulative, so the last line counts.
func (f *transcript) onResult(o jsonobject.Value, line []byte, cut bool) {
	if !jsonobject.Value(line).IsValid() {
		f.badResult = true
		return
	}
	if id := o.Get("uuid").Text(); id != "" && !f.isNew("r", id) {
		return // printed twice
	}
	f.lines++
	f.badResult = false
	r := &resultLine{
		subtype:  o.Get("subtype").Text(),
		isError:  o.Get("is_error").Bool(),
		status:   int(o.Get("api_error_status").Int()),
		turns:    int(o.Get("num_turns").Int()),
		terminal: o.Get("terminal_reason").Text(),
		stop:     o.Get("stop_reason").Text(),
		cut:      cut,
	}
	text := o.Get("result").Text()
	r.full, r.text = text, textfmt.ExcerptOf(text, reportMax)
	if c := o.Get("total_cost_usd"); c.Kind() == '0' && c.Float() >= 0 {
		r.total, r.hasCost = c.Float(), true
	}
	for _, e := range o.Get("errors").Members() {
		if len(r.errors) < 20 {
			r.errors = append(r.errors, textfmt.OneLine(e.String(), 300))
		}
	}
	_, r.usage, _ = modelUsage(o.Get("modelUsage"))
	r.turnCost, r.turnUsage, r.hasTurn = modelUsage(o.Get("model_usage_since_last_result"))
	for _, d := range o.Get("permission_denials").Members() {
		r.denials = append(r.denials, denial{
			id:    d.Get("tool_use_id").Text(),
			tool:  d.Get("tool_name").Text(),
			input: bytes.Clone(d.Get("tool_input")),
		})
		if len(r.denials) == 100 {
			break
		}
	}
	if s := o.Get("structured_output"); s != nil && s.Kind() != 'n' {
		r.structured = bytes.Clone(s)
	} else if f.result != nil {
		r.structured = f.result.structured // of a turn before the agent was woken by its background work
	}
	if f.clearing {
		f.clearing = false
		if r.turns == 0 && !r.isError {
			f.lines-- // the line reports no request to the API
			return
		}
	}
	f.session = cmp.Or(o.Get("session_id").Text(), f.session)
	f.results++
	f.result = r
	f.account.onResult(r, &f.responses)
	f.onTurnEnd()
}

// onTurnEnd reports the end of a turn.
func (f *transcript) onTurnEnd() {
	e := turnOver
	if f.calls != nil && f.calls.background > 0 {
		e, f.calls.background = turnPaused, 0
	}
	if f.onTurn != nil {
		f.onTurn(e)
	}
}

// modelUsage sums the usage of all models in a result line. ok reports whether each has a cost.
func modelUsage(o jsonobject.Value) (dollars float64, u runner.Usage, ok bool) {
	ok = o.Kind() == '{'
	for _, m := range o.Members() {
		u = u.Plus(runner.Usage{Input: tokens(m.Get("inputTokens")), Output: tokens(m.Get("outputTokens")),
			CacheRead: tokens(m.Get("cacheReadInputTokens")), CacheWrite: tokens(m.Get("cacheCreationInputTokens"))})
		c := m.Get("costUSD")
		ok = ok && c.Kind() == '0' && c.Float() >= 0
		dollars += c.Float()
	}
	return dollars, u, ok
}

// sharedType is the type of the first line that earlier versions of wavex wrote to a stream when
// one process of the CLI served several attempts. If the process began a new session with /clear, the next
// result line answers /clear and ends no turn. The sums of the process before are not subtracted: /clear
// resets them on 2.1.330 and did not on older versions, and an attempt must not be priced below its cost.
const sharedType = "wavex"
