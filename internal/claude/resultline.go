package claude

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"

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
	input gjson.Result // tool_input
}

// onResult parses a result line. Sums are cumulative, so the last line counts.
func (f *transcript) onResult(o gjson.Result, line []byte, cut bool) {
	if !gjson.ValidBytes(line) {
		f.badResult = true
		return
	}
	if id := o.Get("uuid").Str; id != "" && !f.isNew("r", id) {
		return // printed twice
	}
	f.lines++
	f.badResult = false
	r := &resultLine{
		subtype:  strings.Clone(o.Get("subtype").Str),
		isError:  o.Get("is_error").Bool(),
		status:   int(o.Get("api_error_status").Int()),
		turns:    int(o.Get("num_turns").Int()),
		terminal: strings.Clone(o.Get("terminal_reason").Str),
		stop:     strings.Clone(o.Get("stop_reason").Str),
		cut:      cut,
	}
	text := o.Get("result").Str
	r.full, r.text = strings.Clone(text), textfmt.ExcerptOf(text, reportMax)
	if c := o.Get("total_cost_usd"); c.Type == gjson.Number && c.Num >= 0 {
		r.total, r.hasCost = c.Num, true
	}
	for _, e := range o.Get("errors").Array() {
		if len(r.errors) < 20 {
			r.errors = append(r.errors, textfmt.OneLine(e.String(), 300))
		}
	}
	_, r.usage, _ = modelUsage(o.Get("modelUsage"))
	r.turnCost, r.turnUsage, r.hasTurn = modelUsage(o.Get("model_usage_since_last_result"))
	o.Get("permission_denials").ForEach(func(_, d gjson.Result) bool {
		r.denials = append(r.denials, denial{
			id:    strings.Clone(d.Get("tool_use_id").Str),
			tool:  strings.Clone(d.Get("tool_name").Str),
			input: gjson.Parse(strings.Clone(d.Get("tool_input").Raw)),
		})
		return len(r.denials) < 100
	})
	if s := o.Get("structured_output"); s.Exists() && s.Type != gjson.Null {
		r.structured = []byte(s.Raw)
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
	f.session = cmp.Or(strings.Clone(o.Get("session_id").Str), f.session)
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
func modelUsage(o gjson.Result) (dollars float64, u runner.Usage, ok bool) {
	ok = o.IsObject()
	o.ForEach(func(_, m gjson.Result) bool {
		u = u.Plus(runner.Usage{Input: tokens(m.Get("inputTokens")), Output: tokens(m.Get("outputTokens")),
			CacheRead: tokens(m.Get("cacheReadInputTokens")), CacheWrite: tokens(m.Get("cacheCreationInputTokens"))})
		c := m.Get("costUSD")
		ok = ok && c.Type == gjson.Number && c.Num >= 0
		dollars += c.Num
		return true
	})
	return dollars, u, ok
}

// sharedType is the type of the first line that earlier versions of wavex wrote to a stream when
// one process of the CLI served several attempts. If the process began a new session with /clear, the next
// result line answers /clear and ends no turn. The sums of the process before are not subtracted: /clear
// resets them on 2.1.330 and did not on older versions, and an attempt must not be priced below its cost.
const sharedType = "wavex"
