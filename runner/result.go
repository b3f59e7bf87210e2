package runner

import (
	"strings"

	"github.com/tidwall/gjson"

	"wavex/budget"
	"wavex/internal/verify"
)

// This file reads result lines. It does not know whether to believe them; judge.go does.

// resultLine is the CLI's own account of how the turn ended.
type resultLine struct {
	subtype    string
	isError    bool
	status     int    // api_error_status; 0: none
	text       string // bounded
	full       string
	errors     []string
	turns      int
	session    string
	cost       budget.USD // cumulative over the process
	hasCost    bool
	usage      Usage // of modelUsage: cumulative, and right where usage is all zero
	denials    []denial
	structured []byte // nil: none
	terminal   string // terminal_reason
	claim      claim  // of the whole text
	cut        bool   // the line was too long to be kept whole
}

type denial struct {
	tool  string
	input gjson.Result // tool_input
}

// onResult takes a result line. The last one counts: its sums are cumulative.
func (f *facts) onResult(o gjson.Result, line []byte, cut bool) {
	if !gjson.ValidBytes(line) {
		f.badResult = true
		return
	}
	f.lines++
	f.badResult = false
	r := &resultLine{
		subtype:  strings.Clone(o.Get("subtype").Str),
		isError:  o.Get("is_error").Bool(),
		status:   int(o.Get("api_error_status").Int()),
		turns:    int(o.Get("num_turns").Int()),
		terminal: strings.Clone(o.Get("terminal_reason").Str),
		cut:      cut,
	}
	text := o.Get("result").Str
	r.full, r.text, r.claim = strings.Clone(text), verify.Shorten(text, reportMax), readClaim(text)
	if c := o.Get("total_cost_usd"); c.Type == gjson.Number && c.Num >= 0 {
		r.cost, r.hasCost = budget.FromFloat(c.Num), true
	}
	r.session = strings.Clone(o.Get("session_id").Str)
	for _, e := range o.Get("errors").Array() {
		if len(r.errors) < 20 {
			r.errors = append(r.errors, verify.OneLine(e.String(), 300))
		}
	}
	o.Get("modelUsage").ForEach(func(_, m gjson.Result) bool {
		r.usage.Input += tokens(m.Get("inputTokens"))
		r.usage.Output += tokens(m.Get("outputTokens"))
		r.usage.CacheRead += tokens(m.Get("cacheReadInputTokens"))
		r.usage.CacheWrite += tokens(m.Get("cacheCreationInputTokens"))
		return true
	})
	o.Get("permission_denials").ForEach(func(_, d gjson.Result) bool {
		r.denials = append(r.denials, denial{
			tool:  strings.Clone(d.Get("tool_name").Str),
			input: gjson.Parse(strings.Clone(d.Get("tool_input").Raw)),
		})
		return len(r.denials) < 100
	})
	if s := o.Get("structured_output"); s.Exists() && s.Type != gjson.Null {
		r.structured = []byte(s.Raw)
	}
	if f.clearing {
		f.cleared(r)
		return
	}
	if r.session != "" {
		f.session = r.session
	}
	f.results++
	f.result, f.active = r, false
	if f.turn != nil {
		f.turn(turn{kind: over, ok: !f.lasting, result: r})
	}
}
