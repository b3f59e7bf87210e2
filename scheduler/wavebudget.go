package scheduler

import (
	"errors"

	"wavex/budget"
)

// This file limits the money of single waves, within the run's own limit. The cost of a wave's
// attempts and panels is counted also without a limit, so that a resume can set or raise one.

// waveLedger returns the ledger of a wave. It counts money only.
func (s *State) waveLedger(wave int) *budget.Ledger {
	p := s.waveLedgers[wave]
	if p == nil {
		l := budget.NewLedger(s.waveLimits())
		p = &l
		if s.waveLedgers == nil {
			s.waveLedgers = map[int]*budget.Ledger{}
		}
		s.waveLedgers[wave] = p
	}
	return p
}

// waveLimits returns the limits of every wave.
func (s *State) waveLimits() budget.Limits {
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
	p := s.waveLedger(wave)
	part, ok := p.Share(slots, own)
	switch {
	case !ok:
		return 0, markWaveLimit(p.Shortage())
	case p.Limits().NoUSD:
		return limit, nil
	case limit == 0: // neither the run nor the task has a limit
		return part, nil
	}
	return min(limit, part), nil
}

// markWaveLimit marks a LimitError as a wave limit.
func markWaveLimit[E error](err E) E {
	var short *budget.LimitError
	if errors.As(err, &short) && short != nil {
		short.Limit = budget.LimitWave
	}
	return err
}
