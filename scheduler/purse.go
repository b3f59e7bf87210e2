package scheduler

import (
	"errors"

	"wavex/budget"
)

// This file limits the money of single waves, within the run's own limit. The cost of a wave's
// attempts and panels is counted also without a limit, so that a resume can set or raise one.

// purse returns the ledger of a wave. It counts money only.
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

// purseLimits returns the limits of every wave.
func (s *State) purseLimits() budget.Limits {
	wave := s.Config.Limits.Wave
	return budget.Limits{USD: wave, NoUSD: wave == 0 || s.Notional && !s.Config.BudgetGiven, NoIterations: true}
}

// share returns the cap for the next attempt or panel of a wave when slots are free, within the
// limits of both the run and the wave. If the money is too little, short is the limit that was
// reached.
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
	case limit == 0: // neither the run nor the task has a limit
		return part, nil
	}
	return min(limit, part), nil
}

// reserve reserves money of the run and of the wave, both or neither.
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

// pay replaces a reservation by the actual cost.
func (s *State) pay(key string, wave int, cost budget.USD, tokens int64, charged bool) {
	s.Ledger.Settle(key, cost, tokens, charged)
	s.purse(wave).Settle(key, cost, 0, false)
}

// ofWave marks a LimitError as a wave limit.
func ofWave[E error](err E) E {
	var short *budget.LimitError
	if errors.As(err, &short) && short != nil {
		short.Limit = budget.LimitWave
	}
	return err
}
