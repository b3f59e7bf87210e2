package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// This file holds the breakers of failures. A breaker of a task stops that task only, also in a resume; a breaker of
// the run pauses it, and a resume resets it.

// tasksOfOneError is the number of tasks that must fail in a row with one error to pause the run.
const tasksOfOneError = 3

// breakerOfTask returns the stop of a task that a stuck attempt causes, or nil.
func breakerOfTask(s *State, i int, r runner.Result) *event.Stop {
	t, c, id := &s.Tasks[i], s.Config, s.Plan.Tasks[i].ID
	same := 1
	if t.isSameFailure(r) {
		same = t.SameError + 1
	}
	if c.SameError > 0 && same >= c.SameError {
		return event.Trip(event.SameError,
			fmt.Sprintf("task %s failed %d times in a row with the same error: %s", id, same, r.Reason),
			"change the task or its checks")
	}
	for path, n := range r.Edits {
		if c.SameFile > 0 && n >= c.SameFile {
			return event.Trip(event.SameFile,
				fmt.Sprintf("task %s edited %s %d times in one attempt and still failed", id, path, n),
				"the agent is thrashing: narrow the task")
		}
	}
	return nil
}

// breakerOfRun returns the pause of the run that a stuck attempt causes, or nil.
func breakerOfRun(s *State, i int, r runner.Result) *event.Stop {
	if stop := sharedError(s, i, r); stop != nil {
		return stop
	}
	if n := s.unmetRounds(i, s.unmetStreak(i, r)); s.Config.SameUnmet > 0 && n >= s.Config.SameUnmet {
		return event.Trip(event.SameUnmet, fmt.Sprintf("the same checks stayed unmet %d times: %s", n,
			strings.Join(s.allUnmet(), "; ")), "look at the checks; resume closes the breaker")
	}
	return nil
}

// sharedError returns the pause of the run that an attempt causes because several tasks in a row ended with one error,
// or nil.
func sharedError(s *State, i int, r runner.Result) *event.Stop {
	tasks := s.tasksWithError(s.Plan.Tasks[i].ID, r)
	if s.Config.SameError == 0 || len(tasks) < tasksOfOneError {
		return nil
	}
	ids, then := "", "; resume closes the breaker"
	for _, id := range tasks {
		ids += " " + plan.ShellQuote(id)
	}
	if r.Outcome.Own() { // a resume tries only this task: the ones before are stopped
		then = ", then: " + event.RetryCommand(ids[1:])
	}
	return event.Trip(event.SameError, fmt.Sprintf("%d tasks in a row failed with the same error: %s: %s", len(tasks),
		strings.Join(tasks, ", "), r.Reason), "look for a cause that they share"+then)
}

// failureStreaks counts failures since an attempt was done.
type failureStreaks struct {
	Unmet []string // failing checks of the last stuck attempt, sorted
	// UnmetStreak is the number of rounds in which the checks that fail stayed the same: every stuck
	// task failed so often with them. It is the loop's breaker counter.
	UnmetStreak int

	since          int      // number of attempts that were done; older streaks do not count
	sameError      string   // signature of the last failure
	sameErrorTasks []string // tasks whose failures in a row had it
}

// unmetChecks counts the failures of a task in a row in which the same checks failed.
type unmetChecks struct {
	checks []string
	streak int
	since  int // failureStreaks.since when it began
}

// noteStreak updates the streaks after an attempt. One that has a free retry does not count.
func (s *State) noteStreak(i int, b event.AttemptEnded) {
	switch o := b.Result.Outcome; {
	case o.Stuck():
		s.noteFailure(i, b.Result)
	case o.Own() && (b.TaskStop != nil || b.Stop != nil):
		s.noteError(b.Task, b.Result)
	case o == runner.Done:
		s.noteDone()
	}
}

// noteFailure updates the streaks after a stuck attempt.
func (s *State) noteFailure(i int, r runner.Result) {
	id := s.Plan.Tasks[i].ID
	s.noteError(id, r)
	streak := s.unmetStreak(i, r)
	s.Streaks.Unmet = failedChecks(id, r)
	s.Tasks[i].unmet = unmetChecks{s.Streaks.Unmet, streak, s.Streaks.since}
	s.Streaks.UnmetStreak = s.unmetRounds(i, streak)
}

// noteError updates the tasks in a row that ended with one error.
func (s *State) noteError(id string, r runner.Result) {
	s.Streaks.sameErrorTasks, s.Streaks.sameError = s.tasksWithError(id, r), errorOf(r)
}

// errorOf returns what identifies the error of an attempt across tasks; "": nothing does. How a stream broke off tells
// little, so that all such ends are one.
func errorOf(r runner.Result) string {
	if r.Outcome == runner.Truncated {
		return string(runner.Truncated)
	}
	return r.Signature
}

// noteDone ends all streaks.
func (s *State) noteDone() { s.Streaks = failureStreaks{since: s.Streaks.since + 1} }

// tasksWithError returns the tasks that failed in a row with one error, after a stuck attempt.
func (s *State) tasksWithError(task string, r runner.Result) []string {
	if same := errorOf(r); same == "" || same != s.Streaks.sameError {
		return []string{task}
	}
	if slices.Contains(s.Streaks.sameErrorTasks, task) {
		return s.Streaks.sameErrorTasks
	}
	return append(slices.Clip(s.Streaks.sameErrorTasks), task)
}

// unmetStreak returns the streak of a task after a stuck attempt.
func (s *State) unmetStreak(i int, r runner.Result) int {
	if u := s.Tasks[i].unmet; u.since == s.Streaks.since && slices.Equal(u.checks, failedChecks(s.Plan.Tasks[i].ID, r)) {
		return u.streak + 1
	}
	return 1
}

// unmetRounds returns the shortest streak of the stuck tasks, with n as that of task i.
func (s *State) unmetRounds(i, n int) int {
	for k := range s.Tasks {
		if u := s.Tasks[k].unmet; k != i && u.streak > 0 && u.since == s.Streaks.since {
			n = min(n, u.streak)
		}
	}
	return n
}

// allUnmet returns the checks that failed in the last attempts at all stuck tasks, sorted.
func (s *State) allUnmet() []string {
	var out []string
	for i := range s.Tasks {
		if u := s.Tasks[i].unmet; u.since == s.Streaks.since {
			out = append(out, u.checks...)
		}
	}
	slices.Sort(out)
	return out
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

// stopOfTasks returns the stop of a run in which breakers stopped tasks, or nil. It names them all, without those that
// are not selected.
func stopOfTasks(s *State) *event.Stop {
	var first *event.Stop
	var more []string
	for i := range s.Tasks {
		switch stop := s.Tasks[i].Stop; {
		case stop == nil, !s.Selected(i), s.IsAllowed(i):
		case first == nil:
			first = stop
		default:
			more = append(more, s.Plan.Tasks[i].ID)
		}
	}
	if len(more) == 0 {
		return first
	}
	return event.Trip(first.Breaker, fmt.Sprintf("%s; also stopped: %s", first.Reason, strings.Join(more, ", ")),
		first.Advice)
}
