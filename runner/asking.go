package runner

import (
	"github.com/tidwall/gjson"
)

// This file asks the CLI what its process has cost so far, where the stream does not tell:
// responses to subagents have no final usage in it, and some do not appear at all. The answers
// are in the stream, so they survive a wavex that is killed.

// The control requests that ask for the total of the session, before the first prompt to a
// resumed session and later on. claude 2.1.197 and 2.1.330 answer within milliseconds, also
// during a turn, and send nothing to the API.
const (
	beforeID   = "wavex-before"
	spentID    = "wavex-spent"
	beforeLine = `{"type":"control_request","request_id":"` + beforeID + `","request":{"subtype":"get_usage"}}` + "\n"
	spentLine  = `{"type":"control_request","request_id":"` + spentID + `","request":{"subtype":"get_usage"}}` + "\n"
)

// ask asks for the total, one question at a time.
func (f *facts) ask() {
	switch {
	case f.asks == nil:
	case f.asking:
		f.askAgain = true
	default:
		f.asking = true
		f.asks()
	}
}

// onAnswer takes the answer to a control request.
func (f *facts) onAnswer(r gjson.Result) {
	id := r.Get("request_id").Str
	if id != beforeID && id != spentID {
		return // of an interrupt; a result follows
	}
	total := r.Get("response.session.total_cost_usd")
	if total.Type != gjson.Number || total.Num < 0 {
		f.asks = nil // it does not know how
		return
	}
	if len(r.Get("response.behaviors").Raw) > len("null") {
		f.asks = nil // a subscription: the answer takes a look at all past sessions, for dollars that are not billed
	}
	if id == beforeID {
		if f.responses.cost == 0 && f.results == 0 {
			f.account.before = total.Num
		}
		return
	}
	f.account.asked(total.Num, &f.responses)
	if f.asking = false; f.askAgain {
		f.askAgain = false
		f.ask()
	}
}
