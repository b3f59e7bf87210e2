package scheduler

import (
	"errors"

	"wavex/budget"
)

// This file is the money of single waves: a limit for each, within the run's own. What
// a wave's attempts and panels cost is counted whether there is a limit or not, so that
// one can be set or raised when the run is continued.

// purse is the ledger of a wave. It counts money only.
func (s *State) purse(wave int) *budget.Ledger {
	p := s.purses[wave]
	if p == nil {
		l := budget.NewLedger(s.purseLimits())
		p = &l
		if s.purses == nil {
			s.purses = map[int]*budget.Ledger{}
		}
		s.purses[wave] = p
	}
	return p
}

// purseLimits are those of every wave.
func (s *State) purseLimits() budget.Limits {
	wave := s.Config.Limits.Wave
	return budget.Limits{USD: wave, NoUSD: wave == 0 || s.Notional && !s.Config.BudgetGiven, NoIterations: true}
}

// share is the cap for the next attempt or panel of a wave when slots are free: what
// the run and the wave both have room for. It is false, with the limit that has none,
// when that is too little.
func (s *State) share(wave, slots int, own budget.USD) (limit budget.USD, short *budget.LimitError) {
	limit, ok := s.Ledger.Share(slots, own)
	if !ok {
		return 0, s.Ledger.Shortage()
	}
	p := s.purse(wave)
	part, ok := p.Share(slots, own)
	switch {
	case !ok:
		return 0, ofWave(p.Shortage())
	case p.Limits().NoUSD:
		return limit, nil
	case limit == 0: // the run has no limit, and neither has the task
		return part, nil
	}
	return min(limit, part), nil
}

// reserve holds money of the run and of the wave, both or neither.
func (s *State) reserve(key string, wave int, usd budget.USD, iteration bool) error {
	if err := s.purse(wave).Reserve(key, usd, false); err != nil {
		return ofWave(err)
	}
	if err := s.Ledger.Reserve(key, usd, iteration); err != nil {
		s.purse(wave).Settle(key, 0, 0, false)
		return err
	}
	return nil
}

// pay replaces a reservation by the facts.
func (s *State) pay(key string, wave int, cost budget.USD, tokens int64, charged bool) {
	s.Ledger.Settle(key, cost, tokens, charged)
	s.purse(wave).Settle(key, cost, 0, false)
}

// ofWave tells a wave's shortage from the run's.
func ofWave[E error](err E) E {
	var short *budget.LimitError
	if errors.As(err, &short) && short != nil {
		short.Limit = budget.LimitWave
	}
	return err
}
