package scheduler

import "wavex/internal/event"

// EndAfterCancel returns the end of a run that is cancelled between sessions. Attempts that were
// killed and never settled count at their caps.
func EndAfterCancel(s *State) event.RunEnded {
	spent := s.Ledger.Spent() + s.Ledger.Reserved()
	return event.RunEnded{Status: event.Cancelled, ExitCode: 1, Reason: "cancelled with wavex cancel", Tasks: s.Counts,
		Cost: spent, CostUSD: spent.Float(), Iterations: s.Ledger.Charged(), Notional: s.Notional}
}
