package runner

import (
	"github.com/tidwall/gjson"

	"wavex/budget"
)

// This file prices the API's responses one by one, by what the stream says of their tokens.
// It does not know what the CLI makes of them.

// responses counts the responses of one process, each once. The usage of a response under way
// is what it began with; its final usage comes with its message_delta, which the CLI prints for
// the agent itself and not for its subagents (observed on claude 2.1.197 and 2.1.330). So it is
// a lower bound.
type responses struct {
	prices   Pricer // nil: nothing can be priced
	usage    Usage
	cost     budget.Pico // of usage
	finished budget.Pico // the part of cost of responses that have their final usage, and of subagents
	unpriced int         // responses of models without a price
	under    map[string]*response
}

// response is one that the stream tells of event by event. Who asked for it is its key: "" is
// the agent itself, else a parent_tool_use_id.
type response struct {
	model string
	use   budget.Tokens
	cost  budget.Pico
	final bool // its final usage is known
	seen  bool // it is counted
}

// whole counts a response that is told by a line of its own.
func (c *responses) whole(model string, usage gjson.Result) {
	r := &response{model: model, final: true}
	c.add(r, usage)
	c.finished += r.cost
}

// begin counts what a response begins with.
func (c *responses) begin(who, model string, usage gjson.Result) {
	if c.under == nil {
		c.under = map[string]*response{}
	}
	r := &response{model: model}
	c.under[who] = r
	c.add(r, usage)
}

// final counts what a response came to. The CLI may tell so more than once; the last counts.
func (c *responses) final(who string, usage gjson.Result) {
	r := c.under[who]
	if r == nil {
		return // its begin was not seen
	}
	if r.final {
		c.finished -= r.cost
	}
	c.add(r, usage)
	c.finished += r.cost
	r.final = true
}

// add brings a response up to a usage. As the CLI does it, a count that is missing or 0 leaves
// what was known before, and any other replaces it.
func (c *responses) add(r *response, usage gjson.Result) {
	was := *r
	u := &r.use
	set := func(to *int64, v gjson.Result) {
		if n := tokens(v); n > 0 {
			*to = n
		}
	}
	usage.ForEach(func(k, v gjson.Result) bool {
		switch k.Str {
		case "input_tokens":
			set(&u.Input, v)
		case "output_tokens":
			set(&u.Output, v)
		case "cache_read_input_tokens":
			set(&u.CacheRead, v)
		case "cache_creation_input_tokens":
			set(&u.CacheWrite, v)
		case "cache_creation":
			set(&u.CacheHour, v.Get("ephemeral_1h_input_tokens"))
		case "server_tool_use":
			set(&u.Searches, v.Get("web_search_requests"))
		case "speed":
			u.Fast = v.Str == "fast"
		}
		return true
	})
	c.usage = c.usage.Plus(Usage{Input: u.Input - was.use.Input, Output: u.Output - was.use.Output,
		CacheRead: u.CacheRead - was.use.CacheRead, CacheWrite: u.CacheWrite - was.use.CacheWrite})
	known := false
	if c.prices != nil {
		r.cost, known = c.prices.Price(r.model, *u)
		c.cost += r.cost - was.cost
	}
	if !known && !r.seen {
		c.unpriced++
	}
	r.seen = true
}

// tokens reads a count; nonsense counts as nothing, so that no sum overflows.
func tokens(v gjson.Result) int64 {
	if n := v.Int(); v.Type == gjson.Number && n > 0 && n < 1<<40 {
		return n
	}
	return 0
}
