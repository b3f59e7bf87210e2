package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/runner"
)

// onAttempt returns the consequences of an attempt's end. It is pure. jitter, in [0,1), randomises
// waits.
func onAttempt(s *State, i int, r runner.Result, now time.Time, jitter float64) event.AttemptEnded {
	t := &s.Tasks[i]
	id := s.Plan.Tasks[i].ID
	e := event.AttemptEnded{Task: id, Key: t.Key, Attempt: t.Attempts, Result: r,
		Charged: s.chargesAttempt(i, r), Status: event.Pending, Stuck: t.Stuck}
	switch o := r.Outcome; {
	case o == runner.Done && s.Config.Isolation == event.Isolated:
		e.Status = event.Verified
	case o == runner.Done:
		e.Status = event.Completed
	case o.Stuck():
		onStuck(s, i, r, &e)
	case o == runner.OverCap:
		if own := s.Plan.Tasks[i].BudgetUSD; own > 0 && own-t.Cost-r.Cost < min(own, budget.MinReservation) {
			s.fail(i, &e, fmt.Sprintf("its own budget of %s is spent", own))
		} else {
			e.Continue = r.Session != ""
			e.Note = "the attempt's cap was used up; it continues with more from the run's budget"
		}
	case o == runner.Throttled:
		onThrottled(t, r, now, jitter, &e)
	case o == runner.Limited:
		onLimited(s, r, now, jitter, &e)
	case o == runner.Denied:
		e.Stop = event.NewStop(event.RunBlocked, fmt.Sprintf("task %s: %s", id, r.Reason), allowAdvice(r.Denials))
	case o == runner.Unauthorised:
		e.Stop = outcomeStop(o, "the CLI is not logged in or may not spend: "+r.Reason, "task")
	case o == runner.Broken:
		e.Stop = outcomeStop(o, "the agent could not be run: "+r.Reason, "task")
	case o == runner.Truncated && t.TransientFailures > 0:
		e.Stop = event.NewStop(event.RunBlocked,
			fmt.Sprintf("task %s ended twice without a readable result: %s", id, r.Reason),
			"look at stream.jsonl and stderr.txt of the attempt, then resume")
	case o == runner.Truncated:
		e.Note = "no readable result; one free retry"
	case o == runner.Interrupted:
		e.Continue = r.Session != "" && r.Turns > 0 && t.Turn == nil
	}
	if len(r.Violated) > 0 {
		e.Stop = event.Trip(event.MustNot,
			fmt.Sprintf("after task %s this is true and must not be: %s", id, strings.Join(r.Violated, "; ")),
			"undo it or change the plan's mustNot; resume closes the breaker")
	}
	stopOnFailFast(s, &e)
	return e
}

// chargesAttempt reports whether an attempt that has ended counts as an iteration. A turn counts when it
// ends, so an attempt that checks the work of an earlier turn does not.
func (s *State) chargesAttempt(i int, r runner.Result) bool {
	switch open := s.openWork[attemptKey(s.Plan.Tasks[i].ID, s.Tasks[i].Attempts)].(type) {
	case openChecks:
		return true
	case event.AttemptStarted:
		return open.Why != event.WhyChecks && r.Outcome.Charged()
	}
	return r.Outcome.Charged()
}

// stopOnFailFast stops the run at the first failed task, if the run fails fast.
func stopOnFailFast(s *State, e *event.AttemptEnded) {
	if e.Status == event.Failed && s.Config.FailFast && e.Stop == nil {
		e.Stop = event.NewStop(event.RunFailed, fmt.Sprintf(event.ReasonFailFast, e.Task), "")
	}
}

// outcomeStop returns the stop after an outcome with which no agent had a turn, or nil. work names
// the part that is not at fault.
func outcomeStop(o runner.Outcome, reason, work string) *event.Stop {
	switch o {
	case runner.Limited, runner.Throttled:
		return event.NewStop(event.RunLimited, reason, "nothing is wrong with the "+work+"; resume later")
	case runner.Unauthorised:
		return event.NewStop(event.RunBlocked, reason, "log in with `claude` or set ANTHROPIC_API_KEY, then resume")
	case runner.Broken:
		return event.NewStop(event.RunBlocked, reason, event.AdviceDoctor)
	}
	return nil
}

func onStuck(s *State, i int, r runner.Result, e *event.AttemptEnded) {
	t, c := &s.Tasks[i], s.Config
	e.Stuck++
	e.Continue = s.Plan.Tasks[i].Command == "" && continuesSession(s.retrySession(i), t, r)
	retries := s.Retries(i)
	switch {
	case t.Tries > retries:
		s.fail(i, e, fmt.Sprintf("failed after %d retries", retries))
	case c.Counsel && s.Plan.Tasks[i].Command == "" && e.Stuck >= c.Threshold:
		e.Status = event.Advising
	}
	e.Stop = breakerStop(s, i, r)
}

// fail settles a task for good and blocks the tasks that depend on it, and no others.
func (s *State) fail(i int, e *event.AttemptEnded, note string) {
	e.Status, e.Note, e.Continue = event.Failed, note, false
	e.Blocked = s.unfinishedDescendants(i)
}

// unfinishedDescendants returns the tasks that can no longer start if a task fails.
func (s *State) unfinishedDescendants(i int) (ids []string) {
	for _, j := range s.Plan.Graph.Descendants(i) {
		if !s.Tasks[j].Status.Finished() {
			ids = append(ids, s.Plan.Tasks[j].ID)
		}
	}
	return ids
}

// continuesSession reports whether a retry continues the session of the failed attempt. It does so to keep
// context and cache, unless the context itself seems to be the problem: the same error twice, or a
// stalled process.
func continuesSession(mode string, t *Task, r runner.Result) bool {
	if r.Session == "" {
		return false
	}
	switch mode {
	case "same":
		return true
	case "fresh":
		return false
	}
	if r.Outcome == runner.Stalled {
		return false
	}
	return !t.isSameFailure(r)
}

// breakerStop returns the stop of the breaker that a stuck attempt trips, or nil.
func breakerStop(s *State, i int, r runner.Result) *event.Stop {
	t, c, id := &s.Tasks[i], s.Config, s.Plan.Tasks[i].ID
	same := 1
	if t.isSameFailure(r) {
		same = t.SameError + 1
	}
	if c.SameError > 0 && same >= c.SameError {
		return event.Trip(event.SameError,
			fmt.Sprintf("task %s failed %d times in a row with the same error: %s", id, same, r.Reason),
			"change the task or its checks; resume closes the breaker")
	}
	if c.SameFile > 0 {
		for path, n := range r.Edits {
			if n >= c.SameFile {
				return event.Trip(event.SameFile,
					fmt.Sprintf("task %s edited %s %d times in one attempt and still failed", id, path, n),
					"the agent is thrashing: narrow the task; resume closes the breaker")
			}
		}
	}
	unmet := 1
	if sameChecks(failedChecks(id, r), s.Unmet) {
		unmet = s.UnmetStreak + 1
	}
	if c.SameUnmet > 0 && unmet >= c.SameUnmet {
		return event.Trip(event.SameUnmet, fmt.Sprintf("the same checks stayed unmet %d times: %s", unmet,
			strings.Join(s.Unmet, "; ")),
			"look at the checks; resume closes the breaker")
	}
	return nil
}

// failedChecks returns the checks that failed in a stuck attempt, sorted.
func failedChecks(task string, r runner.Result) []string {
	var out []string
	for _, c := range r.Checks {
		if !c.Passed {
			out = append(out, task+": "+c.Check)
		}
	}
	if len(out) == 0 {
		out = append(out, task+": "+string(r.Outcome))
	}
	slices.Sort(out)
	return out
}

func sameChecks(a, b []string) bool { return len(a) > 0 && slices.Equal(a, b) }

// allowAdvice names the rules that would have allowed the denied tool calls.
func allowAdvice(denials []runner.Denial) string {
	var rules []string
	for _, d := range denials {
		if !slices.Contains(rules, d.Rule) {
			rules = append(rules, d.Rule)
		}
	}
	if len(rules) == 0 {
		return "allow the tool in the plan's allowedTools, then resume"
	}
	return fmt.Sprintf("add to the plan's allowedTools: %q, then resume", rules)
}

// retrySession returns the session mode of a task's retries: from the plan, unless a flag overrides
// it.
func (s *State) retrySession(i int) string {
	if own := s.Plan.Settings(i).RetrySession; own != "" && !s.Config.ForceSession {
		return own
	}
	return s.Config.RetrySession
}

// Retries returns the number of retries that a task has after its first try.
func (s *State) Retries(i int) int {
	if n := s.Plan.Settings(i).MaxRetries; n != nil && !s.Config.ForceRetries {
		return *n
	}
	return s.Config.MaxRetries
}
