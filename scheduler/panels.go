package scheduler

import (
	"slices"
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

const noMoneyForPanel = "no money left for a panel"

// keptMoney is the money that panels wait for: that of the run, or only that of groups.
type keptMoney struct {
	run    bool
	groups []*group // one for each panel; nil: it waits for no group's money
}

// from reports whether an agent's attempt at a task of a group, or of none, would take such money.
func (k keptMoney) from(g *group) bool { return k.run || g != nil && slices.Contains(k.groups, g) }

// decidePanels returns the start of the first panel that is due and waits for no money, or its skip.
func decidePanels(s *State) (body event.Body, kept keptMoney) {
	for _, i := range s.queue.panels {
		run, group := s.panelMoney(int(i))
		if !run && group == nil {
			return decidePanel(s, int(i)), keptMoney{}
		}
		kept.run, kept.groups = kept.run || run, append(kept.groups, group)
	}
	return nil, kept
}

// panelMoney returns the money that work holds and the panel of task i waits for: that of the run or the wave, and that
// of the task's group.
func (s *State) panelMoney(i int) (run bool, of *group) {
	if !s.Config.Counsel || s.Running() == 0 && !s.lightRunning {
		return false, nil
	}
	for _, l := range []*budget.Ledger{&s.Ledger, s.waveLedger(s.Tasks[i].Wave)} {
		run = run || !l.Limits().NoUSD && l.Available() < min(leastPanel, l.Limits().USD-l.Spent())
	}
	if g := s.groupOf(i); g != nil && g.plan.BudgetUSD > 0 &&
		g.available() < min(leastPanel, g.plan.BudgetUSD-g.ledger.Spent()) {
		of = g
	}
	return run, of
}

// decidePanel convenes a panel for a stuck task, or returns why it is skipped or the stop at a limit.
func decidePanel(s *State, i int) event.Body {
	t, id := &s.Tasks[i], s.Plan.Tasks[i].ID
	if !s.Config.Counsel { // an earlier session had it on
		return event.CounselSkipped{Task: id, Reason: "counsel is off"}
	}
	cap, short := s.share(t.Wave, 1, panelCap)
	if short != nil { // a retry would get nothing either, and a resume with more money begins with the panel
		return event.Draining{Stop: s.limitStop(short)}
	}
	if g := s.groupOf(i); g != nil && g.plan.BudgetUSD > 0 {
		cap = min(cap, g.available())
	}
	ev := event.CounselStarted{Task: id, Attempt: t.Attempts, Panel: t.Panels + 1, Wave: t.Wave, Cap: cap,
		Thorough: t.Stuck >= 3}
	if cap < budget.MinReservation {
		return event.CounselSkipped{Task: id, Reason: noMoneyForPanel}
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
