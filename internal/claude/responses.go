package claude

import (
	"bytes"
	"strings"

	"wavex/budget"
	"wavex/internal/jsonobject"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// This file prices the API's responses one by one, from the token counts in the stream. It does not
// use the CLI's own cost figures.

// responses counts the responses of one process, each once. A response in progress has the usage
// that it began with. Its final usage comes with its message_delta, which the CLI prints for the
// agent itself and not for its subagents (observed on claude 2.1.330). The cost is
// therefore a lower bound.
type responses struct {
	prices   Pricer
	usage    runner.Usage
	cost     budget.Pico // of usage
	finished budget.Pico // the part of cost of subagents' responses and of responses with their final usage
	guess    budget.Pico // the part of cost of models that the price table does not list
	own      int         // responses of the agent itself
	last     budget.Pico // cost of the last one that is finished
	told     bool        // one of them has a final count of output tokens
	open     map[string]*response

	held     int         // responses of the agent itself after which a Stop hook kept it from ending its turn
	lastHeld int         // own at the last of them
	unheld   budget.Pico // cost at the first of them
	feedback string      // of the hook, at the first of them
}

// response is one that the stream reports event by event. Its key in responses.open is "" for the
// agent itself, or the parent_tool_use_id of a subagent.
type response struct {
	model  string
	tokens budget.Tokens
	cost   budget.Pico
	final  bool // its final usage is known
}

// addWhole counts a response that is reported in one line. inner marks a response of a subagent.
func (c *responses) addWhole(model string, usage jsonobject.Value, inner bool) {
	r := &response{model: model, final: true}
	c.add(r, usage)
	c.finished += r.cost
	if !inner {
		c.own++
		c.last = r.cost
	}
}

// start counts the first usage of a response.
func (c *responses) start(who, model string, usage jsonobject.Value) {
	if c.open == nil {
		c.open = map[string]*response{}
	}
	if who == "" {
		c.own++
	}
	r := &response{model: model}
	c.open[who] = r
	c.add(r, usage)
}

// finish counts the final usage of a response. The CLI may print several; the last counts.
func (c *responses) finish(who string, usage jsonobject.Value) {
	r := c.open[who]
	if r == nil {
		return // its begin was not seen
	}
	if r.final {
		c.finished -= r.cost
	}
	c.add(r, usage)
	c.finished += r.cost
	r.final = true
	if who == "" {
		c.last = r.cost
	}
	c.told = c.told || who == "" && tokens(usage.Get("output_tokens")) > 0
}

// hold handles a user line, which may have the feedback of a Stop hook. Several hooks may hold one response. Those of
// subagents are not counted, because responses of others are under way.
func (c *responses) hold(o jsonobject.Value) {
	const head = "Stop hook feedback:"
	if !bytes.Contains(o, []byte(head)) {
		return // most lines are long and have none
	}
	text, ok := strings.CutPrefix(o.Get("message.content.0.text").Text(), head+"\n")
	if !ok || !o.Get("isSynthetic").Bool() || o.Get("parent_tool_use_id").Text() != "" || c.lastHeld == c.own {
		return
	}
	if c.held++; c.held == 1 {
		c.unheld, c.feedback = c.cost, textfmt.ExcerptOf(text, reportMax)
	}
	c.lastHeld = c.own
}

// add updates the usage of a response. Like the CLI, it keeps the previous count if the new one is
// missing or 0, and replaces it otherwise.
func (c *responses) add(r *response, usage jsonobject.Value) {
	was := *r
	u := &r.tokens
	set := func(to *int64, v jsonobject.Value) {
		if n := tokens(v); n > 0 {
			*to = n
		}
	}
	for k, v := range usage.Members() {
		switch k {
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
			u.Fast = v.Text() == "fast"
		case "inference_geo":
			u.Geo = v.Text()
		}
	}
	c.usage = c.usage.Plus(runner.Usage{Input: u.Input - was.tokens.Input, Output: u.Output - was.tokens.Output,
		CacheRead: u.CacheRead - was.tokens.CacheRead, CacheWrite: u.CacheWrite - was.tokens.CacheWrite})
	var listed bool
	r.cost, listed = c.prices.Price(r.model, *u)
	if c.cost += r.cost - was.cost; !listed {
		c.guess += r.cost - was.cost
	}
}

// tokens returns a count, or 0 for an implausible value, so that no sum overflows.
func tokens(v jsonobject.Value) int64 {
	if n := v.Int(); v.Kind() == '0' && n > 0 && n < 1<<40 {
		return n
	}
	return 0
}
