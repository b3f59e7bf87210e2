package scheduler

import (
	"cmp"
	"fmt"
	"strings"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/runner"
)

// This file adapts the money limits to the login. A subscription is not billed the dollars that the
// CLI reports, so they are limited only if the user set a budget. It also reports when a large part
// of the budget is spent.

// setLimits applies the configured limits. A default budget does not limit a subscription; caps are
// then not passed either.
func (s *State) setLimits() {
	l := s.Config.Limits
	if s.Notional && !s.Config.BudgetGiven {
		l.NoUSD = true
	}
	s.Ledger.SetLimits(l)
}

// updateLogin learns from an attempt whether its dollars are billed. A subscription shows in every answer
// of the API (observed on claude 2.1.330). A paid attempt without that sign was billed, and the
// budget applies again from then on, because real money must not be spent without a limit.
func (s *State) updateLogin(r runner.Result) {
	if r.Window != nil {
		s.Window = r.Window
	}
	warned := &s.warned
	warned[2] = cmp.Or(warned[2], r.Held)
	switch r.Priced {
	case "table":
		text := fmt.Sprintf(event.NoticeDisputed, r.ClaudeVersion, r.Disputed.Spent(), r.Cost.Spent())
		warned[0] = cmp.Or(warned[0], text)
	case "guess":
		warned[1] = cmp.Or(warned[1], fmt.Sprintf(event.NoticeGuessed, cmp.Or(r.Model, "its model"), r.Cost.Spent()))
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

// moneySnapshot holds the values that onMoneyChange compares.
type moneySnapshot struct {
	spent    budget.USD
	notional bool
	warned   [3]string
}

func (s *State) moneySnapshot() moneySnapshot {
	return moneySnapshot{s.Ledger.Spent(), s.Notional, s.warned}
}

// onMoneyChange returns a message about a change in money since before, or nil.
func onMoneyChange(s *State, before moneySnapshot) *event.Notice {
	l, was := s.Ledger.Limits(), before.notional
	var warnings []string
	for i, text := range s.warned {
		if text != before.warned[i] {
			warnings = append(warnings, text)
		}
	}
	switch {
	case len(warnings) > 0:
		return &event.Notice{Level: "warning", Text: strings.Join(warnings, "; ")}
	case s.Notional && !was && s.Config.BudgetGiven:
		return &event.Notice{Level: "info", Text: fmt.Sprintf(
			"subscription login: dollars are notional, nobody is billed them; the run still stops at its budget of %s, because it was given", l.USD)}
	case s.Notional && !was:
		return &event.Notice{Level: "info", Text: event.NoticeSubscription}
	case was && !s.Notional && s.Config.Limits.NoUSD:
		return &event.Notice{Level: "warning", Text: "the login changed: dollars are billed from now on"}
	case was && !s.Notional:
		return &event.Notice{Level: "warning", Text: fmt.Sprintf(
			"the login changed: dollars are billed from now on, and the budget of %s holds", l.USD)}
	}
	crossed := s.Ledger.CrossedPercents(before.spent)
	if len(crossed) == 0 {
		return nil
	}
	most := crossed[len(crossed)-1]
	n := &event.Notice{Level: "info", Text: fmt.Sprintf("%d %% of the budget is spent: %s of %s", most,
		s.Ledger.Spent().Spent(), l.USD)}
	if most >= 90 {
		n.Level = "warning"
	}
	return n
}
