package runner

import (
	"io"
	"os"
	"path/filepath"

	"wavex/budget"
	"wavex/internal/wary"
)

// Pricer tells what a response of a model costs; false: the model is not in its table.
type Pricer interface {
	Price(model string, t budget.Tokens) (budget.Pico, bool)
}

// account is what the CLI itself told of the money of one process.
//
// Its figures differ by version. total_cost_usd counts from the start of the process on claude
// 2.1.197, also after --resume; on 2.1.330 it goes on from what the session had cost by its last
// clean end. model_usage_since_last_result, which only newer versions have, is exactly one turn.
// The answer to the control request get_usage has the total at any time, on both.
type account struct {
	before float64 // dollars: the total that a resumed session brought, told before the first response
	turns  float64 // dollars: the sum of model_usage_since_last_result
	usage  Usage   // of the same, else of the last modelUsage
	coarse bool    // a result line lacked model_usage_since_last_result

	told     bool        // there is a figure
	ended    bool        // it is of a result line
	sum      budget.USD  // the figure, of this process alone
	covers   budget.Pico // what the responses had cost, by the price table, when it was told
	unpriced int         // likewise, responses without a price
}

// result takes the figures of a result line. All responses that had begun are in it, or were
// broken off.
func (a *account) result(r *resultLine, c *responses) {
	if a.usage = a.usage.Plus(r.turnUsage); !r.hasTurn || a.coarse {
		a.coarse, a.usage = true, Usage{}
		if a.before == 0 {
			a.usage = r.usage
		}
	}
	a.turns += r.turnCost
	switch {
	case !a.coarse:
		a.sum = budget.FromFloat(a.turns)
	case r.hasCost:
		a.sum = budget.FromFloat(a.since(r.total))
	default:
		return
	}
	a.told, a.ended, a.covers, a.unpriced = true, true, c.cost, c.unpriced
}

// asked takes the total of an answer to get_usage. A response under way is not in it.
func (a *account) asked(total float64, c *responses) {
	if a.ended && c.cost == a.covers {
		return // the result line said so already
	}
	a.told, a.ended, a.sum = true, false, budget.FromFloat(a.since(total))
	a.covers, a.unpriced = c.finished, c.unpriced
}

// since takes off what the session had cost before. A total below that began anew.
func (a *account) since(total float64) float64 {
	if total < a.before {
		return total
	}
	return total - a.before
}

// bill is what one process cost.
type bill struct {
	cost     budget.USD // micro-dollars
	priced   string     // as in Result
	disputed budget.USD // the CLI's figure, where priced is "table"
	usage    Usage
}

// bill says what the process cost, as far as that can be known. The CLI's own figure counts,
// and what came after it is added by the price table. Where the responses of the stream alone
// cost more than that, they count: the ledger must not be below what the API charged.
func (f *facts) bill(limit budget.USD) bill {
	c, a := &f.responses, &f.account
	seen := c.cost.USD()
	b := bill{usage: c.usage, cost: seen, priced: "stream"}
	switch {
	case a.told:
		b.cost = a.sum + (c.cost - a.covers).USD()
		if a.ended && c.cost == a.covers {
			b.priced = "result"
			if a.usage != (Usage{}) {
				b.usage = a.usage
			}
		}
		// Both figures are rounded.
		if finished := c.finished.USD(); a.ended && finished > b.cost+1 {
			return bill{cost: seen, priced: "table", disputed: b.cost, usage: c.usage}
		}
		if seen > b.cost+1 {
			b.cost = seen // with a response that was broken off, which 2.1.197 does not count
		}
	case !f.begun && f.lines == 0: // it asked the API for nothing
		return bill{usage: c.usage}
	case c.usage == (Usage{}) && f.stray != "":
		// A stream that is not all of it the CLI's tells nothing by its silence.
		b.cost, b.priced = max(seen, limit), "cap"
	}
	if c.unpriced > a.unpriced {
		b.cost, b.priced = max(b.cost, limit), "cap"
	}
	return b
}

// Spent is the cost of an attempt that was running when wavex ended.
type Spent struct {
	Cost    budget.USD // micro-dollars
	Priced  string     // as in Result
	Usage   Usage
	Session string // as the CLI reported it; "" when it never did
}

// Recall reads from the files of an attempt what it cost. A stream without a result line is
// priced with prices, or counted at the cap where that is not possible. An attempt without a
// stream file spent nothing. It changes no file.
func Recall(logDir string, prices Pricer, limit budget.USD) (Spent, error) {
	in, err := wary.Open(filepath.Join(logDir, streamFile))
	if os.IsNotExist(err) {
		return Spent{}, nil
	}
	if err != nil {
		return Spent{}, err
	}
	defer func() { _ = in.Close() }() // read only: nothing to lose
	return recall(in, prices, limit)
}

func recall(in io.Reader, prices Pricer, limit budget.USD) (Spent, error) {
	f := facts{responses: responses{prices: prices}}
	err := (&stream{line: f.line}).run(in)
	b := f.bill(limit)
	return Spent{Cost: b.cost, Priced: b.priced, Usage: b.usage, Session: f.session}, err
}
