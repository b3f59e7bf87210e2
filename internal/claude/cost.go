package claude

import (
	"io"
	"os"
	"path/filepath"

	"wavex/budget"
	"wavex/internal/jsonobject"
	"wavex/internal/loop"
	"wavex/internal/safefile"
	"wavex/runner"
)

// Pricer returns the price of a response; a guess, if the price table does not list the model.
type Pricer interface {
	Price(model string, t budget.Tokens) (cost budget.Pico, listed bool)
}

// account holds the cost figures that the CLI reported for one process.
//
// The figures differ by version. On claude 2.1.258, total_cost_usd counts from the start of the
// process, also after --resume; on 2.1.330 it includes the session's total at its last clean end.
// model_usage_since_last_result, which only newer versions have, covers exactly one turn. On both
// versions, the answer to the control request get_usage has the total at any time.
type account struct {
	startTotal float64      // dollars: the total of a resumed session, reported before the first response
	turnSum    float64      // dollars: the sum of model_usage_since_last_result
	usage      runner.Usage // for the same turns, or of the last modelUsage
	totalsOnly bool         // a result line lacked model_usage_since_last_result

	known      bool        // there is a figure
	fromResult bool        // the figure is from a result line
	total      budget.USD  // the figure, for this process alone
	covered    budget.Pico // the priced cost of the responses that the figure includes
}

// onResult adds the figures of a result line. They include every response that had begun, unless it
// was cancelled.
func (a *account) onResult(r *resultLine, c *responses) {
	if a.usage = a.usage.Plus(r.turnUsage); !r.hasTurn || a.totalsOnly {
		a.totalsOnly, a.usage = true, runner.Usage{}
		if a.startTotal == 0 {
			a.usage = r.usage
		}
	}
	a.turnSum += r.turnCost
	switch {
	case !a.totalsOnly:
		a.total = budget.FromFloat(a.turnSum)
	case r.hasCost:
		a.total = budget.FromFloat(a.since(r.total))
	default:
		return
	}
	a.known = true
	a.fromResult = true
	a.covered = c.cost
}

// onUsage adds the total of an answer to get_usage, which does not include a response in progress.
func (a *account) onUsage(total float64, c *responses) {
	if a.fromResult && c.cost == a.covered {
		return // the result line has the same figure
	}
	a.known, a.fromResult, a.total = true, false, budget.FromFloat(a.since(total))
	a.covered = c.finished
}

// since returns total less the cost of the session before this process. A total below that
// restarted at zero.
func (a *account) since(total float64) float64 {
	if total < a.startTotal {
		return total
	}
	return total - a.startTotal
}

// bill returns the best known cost of the process: the CLI's own figure, plus the priced responses after it. If the
// responses at list prices alone cost more, the price counts, because the ledger must not be below the API's charges.
func (f *transcript) bill(limit budget.USD) runner.Bill {
	c, a := &f.responses, &f.account
	seen := c.cost.USD()
	b := runner.Bill{Usage: c.usage, Cost: seen, Priced: "stream"}
	switch {
	case a.known:
		b.Cost = a.total + (c.cost - a.covered).USD()
		if a.fromResult && c.cost == a.covered {
			b.Priced = "result"
			if a.usage != (runner.Usage{}) {
				b.Usage = a.usage
			}
		}
		// Both figures are rounded.
		if finished := (c.finished - c.guess).USD(); a.fromResult && finished > b.Cost+1 {
			return runner.Bill{Cost: seen, Priced: "table", Disputed: b.Cost, Usage: c.usage}
		}
		if a.fromResult && b.Cost == 0 && seen > 0 { // tokens are never free
			b.Cost, b.Priced = seen, "guess"
		}
		if listed := (c.cost - c.guess).USD(); listed > b.Cost+1 {
			b.Cost = listed // includes a cancelled response, which 2.1.258 does not count
		}
	case !f.init.seen && f.lines == 0: // the process sent no request to the API
		return runner.Bill{Usage: c.usage}
	}
	if c.guess > 0 && c.cost > a.covered {
		b.Priced = "guess"
	}
	// Without any final usage, although a response of the agent itself ended, the cost is far too low.
	if !a.fromResult && c.own > 1 && !c.told {
		b.Cost, b.Priced = max(b.Cost, limit), "cap"
	}
	return b
}

// forecast returns the cost so far, and of one more response if that costs as much as the last one. The CLI asks about
// the calls of a response before it prints its final usage: such a response counts like the last one, too. known is
// false if there is no such response, or no price.
func (f *transcript) forecast() (spent, next budget.USD, known bool) {
	c, b := &f.responses, f.bill(0)
	spent, next = b.Cost, c.last.USD()
	if r := c.open[""]; r != nil && !r.final {
		spent += max(0, c.last-r.cost).USD()
	}
	return spent, next, next > 0 && b.Priced != "cap"
}

// RecoveredCost holds the cost of an attempt that was running when wavex ended.
type RecoveredCost struct {
	runner.Bill
	Session string // as the CLI reported it; "" if it did not
}

// RecoverCost reads the cost of an attempt from its files. It prices a stream without a result line with
// prices, or counts it at the cap if it has no final usage. A stream with an omission counts at the cap, too.
// An attempt without a stream file cost nothing. RecoverCost changes no file.
func RecoverCost(logDir string, prices Pricer, limit budget.USD) (RecoveredCost, error) {
	in, err := safefile.Open(filepath.Join(logDir, loop.StreamFile))
	if os.IsNotExist(err) {
		return RecoveredCost{}, nil
	}
	if err != nil {
		return RecoveredCost{}, err
	}
	defer func() { _ = in.Close() }() // read only: nothing to lose
	return recoverCost(in, prices, limit)
}

func recoverCost(in io.Reader, prices Pricer, limit budget.USD) (RecoveredCost, error) {
	f := transcript{responses: responses{prices: prices}}
	partial := false
	err := (&stream{onLine: func(line []byte, cut bool) {
		partial = partial || runner.IsOmission(line)
		f.onLine(line, cut)
	}}).run(in)
	b := f.bill(limit)
	if partial {
		b.Cost, b.Priced = max(b.Cost, limit), "cap"
	}
	return RecoveredCost{Bill: b, Session: f.session}, err
}

// These control requests ask for the cost of the process so far, because the stream has no final usage for
// responses to subagents, and some responses are not in it at all. The answers are part of the
// stream, so they survive a killed wavex. They ask for the total of the session: before the first prompt of a resumed
// session, and later during the turn. The CLI answers within milliseconds and sends nothing to the API.
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
func (f *transcript) onUsage(r jsonobject.Value) {
	id := r.Get("request_id").Text()
	if id != baselineUsageID && id != usageID {
		return // answers an interrupt; a result line follows
	}
	total := r.Get("response.session.total_cost_usd")
	if total.Kind() != '0' || total.Float() < 0 {
		f.requestUsage = nil // this CLI does not support get_usage
		return
	}
	if len(r.Get("response.behaviors")) > len("null") {
		f.requestUsage = nil // a subscription: to answer, the CLI would read all past sessions
	}
	if id == baselineUsageID {
		if f.responses.cost == 0 && f.results == 0 {
			f.account.startTotal = total.Float()
		}
		return
	}
	f.account.onUsage(total.Float(), &f.responses)
	if f.usagePending = false; f.usageStale {
		f.usageStale = false
		f.askUsage()
	}
}
