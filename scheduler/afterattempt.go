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
	if r.Outcome == runner.Done && s.repairsBlocker(id) && !r.Edited() && r.Commit == "" {
		r.Outcome, r.Reason = runner.Wrong, "no file was changed, and the blocker that the task repairs is open"
		r.Signature = runner.Signature(r.Reason, "")
	}
	e := event.AttemptEnded{Task: id, Key: t.Key, Attempt: t.Attempts, Result: r,
		Charged: s.chargesAttempt(i, r), Status: event.Pending, Stuck: t.Stuck}
	switch o := r.Outcome; {
	case o == runner.Done && (s.Config.Isolation == event.Isolated || r.Beside):
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
	case o.Own():
		onOwn(s, i, r, &e)
	case o == runner.Unauthorised:
		e.Stop = outcomeStop(o, "the CLI is not logged in or may not spend: "+r.Reason, "task")
	case o == runner.Broken:
		e.Stop = outcomeStop(o, "the agent could not be run: "+r.Reason, "task")
	case o == runner.Interrupted:
		e.Continue = r.Session != "" && r.Turns > 0 && t.Turn == nil
	}
	if len(r.Violated) > 0 {
		e.Stop = tripMustNot("after task "+id, r.Violated)
	}
	stopOnFailFast(s, &e)
	return e
}

// tripMustNot returns the stop at conditions that must not hold; when says at which time they did.
func tripMustNot(when string, violated []string) *event.Stop {
	return event.Trip(event.MustNot,
		fmt.Sprintf("%s this is true and must not be: %s", when, strings.Join(violated, "; ")),
		"undo it or change the plan's mustNot; resume closes the breaker")
}

// chargesAttempt reports whether an attempt that has ended counts as an iteration. A turn counts when it
// ends, so an attempt that checks the work of an earlier turn does not.
func (s *State) chargesAttempt(i int, r runner.Result) bool {
	open := s.open(attemptKey(s.Plan.Tasks[i].ID, s.Tasks[i].Attempts))
	if open.attempt != nil && open.attempt.turn != nil {
		return true
	}
	return !open.paid && r.Outcome.Charged()
}

// stopOnFailFast stops the run at the first failed task, if the run fails fast.
func stopOnFailFast(s *State, e *event.AttemptEnded) {
	if i, ok := s.Index(e.Task); e.Status != event.Failed || !s.Config.FailFast || e.Stop != nil || ok && s.mayFail(i, 1) {
		return
	}
	if e.Stop = e.TaskStop; e.Stop == nil {
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
	e.Stop = breakerOfRun(s, i, r)
	switch {
	case t.Tries > retries:
		s.fail(i, e, fmt.Sprintf("failed after %d retries", retries))
	case e.Stop != nil: // not this task's fault alone
	default:
		e.TaskStop = breakerOfTask(s, i, r)
	}
	switch {
	case e.Status == event.Failed:
	case e.TaskStop != nil:
		s.fail(i, e, e.TaskStop.Reason)
	case c.Counsel && s.Plan.Tasks[i].Command == "" && e.Stuck >= c.Threshold:
		e.Status = event.Advising
	}
}

// onOwn stops the task, after one free retry in a fresh session where that may help. The same trouble at several
// tasks in a row pauses the run.
func onOwn(s *State, i int, r runner.Result, e *event.AttemptEnded) {
	t, id := &s.Tasks[i], s.Plan.Tasks[i].ID
	mayHelp := r.Outcome == runner.Truncated || r.Outcome == runner.Refused && r.FreshMayHelp && t.Tries <= s.Retries(i)
	if mayHelp && t.FreeRetries == 0 {
		e.Note = "one free retry"
		if r.Outcome == runner.Truncated && t.Turn == nil {
			e.Note = "no readable result; " + e.Note
		}
		return
	}
	if e.Stop = sharedError(s, i, r); e.Stop == nil {
		e.TaskStop = event.Trip(event.Breaker(r.Outcome), fmt.Sprintf("task %s: %s", id, ownReason(r)), ownAdvice(id, r))
		s.fail(i, e, e.TaskStop.Reason)
	}
}

// ownReason says why an attempt at a task ended that no counsel helps, in the words of the agent's program.
func ownReason(r runner.Result) string {
	switch r.Outcome {
	case runner.Truncated:
		return "no readable result, twice: " + r.Reason
	case runner.Refused:
		return "refused: " + r.Reason
	}
	return r.Reason
}

// ownAdvice returns the advice to a person about such a task.
func ownAdvice(id string, r runner.Result) string {
	switch r.Outcome {
	case runner.Truncated:
		return "look at stream.jsonl and stderr.txt of the attempt, then: wavex retry " + id
	case runner.Refused:
		return "change the task, its model or its files, then resume; or: wavex retry " + id
	}
	return allowAdvice(id, r.Denials)
}

// fail settles a task for good and blocks the tasks that depend on it, and no others.
func (s *State) fail(i int, e *event.AttemptEnded, note string) {
	e.Status, e.Note, e.Continue = event.Failed, note, false
	e.Blocked = s.unfinishedDescendants(i, 1)
}

// unfinishedDescendants returns the tasks that can no longer start if a task fails as one of a number of items of its
// group. Descendants that started on its verified work may be verified themselves, or have a running panel.
func (s *State) unfinishedDescendants(i, items int) (ids []string) {
	_, last := s.itemOf(i)
	only := s.mayFail(i, items) // the further steps of the item
	for _, j := range s.Plan.Graph.Descendants(i) {
		if only && (j < i || j > last) {
			continue
		}
		if s.canBlock(j) {
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

// allowAdvice returns the advice to a person about denied tool calls: remove the deny rule that wins, or add the rules
// that would have allowed them and keep the agent in its own directory, or change the hook against which no rule helps.
func allowAdvice(id string, denials []runner.Denial) string {
	var rules, steps []string
	for _, d := range denials {
		switch {
		case d.By != "":
			return fmt.Sprintf("remove the deny rule %s, which wins over allowedTools, or change the task; then: wavex retry %s",
				d.By, id)
		case d.Left != "":
			steps = []string{"name the files in the task by paths below its directory, not " + d.Left}
		case d.Rule != "" && !slices.Contains(rules, d.Rule):
			rules = append(rules, d.Rule)
		}
	}
	if len(rules) > 0 {
		steps = append(steps, fmt.Sprintf("add to the plan's allowedTools: %q", rules))
		return strings.Join(steps, ", ") + ", then resume"
	}
	if len(steps) == 0 {
		steps = []string{"change the task, or the hook that denies its calls; no rule of allowedTools helps"}
	}
	return steps[0] + "; then: wavex retry " + id
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
func (s *State) Retries(i int) int { return s.retriesWith(s.Config, i) }

// retriesWith returns it for a session with a configuration.
func (s *State) retriesWith(c event.Config, i int) int {
	if n := s.Plan.Settings(i).MaxRetries; n != nil && !c.ForceRetries {
		return *n
	}
	return c.MaxRetries
}
