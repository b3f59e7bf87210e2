package scheduler

import (
	"slices"
	"time"

	"wavex/budget"
	"wavex/internal/event"
)

// This file has the rules of a resume. A failed task stays failed until its content key changes, which a replay sees as
// a task that never began, or until a session names it. What failed in an earlier session and may go on is tried last.

// deferral holds the tasks that a resumed session tries last: those with failed attempts, and their descendants.
type deferral struct {
	last    []bool      // by task; nil: none. A task that joins later is not deferred.
	waiting map[int]int // number of them that wait, by wave; 0: of the whole plan
}

// isDeferred reports whether a task waits until nothing else can start.
func (d *deferral) isDeferred(i int) bool { return i < len(d.last) && d.last[i] }

// leftNow returns the number of tasks of a wave that the session has still to settle, without those that it tries last.
func (s *State) leftNow(wave int) int { return s.Left(wave) - s.deferral.waiting[wave] }

// deferStuck defers the tasks that failed in an earlier session, unless the session is limited to named ones.
func (s *State) deferStuck() {
	s.deferral = deferral{}
	if s.selection.selected != nil {
		return
	}
	last, some := make([]bool, len(s.Tasks)), false
	for i := range s.Tasks {
		last[i] = s.canBlock(i) && s.Tasks[i].hasFailed()
		some = some || last[i]
	}
	if !some {
		return
	}
	for _, tasks := range s.Plan.TasksByWave() {
		for _, i := range tasks {
			last[i] = last[i] || slices.ContainsFunc(s.Plan.Graph.Blockers(i), func(b int32) bool { return last[b] })
		}
	}
	s.deferral = deferral{last: last, waiting: map[int]int{}}
	for i := range last {
		s.hold(i, s.Tasks[i].Status, 1)
	}
}

// hasFailed reports whether a task that is left has failed attempts since it was last begun anew.
func (t *Task) hasFailed() bool {
	return t.Tries > 0 && (t.Stuck > 0 || t.FreeRetries > 0) && t.Turn == nil && t.Earlier == nil
}

// endDeferral lets the deferred tasks start.
func (s *State) endDeferral() {
	was := s.deferral.last
	s.deferral = deferral{}
	clear(s.queue.finishedFront)
	for i := range was {
		switch {
		case !was[i]:
		case s.Tasks[i].Status == event.Pending:
			s.enqueue(i)
		case s.Tasks[i].Status == event.Advising && s.Tasks[i].Slot < 0:
			s.queue.panels = append(s.queue.panels, int32(i))
		}
	}
}

// retriedTasks returns the failed tasks that get another chance in a session with a configuration, and the tasks that
// they have blocked. The configuration gives a chance to the tasks that it names, to their blockers, and to tasks that
// can go on with a higher limit or another pre-check.
func (s *State) retriedTasks(c event.Config) []string {
	chosen, out := s.selectionOf(c.Only), []string{}
	again := func(i int) bool { return chosen.selected != nil && chosen.has(i) || s.canGoOn(i, c) }
	for i := range s.Tasks {
		cause, blocked := s.Index(s.Tasks[i].RootCause)
		if s.isFailed(i) && (again(i) || blocked && again(cause)) {
			out = append(out, s.Plan.Tasks[i].ID)
		}
	}
	return out
}

// StaysFailed reports whether a task failed, and runs again in a resume only if it is edited or named.
func (s *State) StaysFailed(i int) bool {
	return s.Tasks[i].Status == event.Failed && !s.IsAllowed(i) && !s.canGoOn(i, s.Config)
}

// canGoOn reports whether the obstacle of a failed or blocked task is gone, or may be: the limit that it met is higher
// with a configuration, or a pre-check refused it.
func (s *State) canGoOn(i int, c event.Config) bool {
	t, own := &s.Tasks[i], s.Plan.Tasks[i].BudgetUSD
	switch {
	case t.Status == event.Blocked:
		return t.Challenge != nil && !t.Challenge.Go
	case t.Status != event.Failed || t.Stop != nil:
		return false
	case t.Next == "continue": // only its own budget fails a task whose attempt used up its cap
		return own == 0 || own-t.Cost >= min(own, budget.MinReservation)
	}
	return t.outOfRetries && t.Tries <= s.retriesWith(c, i)
}

// reopen undoes the decisions that hold only until the end of a session: the breakers of the run are half open. It lets
// the retried tasks and the users of outputs run again.
func (s *State) reopen(b event.RunResumed) {
	if len(s.groups) > 0 { // failed tasks that groups allowed may count as completed
		defer s.resetFrontier()
	}
	s.Stop, s.Ended, s.PauseUntil = nil, nil, time.Time{}
	s.noteDone()
	for i := range s.Tasks {
		t := &s.Tasks[i]
		t.TransientFailures, t.cutPanels, t.NotBefore = 0, 0, time.Time{}
	}
	for _, id := range b.Retried {
		i, ok := s.Index(id)
		if !ok || !s.isFailed(i) {
			continue
		}
		t := &s.Tasks[i]
		if s.selection.selected != nil || !t.outOfRetries { // else it has only the retries of a higher limit
			t.Tries = 0
		}
		t.SameError, t.FreeRetries, t.RootCause = 0, 0, ""
		if t.Challenge != nil && !t.Challenge.Go {
			t.Challenge = nil // asked again
		}
		s.move(i, event.Pending)
	}
	s.settleBlocked()
	s.reopenUsers(b.Users)
}

// settleBlocked blocks the waiting tasks that wait for a failed one, and lets those go on that do not any more.
func (s *State) settleBlocked() {
	for _, tasks := range s.Plan.TasksByWave() {
		for _, i := range tasks {
			t := &s.Tasks[i]
			cause, failed := s.failedBlocker(i)
			switch refused := t.Challenge != nil && !t.Challenge.Go; {
			case failed && s.canBlock(i):
				s.block(cause, []string{s.Plan.Tasks[i].ID})
			case failed && t.Status == event.Blocked && !refused:
				t.RootCause = cause
			case !failed && t.Status == event.Blocked && !refused && !s.IsAllowed(i):
				t.Tries, t.RootCause = 0, ""
				s.move(i, event.Pending)
			}
		}
	}
}
