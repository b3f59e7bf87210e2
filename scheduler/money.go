package scheduler

import (
	"fmt"

	"wavex/budget"
	"wavex/runner"
)

// This file is what logins mean for money: with a subscription nobody is billed the
// dollars that the CLI reports, so they bind only where somebody asked for a budget.
// It also says when a good part of the budget is gone.

// setLimits puts the configured limits in force. A budget that nobody gave, neither the
// plan nor a flag, does not bind a subscription; caps are then not passed either.
func (s *State) setLimits() {
	l := s.Config.Limits
	if s.Notional && !s.Config.BudgetGiven {
		l.NoUSD = true
	}
	s.Ledger.SetLimits(l)
	for _, p := range s.purses {
		p.SetLimits(s.purseLimits())
	}
}

// login learns from an attempt whether its dollars are billed. A subscription shows
// itself with every answer of the API (observed on claude 2.1.197); an attempt that
// was paid for and showed none was billed, and from then on the budget binds again:
// real money must not be spent for want of a limit.
func (s *State) login(r runner.Result) {
	if r.Window != nil {
		s.Window = r.Window
	}
	if r.Priced == "table" && s.disputed == nil {
		s.disputed = &r
	}
	switch {
	case r.Notional:
		s.Notional = true
	case r.Outcome == runner.Done && (r.Priced == "result" || r.Priced == "table") && r.Cost > 0:
		s.Notional = false
	default:
		return
	}
	s.setLimits()
}

// money is what notices about money compare.
type money struct {
	spent    budget.USD
	notional bool
	disputed *runner.Result // the first attempt with a figure of the CLI that was not believed; nil: none
}

func (s *State) money() money { return money{s.Ledger.Spent(), s.Notional, s.disputed} }

// notice returns what an event made worth saying about money since before; nil: nothing.
func notice(s *State, before money) *Notice {
	l, was := s.Ledger.Limits(), before.notional
	switch {
	case s.disputed != nil && before.disputed == nil:
		r := s.disputed
		return &Notice{Level: "warning", Text: fmt.Sprintf("claude %s said that an attempt cost %s; its tokens cost "+
			"%s at list prices, which is counted, here and from now on; if your prices are lower, give them with --prices",
			r.ClaudeVersion, r.Disputed.Spent(), r.Cost.Spent())}
	case s.Notional && !was && s.Config.BudgetGiven:
		return &Notice{Level: "info", Text: fmt.Sprintf("subscription login: dollars are notional, nobody is billed them; the run still stops at its budget of %s, because it was given", l.USD)}
	case s.Notional && !was:
		return &Notice{Level: "info", Text: "subscription login: dollars are notional, nobody is billed them, and they do not stop the run; --budget makes them"}
	case was && !s.Notional && s.Config.Limits.NoUSD:
		return &Notice{Level: "warning", Text: "the login changed: dollars are billed from now on"}
	case was && !s.Notional:
		return &Notice{Level: "warning", Text: fmt.Sprintf("the login changed: dollars are billed from now on, and the budget of %s holds", l.USD)}
	}
	crossed := s.Ledger.Notices(before.spent)
	if len(crossed) == 0 {
		return nil
	}
	most := crossed[len(crossed)-1]
	n := &Notice{Level: "info", Text: fmt.Sprintf("%d %% of the budget is spent: %s of %s", most, s.Ledger.Spent().Spent(), l.USD)}
	if most >= 90 {
		n.Level = "warning"
	}
	return n
}
