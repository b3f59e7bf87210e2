package runner

import (
	"io"
	"os"
	"path/filepath"

	"wavex/budget"
	"wavex/internal/wary"
)

// Pricer tells what tokens of a model cost; false: the model is not in its table.
type Pricer interface {
	Cost(model string, input, output, cacheRead, cacheWrite int64) (budget.USD, bool)
}

// spent is what an attempt cost, as far as it can be known, and where that is from
// (see Result.Priced). The result line's sum is the CLI's own and counts from the start of
// the process, also when it resumed a session (observed on claude 2.1.197): what the process
// had spent before is taken off.
func (f *facts) spent(limit budget.USD) (budget.USD, string, Usage) {
	switch r := f.result; {
	case r != nil && r.hasCost && r.usage.minus(f.before.usage) != (Usage{}):
		return max(r.cost-f.before.spent, 0), "result", r.usage.minus(f.before.usage)
	case r != nil && r.hasCost:
		return max(r.cost-f.before.spent, 0), "result", f.usage
	case !f.begun && f.lines == 0: // it asked the API for nothing
		return 0, "", f.usage
	case !f.unpriced && (f.usage != (Usage{}) || f.stray == ""):
		// What was on its way when it died is not in here: at most one response. A stream
		// that is not all of it the CLI's tells nothing by its silence.
		return f.cost, "stream", f.usage
	}
	return limit, "cap", f.usage
}

// Spent is what an attempt cost that nobody saw the end of.
type Spent struct {
	Cost    budget.USD // micro-dollars
	Priced  string     // as in Result
	Usage   Usage
	Session string // as the CLI reported it; "" when it never did
}

// Recall tells from the files of an attempt what it cost: wavex was killed while it ran. A
// stream without a result line is priced with prices, or counted at the cap where that is not
// possible. An attempt without a stream file spent nothing.
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
	f := facts{prices: prices}
	err := (&stream{line: f.line}).run(in)
	var s Spent
	s.Cost, s.Priced, s.Usage = f.spent(limit)
	s.Session = f.session
	return s, err
}
