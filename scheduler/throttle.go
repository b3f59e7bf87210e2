package scheduler

import (
	"fmt"
	"time"

	"wavex/internal/event"
	"wavex/runner"
)

// This file decides the waits that are not the task's fault: after an API that throttles or fails, and
// until a usage limit resets.

// throttleWait bounds the wait after throttling: full jitter from zero to the bound, but at least
// the wait that the API asks for.
const throttleWait = 30 * time.Second

func onThrottled(t *Task, r runner.Result, now time.Time, jitter float64, e *event.AttemptEnded) {
	wait := max(time.Duration(jitter*float64(throttleWait)), r.RetryAfter)
	if t.TransientFailures > 0 {
		e.Stop = outcomeStop(r.Outcome, "the API keeps refusing or failing: "+r.Reason, "tasks")
		e.Stop.ResumeAt = now.Add(max(wait, 5*time.Minute))
		return
	}
	e.NotBefore = now.Add(wait)
	e.Note = fmt.Sprintf("not the task's fault; again in %s", wait.Round(time.Second))
}

// resetJitter bounds the random delay after the reset of a usage limit. It spreads the starts, and
// keeps them after the reset if clocks differ a little.
const resetJitter = 30 * time.Second

// resetPast bounds the age of a reported reset time that is believed: the attempt takes a while to
// end after the report. An older time does not belong to the current limit.
const resetPast = time.Minute

func onLimited(s *State, r runner.Result, now time.Time, jitter float64, e *event.AttemptEnded) {
	at := r.ResetsAt
	switch {
	case now.Sub(at) > resetPast:
		at = now.Add(5 * time.Minute) // no time was given: retry later, not at once
	case at.Before(now):
		at = now
	}
	at = at.Add(time.Second + time.Duration(jitter*float64(resetJitter)))
	if at.Sub(now) <= s.Config.WaitForReset {
		e.PauseUntil = at
		e.Note = "usage limit; waiting until " + at.UTC().Format(time.RFC3339)
		return
	}
	e.Stop = event.NewStop(event.RunLimited, "usage limit: "+r.Reason, event.AdviceLimit)
	e.Stop.ResumeAt = at.UTC().Truncate(time.Second)
}
