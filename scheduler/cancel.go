package scheduler

// Cancelled is the status of a run that was cancelled. It cannot be resumed.
const Cancelled = "cancelled"

// EndAfterCancel returns the end of a run that is cancelled between sessions. Attempts that were
// killed and never settled count at their caps.
func EndAfterCancel(s *State) RunEnded {
	spent := s.Ledger.Spent() + s.Ledger.Reserved()
	return RunEnded{Status: Cancelled, ExitCode: 1, Reason: "cancelled with wavex cancel", Tasks: s.Counts,
		Cost: spent, CostUSD: spent.Float(), Iterations: s.Ledger.Charged(), Notional: s.Notional}
}
