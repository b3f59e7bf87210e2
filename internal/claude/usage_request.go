package claude

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
	baselineUsageID   = "wavex-before"
	usageID           = "wavex-spent"
	baselineUsageLine = `{"type":"control_request","request_id":"` + baselineUsageID +
		`","request":{"subtype":"get_usage"}}` + "\n"
	usageLine = `{"type":"control_request","request_id":"` + usageID + `","request":{"subtype":"get_usage"}}` +
		"\n"
)

// askUsage asks for the total. At most one question is open at a time.
func (f *transcript) askUsage() {
	switch {
	case f.requestUsage == nil:
	case f.usagePending:
		f.usageStale = true
	default:
		f.usagePending = true
		f.requestUsage()
	}
}

// onUsage handles the answer to a control request.
func (f *transcript) onUsage(r gjson.Result) {
	id := r.Get("request_id").Str
	if id != baselineUsageID && id != usageID {
		return // answers an interrupt; a result line follows
	}
	total := r.Get("response.session.total_cost_usd")
	if total.Type != gjson.Number || total.Num < 0 {
		f.requestUsage = nil // this CLI does not support get_usage
		return
	}
	if len(r.Get("response.behaviors").Raw) > len("null") {
		f.requestUsage = nil // a subscription: to answer, the CLI would read all past sessions
	}
	if id == baselineUsageID {
		if f.responses.cost == 0 && f.results == 0 {
			f.account.startTotal = total.Num
		}
		return
	}
	f.account.onUsage(total.Num, &f.responses)
	if f.usagePending = false; f.usageStale {
		f.usageStale = false
		f.askUsage()
	}
}
