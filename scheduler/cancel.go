package scheduler

// Cancelled is the status of a run that a person has given up: it is not resumed.
const Cancelled = "cancelled"

// AfterCancel is the end of a run that is cancelled between sessions. It counts what is
// known; attempts that were cut off and never settled are in the cost with their caps.
func AfterCancel(s *State) RunEnded {
	spent := s.Ledger.Spent() + s.Ledger.Reserved()
	return RunEnded{Status: Cancelled, ExitCode: 1, Reason: "cancelled with wavex cancel", Tasks: s.Counts,
		Cost: spent, CostUSD: spent.Float(), Iterations: s.Ledger.Charged(), Notional: s.Notional}
}
