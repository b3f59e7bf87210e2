package scheduler

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"wavex/budget"
	"wavex/internal/event"
)

// decideNext returns the next decision at a time, or nil if the run must wait. It is called again after
// each of its events was applied.
func decideNext(s *State, now time.Time) event.Body {
	switch {
	case s.Phase == Verifying && s.Stop == nil:
		begun := s.open(criteriaKey(s.closing.verifications)).criteria
		// Do not start the remaining checks after the deadline.
		if over := s.Ledger.OverWall(now.Sub(s.SessionStart)); over != nil && begun != nil && len(begun.Rechecks) > 0 {
			return event.Draining{Stop: s.limitStop(over)}
		}
		return nil
	case s.Phase != Executing || s.approvals.openQuestion != nil:
		return nil
	}
	if body := decideEarlier(s, now); body != nil {
		return body
	}
	if body := decideBefore(s); body != nil {
		return body
	}
	if body := decideLightReview(s, now); body != nil {
		return body
	}
	if body := decideIntegration(s, false); body != nil {
		return body
	}
	if s.Left(0) == 0 || s.Stop != nil {
		switch {
		case s.Running() > 0 || s.merges.running:
			return nil
		case s.Stop == nil && s.IsDone():
			return decideCompletion(s, now)
		}
		if body := decideIntegration(s, true); body != nil || s.closing.lightRunning {
			return body
		}
		return decideFinish(s)
	}
	if q := decideApproval(s); q != nil {
		return q
	}
	if over := s.Ledger.OverWall(now.Sub(s.SessionStart)); over != nil {
		return event.Draining{Stop: s.limitStop(over)}
	}
	if s.Wave == 0 || s.leftNow(s.Wave) == 0 {
		if body := decideWaveCriteria(s); body != nil {
			return body
		}
		return decideWave(s, s.leftNow(0) == 0)
	}
	body, waiting := decideStart(s, now)
	if body == nil && s.Running() == 0 {
		// A task that waits for a time may have left half of its edits in a shared directory.
		body = decideIntegration(s, s.Config.Isolation == event.Isolated || !s.waitsForTime(now))
	}
	if body != nil || waiting || s.Running() > 0 || s.merges.running {
		return body
	}
	return decideDeadlock(s)
}

// decideDeadlock returns what follows when no task of the wave can start. A list that came with the run may wait for
// tasks that a resume tries last.
func decideDeadlock(s *State) event.Body {
	if s.deferral.last != nil {
		return decideWave(s, true)
	}
	return event.Draining{Stop: *event.NewStop(event.RunFailed, fmt.Sprintf(
		"wave %d has %d tasks left and none of them can start", s.Wave, s.Left(s.Wave)), "")}
}

// waitsForTime reports whether a task, or the whole run, will go on at a known time.
func (s *State) waitsForTime(now time.Time) bool {
	return now.Before(s.PauseUntil) || slices.ContainsFunc(s.queue.delayed, func(i int32) bool {
		return s.Tasks[i].Status == event.Pending && now.Before(s.Tasks[i].NotBefore)
	})
}

// decideStart returns the start of a panel or an attempt. waiting
// reports whether one waits for a time, for an answer, or for what others hold.
func decideStart(s *State, now time.Time) (ev event.Body, waiting bool) {
	if s.Running() >= s.Limiter.Limit || now.Before(s.PauseUntil) {
		return nil, true
	}
	if body, wait := decidePrecheck(s); body != nil || wait {
		return body, true
	}
	body, kept := decidePanels(s)
	if body != nil {
		return body, false
	}
	ev, waiting = decideAttempt(s, now, kept)
	return ev, waiting || kept
}

// decideWave returns the opening of the next wave. If last is true, nothing else can start, and it is the first wave of
// those that have tasks which a resume tries last.
func decideWave(s *State, last bool) event.Body {
	first, left, may := max(1, s.Wave), s.leftNow, s.mayStart
	if last = last && s.deferral.last != nil; last {
		first, left, may = 1, s.Left, s.Selected
	}
	for w := first; w <= s.Waves; w++ {
		if left(w) == 0 {
			continue
		}
		if q := decideWaveApproval(s, w); q != nil {
			if s.Running() >= s.Config.Parallel {
				return nil // a question needs a worker
			}
			return q
		}
		ev := event.WaveStarted{Wave: w, Of: s.Waves, Last: last}
		for _, i := range s.queue.members[w] {
			if !s.Tasks[i].Status.Finished() && may(int(i)) {
				ev.Tasks = append(ev.Tasks, s.Plan.Tasks[i].ID)
			}
		}
		return ev
	}
	return nil
}

// decideAttempt returns the start of the first queued task that may start now. waiting reports whether a
// task waits for a time, or for a file or money that others hold. kept reports whether panels wait for money.
func decideAttempt(s *State, now time.Time, kept bool) (ev event.Body, waiting bool) {
	pick, command := -1, -1
	ready := 0
	var share []int // agents' tasks that could start and have no reservation
	s.queue.scan(s.queueIndex(s.Wave), s.isReady, func(i int) next {
		if !s.isTurn(i) {
			waiting = true
			// Without eager, all tasks of the queue wait for the same task, so the scan can stop.
			if pick < 0 || s.Config.Schedule == event.Eager {
				return nextTask
			}
			return noneNext
		}
		if s.isGroupFull(i) {
			waiting = true
			return nextGroup
		}
		if now.Before(s.Tasks[i].NotBefore) || !s.files.free(i) {
			waiting = true
			return nextTask
		}
		if s.Tasks[i].Turn != nil {
			pick = i // its checks cost nothing, so no limit may hold them back
			return noneNext
		}
		if s.Plan.Tasks[i].Command == "" && kept {
			waiting = true
			return nextTask
		}
		if pick < 0 {
			pick = i
		}
		ready++
		switch p := &s.Plan.Tasks[i]; {
		case p.Command != "" && command < 0:
			command = i
		case p.Command == "":
			share = append(share, i)
		}
		if ready < s.unreserved() {
			return nextTask
		}
		return noneNext
	})
	if pick < 0 {
		return nil, waiting
	}
	ev, waiting = decideAttemptStart(s, pick, share)
	if ev == nil && command >= 0 { // it needs no money
		ev, waiting = decideAttemptStart(s, command, nil)
	}
	return ev, waiting
}

// isReady reports whether a task is pending and all its blockers stand. A queued task waits again if a blocker is
// reopened.
func (s *State) isReady(i int) bool {
	return s.Tasks[i].Status == event.Pending && s.frontier.UnmetBlockers(i) == 0
}

// isTurn holds back all but one task of a sequential wave. The next one starts after the previous one
// is settled or stands, its retries included.
func (s *State) isTurn(i int) bool {
	wave := s.Tasks[i].Wave
	return !s.Plan.Sequential(wave) ||
		s.queue.isNext(wave, i, func(j int) bool { return s.Tasks[j].Status.Finished() || s.stands(j) || !s.mayStart(j) })
}

// decideAttemptStart returns the start of one attempt with its reservation. share holds the agents' tasks that could
// start now: the first must not take all the money, nor may each get too little.
func decideAttemptStart(s *State, i int, share []int) (event.Body, bool) {
	t, p := &s.Tasks[i], &s.Plan.Tasks[i]
	if t.Turn != nil {
		return decideChecks(s, i), false
	}
	var cap budget.USD
	if p.Command == "" {
		limit, wait, short := s.fund(share)
		if cap = limit; wait {
			return nil, true // reserved money may be released
		}
		if short != nil {
			return event.Draining{Stop: s.limitStop(short)}, false
		}
	}
	ev := event.AttemptStarted{Task: p.ID, Key: t.Key, Wave: t.Wave, Attempt: t.Attempts + 1, Try: t.Tries,
		Iteration: s.Ledger.Iterations() + 1, Why: t.Next, Slot: s.slots.nextFree(), Cap: cap, Advised: t.Advice != nil}
	switch err := s.admits(jobOf(ev)); {
	case err != nil && (s.Running() > 0 || s.closing.lightRunning):
		return nil, true
	case err != nil:
		return event.Draining{Stop: s.limitStop(err)}, false
	}
	if t.Next == "first" || t.Next == "retry" || t.Tries == 0 {
		ev.Try++
	}
	if t.Continue && t.Session != "" && p.Command == "" {
		ev.Session, ev.Resume = t.Session, true
	} else {
		ev.Session = sessionID(s.Config.Run+s.nonce, p.ID, ev.Attempt)
	}
	return ev, false
}

// decideChecks returns the start of an attempt that only checks the work of a turn. It costs nothing and
// does not count as an iteration.
func decideChecks(s *State, i int) event.Body {
	t := &s.Tasks[i]
	return event.AttemptStarted{Task: s.Plan.Tasks[i].ID, Key: t.Key, Wave: t.Wave, Attempt: t.Attempts + 1, Try: t.Tries,
		Iteration: max(1, s.Ledger.Iterations()), Why: event.WhyChecks, Slot: s.slots.nextFree(),
		Session: t.Turn.Result.Session, Advised: t.Advice != nil}
}

// taskBudget returns the plan's budget for a task less its known cost so far; 0: no budget.
func (s *State) taskBudget(i int) budget.USD {
	own := s.Plan.Tasks[i].BudgetUSD
	if own > 0 {
		own = max(own-s.Tasks[i].Cost+s.unknownCost(i), min(own, budget.MinReservation))
	}
	return own
}

// sessionID returns the id of a new CLI session. It is a function of recorded values, so that
// decisions need no randomness. Attempts are counted over the whole run, and run ends with the
// nonce of the wavex session, so ids are unique, also after an older .loop was restored.
func sessionID(run, task string, attempt int) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "wavex:%s/%s/%d", run, task, attempt)).String()
}

// nextWake returns the time at which the loop must decide again without a message, or zero if only a
// message can change anything.
func nextWake(s *State, now time.Time) time.Time {
	var at time.Time
	sooner := func(t time.Time) {
		if t.After(now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if s.Phase == Ended || s.Stop != nil {
		return at
	}
	sooner(s.PauseUntil)
	if w := s.Config.Limits.Wall; w > 0 {
		sooner(s.SessionStart.Add(w))
	}
	for _, i := range s.queue.delayed {
		if s.Tasks[i].Status == event.Pending {
			sooner(s.Tasks[i].NotBefore)
		}
	}
	return at
}

// onSignal returns the decision after a first signal.
func onSignal(s *State, code event.ExitCode, name string) event.Body {
	if s.Phase == Ended || s.Stop != nil && s.Stop.Status == event.RunInterrupted {
		return nil
	}
	return event.Draining{Stop: *event.Interrupt(name, code)}
}
