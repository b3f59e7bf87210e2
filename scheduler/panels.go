package scheduler

import (
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
)

// This file decides when the panel of a stuck task is convened, and whether one that gave no advice is convened again:
// no retry is bought without advice while there is money for a panel.

// panelCap bounds the cost of one panel.
const panelCap = budget.Dollar

// leastPanel is the money for which a panel waits while others hold it: with less its experts may reach their caps.
const leastPanel = panelCap / 4

// decidePanels returns the start of the first panel that is due and waits for no money, or its skip. wait reports
// whether panels are due and wait for money.
func decidePanels(s *State) (body event.Body, wait bool) {
	for _, i := range s.queue.panels {
		if !s.panelWaits(int(i)) {
			return decidePanel(s, int(i)), false
		}
		wait = true
	}
	return nil, wait
}

// panelWaits reports whether the panel of task i waits for money that work holds.
func (s *State) panelWaits(i int) bool {
	if !s.Config.Counsel || s.Running() == 0 && !s.closing.lightRunning {
		return false
	}
	l := &s.Ledger
	return !l.Limits().NoUSD && l.Available() < min(leastPanel, l.Limits().USD-l.Spent())
}

// decidePanel convenes a panel for a stuck task, or returns why it is skipped or the stop at a limit.
func decidePanel(s *State, i int) event.Body {
	t, id := &s.Tasks[i], s.Plan.Tasks[i].ID
	if !s.Config.Counsel { // an earlier session had it on
		return event.CounselSkipped{Task: id, Reason: "counsel is off"}
	}
	cap, ok := s.Ledger.Share(1, panelCap)
	if !ok { // a retry would get nothing either, and a resume with more money begins with the panel
		return event.Draining{Stop: s.limitStop(s.Ledger.Shortage())}
	}
	ev := event.CounselStarted{Task: id, Attempt: t.Attempts, Panel: t.Panels + 1, Wave: t.Wave, Cap: cap,
		Thorough: t.Stuck >= 3}
	if cap < budget.MinReservation {
		return event.CounselSkipped{Task: id, Reason: event.NoMoneyForPanel}
	}
	if err := s.admits(jobOf(ev)); err != nil {
		return event.Draining{Stop: s.limitStop(err)}
	}
	return ev
}

// onPanel returns the consequences of a panel's end. One that was cut off, or whose calls failed for a reason that an
// attempt would meet too, is convened again. Any other one has had its chance.
func onPanel(s *State, b event.CounselStarted, v counsel.Verdict, now time.Time, jitter float64) event.CounselEnded {
	ev := event.CounselEnded{Task: b.Task, Panel: b.Panel, Verdict: v}
	i, ok := s.Index(b.Task)
	if !ok || v.Unavailable == "" {
		return ev
	}
	cuts := s.Tasks[i].cutPanels
	r := runner.Result{Outcome: v.Failure, Reason: v.Unavailable, ResetsAt: v.ResetsAt}
	var end event.AttemptEnded // of an attempt with the same outcome
	switch v.Failure {
	case runner.Interrupted:
		ev.Again = s.Stop != nil || cuts == 0
	case runner.Truncated:
		ev.Again = cuts == 0
	case runner.Throttled:
		ev.Again = true
		onThrottled(&Task{TransientFailures: cuts}, r, now, jitter, &end)
	case runner.Limited:
		ev.Again = true
		onLimited(s, r, now, jitter, &end)
	case runner.Unauthorised:
		ev.Again = true
		end.Stop = outcomeStop(r.Outcome, "no expert could be asked: "+r.Reason, "task")
	}
	ev.Stop, ev.PauseUntil = end.Stop, end.PauseUntil
	if end.NotBefore.After(ev.PauseUntil) {
		ev.PauseUntil = end.NotBefore
	}
	return ev
}
