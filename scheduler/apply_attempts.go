package scheduler

import (
	"cmp"
	"fmt"
	"time"

	"wavex/internal/event"
	"wavex/runner"
)

// This file applies the events of attempts and panels. Only apply uses it.

func (s *State) applyAttemptStarted(b event.AttemptStarted, at time.Time) {
	s.open(attemptKey(b.Task, b.Attempt)).attempt = &openAttempt{b, nil}
	s.noteFirstAttempt()
	n := s.numbersOf(b.Task)
	n.Attempts, n.Began = b.Attempt, cmp.Or(n.Began, s.Seq)
	i, ok := s.Index(b.Task)
	if !ok {
		return
	}
	t := &s.Tasks[i]
	t.Session = b.Session
	if t.Key != b.Key {
		return // the event is about a task with another content key
	}
	t.Tries, t.Started, t.checksFrom = b.Try, at, s.closing.changeCount
	t.Continue, t.Next = false, b.Why
	s.occupy(i, b.Slot)
	s.move(i, event.InProgress)
	s.files.acquire(i)
}

// applyAttemptAdopted changes nothing: the open attempt has kept its slot, its reservation and its files.
func (s *State) applyAttemptAdopted(b event.AttemptAdopted) error {
	if _, open := s.openWork[attemptKey(b.Task, b.Attempt)]; !open {
		return fmt.Errorf("attempt %d of %s was adopted, but it is not open", b.Attempt, b.Task)
	}
	return nil
}

func (s *State) applyTurnEnded(b event.TurnEnded) error {
	key, r := attemptKey(b.Task, b.Attempt), b.Turn.Result
	open := s.open(key)
	if open.attempt == nil || open.attempt.turn != nil {
		return fmt.Errorf("the turn of attempt %d of %s ended, but the attempt is not open", b.Attempt, b.Task)
	}
	open.attempt.turn, open.paid = &b.Turn, true
	s.purse(open.job).commit(key, r.Cost, r.Usage.Total(), true)
	s.updateLogin(r)
	if i, ok := s.Index(b.Task); ok && s.Tasks[i].Key == b.Key {
		t := &s.Tasks[i]
		if t.Turn == nil && t.Slot >= 0 {
			s.checking++
		}
		t.Turn, t.checksFrom = &b.Turn, s.closing.changeCount
		t.Cost += r.Cost
		t.Usage = t.Usage.Plus(r.Usage)
	}
	return nil
}

// commitAttempt closes the open work of an attempt and commits its cost, unless its turn has paid.
// newCost reports whether the cost is new.
func (s *State) commitAttempt(b event.AttemptEnded) (newCost bool) {
	key := attemptKey(b.Task, b.Attempt)
	open := s.open(key)
	s.finish(key, b.Result.Cost, b.Result.Usage.Total(), b.Charged)
	s.noteCap(b, open)
	if a := open.attempt; a != nil && a.Why == event.WhyChecks {
		return false
	}
	s.learn(b)
	s.updateLogin(b.Result)
	s.Limiter = s.Limiter.afterOutcome(b.Result.Outcome)
	return !open.paid
}

func (s *State) applyAttemptEnded(b event.AttemptEnded) error {
	r := b.Result
	newCost := s.commitAttempt(b)
	s.learnCost(b.Task, r.Cost, r.Outcome == runner.Done)
	if s.Config.Isolation != event.Isolated {
		s.closing.changeCount++
	}
	s.Stop = cmp.Or(s.Stop, b.Stop)
	if b.PauseUntil.After(s.PauseUntil) {
		s.PauseUntil = b.PauseUntil
	}
	i, ok := s.Index(b.Task)
	if !ok || s.Tasks[i].Key != b.Key {
		return nil
	}
	t := &s.Tasks[i]
	if t.Status != event.InProgress || t.Attempts != b.Attempt {
		return fmt.Errorf("attempt %d of %s ended, but it is %s at attempt %d", b.Attempt, b.Task, t.Status, t.Attempts)
	}
	s.vacate(i)
	if b.Status != event.Verified || s.Config.Isolation != event.Isolated { // else others would begin without its files
		s.files.release(i)
	}
	if newCost {
		t.Cost += r.Cost
		t.Usage = t.Usage.Plus(r.Usage)
	}
	t.Took += r.Duration
	t.Refused += r.Refused
	if r.Outcome != runner.Interrupted && r.Outcome != runner.Broken {
		t.Turn = nil // its work was checked
	}
	t.noteResult(r, b.Status == event.Verified)
	t.Edited = r.Edited()
	t.redBefore = t.redBefore || len(r.Checks) > 0 && !r.Vacuous && !r.Unmeasured
	t.Stuck, t.NotBefore, t.Continue = b.Stuck, b.NotBefore, b.Continue
	s.delayTask(i, b.NotBefore)
	if r.Session != "" {
		t.Session = r.Session
	}
	s.noteStreak(i, b)
	t.Next, t.Commit = nextReason(r.Outcome), r.Commit
	if s.Config.Isolation != event.Isolated {
		s.markChanged(t, b.Status)
	}
	s.move(i, b.Status)
	t.Stop, t.outOfRetries = b.TaskStop, b.Status == event.Failed && b.TaskStop == nil && r.Outcome.Stuck()
	s.block(b.Task, b.Blocked)
	if r.Outcome == runner.Done && s.Config.Attended && s.Config.Gates == event.GatesAttempts {
		s.approvals.pendingSteps = append(s.approvals.pendingSteps, b.Task)
	}
	return nil
}

// noteResult stores the facts about an attempt that the next attempt, a panel and breakers use.
//
// With isolation, an attempt that is only verified in its own tree does not end a series of equal
// failures: its work may still fail together with the rest.
func (t *Task) noteResult(r runner.Result, verified bool) {
	switch {
	case r.Outcome.Stuck():
		if t.isSameFailure(r) {
			t.SameError++
		} else {
			t.SameError = 1
		}
		t.LastSignature = r.Signature
		t.checksFailed = t.checksFailed || failsChecks(&r)
		t.History = append(t.History, r.Reason)
		t.TransientFailures = 0
	case r.Outcome == runner.Throttled:
		t.TransientFailures++
	case r.Outcome.Own():
		t.TransientFailures = 0
		t.FreeRetries++
	case r.Outcome == runner.Interrupted, r.Outcome == runner.Limited:
	case verified:
		t.TransientFailures = 0
	default:
		t.TransientFailures, t.SameError = 0, 0
	}
	if r.Outcome == runner.Done {
		t.FreeRetries = 0
	}
	// An outcome that is not the task's fault must not replace the last failure, which the next
	// prompt describes.
	if r.Outcome.Stuck() || r.Outcome == runner.Done || t.Last == nil || !t.Last.Outcome.Stuck() {
		t.Last, t.lastAttempt = &r, t.Attempts
	}
}

// isSameFailure reports whether the task's last failure had the same signature.
func (t *Task) isSameFailure(r runner.Result) bool {
	return t.SameError > 0 && r.Signature != "" && t.LastSignature == r.Signature
}

// nextReason returns the reason of the next attempt after an outcome.
func nextReason(o runner.Outcome) string {
	switch {
	case o.Stuck():
		return "retry"
	case o == runner.OverCap:
		return "continue"
	}
	return "again"
}

func (s *State) applyCounselStarted(b event.CounselStarted) {
	s.numbersOf(b.Task).Panels = b.Panel
	i, ok := s.Index(b.Task)
	if !ok || s.Tasks[i].Status != event.Advising {
		return
	}
	s.occupy(i, s.slots.nextFree())
	s.queue.removePanel(i)
}

func (s *State) applyCounselEnded(b event.CounselEnded) {
	s.finish(panelKey(b.Task, b.Panel), b.Verdict.Cost, 0, false)
	s.learnCost(b.Task, b.Verdict.Cost, false)
	s.Stop = cmp.Or(s.Stop, b.Stop)
	if b.PauseUntil.After(s.PauseUntil) {
		s.PauseUntil = b.PauseUntil
	}
	i, ok := s.Index(b.Task)
	if !ok || s.Tasks[i].Status != event.Advising {
		return
	}
	t := &s.Tasks[i]
	s.vacate(i)
	defer s.blockBehindFailed(i)
	t.Cost += b.Verdict.Cost
	t.CounselCost += b.Verdict.Cost
	if b.Again {
		t.cutPanels++
		s.move(i, event.Advising)
		return
	}
	t.cutPanels = 0
	if t.Advice != nil && t.Advice.Fix != "" {
		t.PastAdvice = append(t.PastAdvice, t.Advice.Advice())
	}
	t.Advice = nil
	if b.Verdict.Unavailable == "" {
		t.Advice = &b.Verdict
	}
	t.Consulted = append(t.Consulted, b.Verdict.Experts()...)
	s.move(i, event.Pending)
}

func (s *State) occupy(i, slot int) {
	s.Tasks[i].Slot = slot
	s.slots.acquire(slot)
	s.Figures.tallyRunning(s.Tasks[i].Wave, 1)
	if s.Tasks[i].Turn != nil {
		s.checking++
	}
}

func (s *State) vacate(i int) {
	if s.Tasks[i].Slot >= 0 {
		s.slots.release(s.Tasks[i].Slot)
		s.Tasks[i].Slot = -1
		s.Figures.tallyRunning(s.Tasks[i].Wave, -1)
		if s.Tasks[i].Turn != nil {
			s.checking--
		}
	}
}
