package runner

import (
	"github.com/tidwall/gjson"
)

// This file asks the CLI for the cost of its process so far. The stream has no final usage for
// responses to subagents, and some responses are not in it at all. The answers are part of the
// stream, so they survive a killed wavex.

// These control requests ask for the total of the session: before the first prompt of a resumed
// session, and later during the turn. claude 2.1.197 and 2.1.330 answer within milliseconds, also
// during a turn, and send nothing to the API.
const (
	beforeID   = "wavex-before"
	spentID    = "wavex-spent"
	beforeLine = `{"type":"control_request","request_id":"` + beforeID + `","request":{"subtype":"get_usage"}}` + "\n"
	spentLine  = `{"type":"control_request","request_id":"` + spentID + `","request":{"subtype":"get_usage"}}` + "\n"
)

// ask asks for the total. At most one question is open at a time.
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

// onAnswer handles the answer to a control request.
func (f *facts) onAnswer(r gjson.Result) {
	id := r.Get("request_id").Str
	if id != beforeID && id != spentID {
		return // answers an interrupt; a result line follows
	}
	total := r.Get("response.session.total_cost_usd")
	if total.Type != gjson.Number || total.Num < 0 {
		f.asks = nil // this CLI does not support get_usage
		return
	}
	if len(r.Get("response.behaviors").Raw) > len("null") {
		f.asks = nil // a subscription: the CLI would read all past sessions to answer, for dollars that are not billed
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
