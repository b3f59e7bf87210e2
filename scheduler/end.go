package scheduler

import (
	"fmt"
	"strings"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// This file makes the ends of sessions.

// decideRunEnd returns the end of the session: complete, failed, or the status of the stop.
func decideRunEnd(s *State) event.RunEnded {
	status, reason := event.RunFailed, ""
	refused := s.PrecheckRefusals()
	switch {
	case s.Stop != nil && (s.Stop.Status == event.RunInterrupted || s.Stop.Breaker == event.MustNot ||
		s.Counts.Pending > 0 || s.Failures() == 0):
		return endRun(s, s.Stop)
	case stopOfTasks(s) != nil:
		return endRun(s, stopOfTasks(s))
	case s.selection.selected != nil && s.failedSelected() == 0 && !s.IsDone():
		return endRun(s, event.Partial(fmt.Sprintf("done as asked: %s; the rest of the plan waits",
			textfmt.FirstOf(s.Config.Only, 5, 0))))
	case s.Counts.Failed == 0 && s.Failures() > 0 && len(refused) > 0:
		status, reason = event.RunBlocked, "the pre-check refused "+textfmt.Clip(strings.Join(refused, "; "), 200)
	case s.Failures() > 0:
		reason = fmt.Sprintf("%d failed, %d blocked by them", s.Counts.Failed, s.Counts.Blocked)
	case s.Assessment.Gate == nil || !s.Assessment.Gate.Passed:
		reason = refusal(s)
	case s.delivery != nil && s.delivery.Failed:
		status, reason = event.RunBlocked, "everything is done, but not delivered: "+s.delivery.Why
	default:
		status = event.RunComplete
	}
	return endRun(s, event.NewStop(status, reason, ""))
}

// endRun returns the end of a session with the status, exit code and reason of a stop.
func endRun(s *State, why *event.Stop) event.RunEnded {
	spent := s.Ledger.Spent()
	e := event.RunEnded{Status: why.Status, ExitCode: why.ExitCode, Reason: why.Reason, ResumeAt: why.ResumeAt,
		Tasks: s.Counts, Cost: spent, CostUSD: spent.Float(), Iterations: s.Ledger.Iterations(), Notional: s.Notional}
	if why.Status != event.RunComplete && why.Status != event.RunCancelled {
		e.Resume = event.ResumeCommand(plan.ShellQuote(s.Plan.Path), s.Stop)
	}
	return e
}

// refusal returns the reason of a run that the gate refused.
func refusal(s *State) string {
	if s.Assessment.Gate == nil {
		return "the gate refused"
	}
	return "the gate refused: " + strings.Join(s.Assessment.Gate.Reasons, "; ")
}

// EndAfterCancel returns the end of a run that is cancelled between sessions. Attempts that were
// killed and never settled count at their caps.
func EndAfterCancel(s *State) event.RunEnded {
	e := endRun(s, event.NewStop(event.RunCancelled, event.ReasonCancelled, ""))
	e.Cost += s.Ledger.Reserved()
	e.CostUSD, e.Iterations = e.Cost.Float(), s.Ledger.Charged()
	return e
}

// EndAfterVerify returns the end of a completed run whose later verification found failures. It can be resumed.
func EndAfterVerify(s *State) event.RunEnded {
	return endRun(s, event.NewStop(event.RunFailed, refusal(s), ""))
}

// EndAfterRollback returns the end of a session that only rolled back work.
func EndAfterRollback(s *State, what string) event.RunEnded {
	return endRun(s, event.NewStop(event.RunBlocked,
		what+" was rolled back; it is done again when the run is resumed", ""))
}
