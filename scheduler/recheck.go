package scheduler

import (
	"slices"
	"strings"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// This file decides which checks of completed tasks are repeated before the end, because later work
// may have broken them, and reports the results. It is pure; the checks run elsewhere, together
// with the verification of the criteria.

// Verification is the result of a verification.
type Verification struct {
	Criteria []event.Criterion
	Cost     budget.USD      // micro-dollars
	Rechecks []RecheckResult // one for each of CriteriaStarted.Rechecks, in their order

	Violated []string // texts of the conditions that must not hold and do; only with CriteriaStarted.Before

	// Missing says why declared files of tasks of CriteriaStarted.Earlier are not as their tasks leave
	// them. Changed lists their declared files with other contents than in the earlier run. Both by task.
	Missing map[string]string
	Changed map[string][]string
}

// RecheckResult is the result of one repeated check.
type RecheckResult struct {
	Skipped  bool // it was not repeated, or not often enough to be sure
	Passed   bool
	Flaky    bool // it passed only when it was run again
	Check    string
	ExitCode int
	Duration time.Duration
	Reason   string
	Output   string
}

// checkKey is the identity of a check: equal checks in the same directory have the same result.
type checkKey struct {
	check plan.Check
	dir   string
	task  string // the task, if the command may depend on it
}

func checkKeyOf(t *plan.Task, c plan.Check) checkKey {
	k := checkKey{check: c, dir: t.WorkDir("")}
	if strings.Contains(c.Run, "WAVEX_") { // a variable of the attempt's environment
		k.task = t.ID
	}
	return k
}

// dueRechecks returns the checks that are due: each has passed, and an event since then may have
// changed files. A check that passed after the last change is not due, nor is an equal check. A
// check that was last found broken is always due.
func dueRechecks(s *State) []event.Recheck {
	if s.closing.recheckedAt == s.closing.changeCount {
		return nil
	}
	var due []event.Recheck
	for _, r := range taskChecks(s, func(i int) bool {
		return s.Tasks[i].Status == event.Completed && s.Tasks[i].PassedAt > 0
	}) {
		shown := 0
		for _, id := range r.Tasks {
			i, _ := s.Index(id)
			shown = max(shown, s.Tasks[i].PassedAt)
		}
		broken := slices.ContainsFunc(s.Assessment.Regressions, func(g event.Regression) bool {
			return g.N == r.N && g.Tasks[0] == r.Tasks[0]
		})
		if shown < s.closing.changeCount || broken {
			due = append(due, r)
		}
	}
	return due
}

// taskChecks returns the checks of the tasks that include accepts, equal ones once, without those that hold only
// at their task's own time.
func taskChecks(s *State, include func(i int) bool) []event.Recheck {
	var list []event.Recheck
	at := map[checkKey]int{}
	for i := range s.Tasks {
		p := &s.Plan.Tasks[i]
		if !include(i) {
			continue
		}
		for n, c := range p.Verify {
			if c.Once {
				continue
			}
			k, known := at[checkKeyOf(p, c)]
			if !known {
				k = len(list)
				at[checkKeyOf(p, c)] = k
				list = append(list, event.Recheck{N: n + 1})
			}
			r := &list[k]
			if !slices.Contains(r.Tasks[max(len(r.Tasks)-1, 0):], p.ID) {
				r.Tasks = append(r.Tasks, p.ID)
			}
		}
	}
	return list
}

// onVerification returns the consequences of a verification; err means that it was interrupted.
func onVerification(s *State, b event.CriteriaStarted, v Verification, err error) event.CriteriaEnded {
	e := event.CriteriaEnded{Round: b.Round, Wave: b.Wave, Criteria: v.Criteria, Cost: v.Cost}
	if err != nil {
		e.Criteria, e.Error = nil, err.Error()
		return e
	}
	if len(b.Earlier) > 0 {
		onEarlier(s, b, v, &e)
		return e
	}
	if len(v.Violated) > 0 {
		e.Stop = tripMustNot("before the first attempt", v.Violated)
	}
	if len(b.Rechecks) == 0 {
		return e
	}
	e.Rechecked = &event.RecheckSummary{}
	for k, r := range b.Rechecks {
		got := RecheckResult{Skipped: true}
		if k < len(v.Rechecks) {
			got = v.Rechecks[k]
		}
		if got.Skipped {
			e.Rechecked.Skipped++
			continue
		}
		e.Rechecked.Made++
		if got.Flaky {
			e.Rechecked.Flaky = append(e.Rechecked.Flaky, event.ListTasks(r.Tasks, 0)+": "+got.Check)
		}
		if !got.Passed {
			g := event.Regression{Tasks: r.Tasks, N: r.N, Check: got.Check, ExitCode: got.ExitCode, Duration: got.Duration,
				Reason: got.Reason, Output: got.Output}
			findSuspects(s, &g)
			e.Rechecked.Regressions = append(e.Rechecked.Regressions, g)
		}
	}
	return e
}

// findSuspects fills in the tasks that ended after the check had last passed.
func findSuspects(s *State, r *event.Regression) {
	const most = 20
	shown := 0
	for _, id := range r.Tasks {
		if i, ok := s.Index(id); ok {
			shown = max(shown, s.Tasks[i].PassedAt)
		}
	}
	r.Since, r.EarlierSession = []string{}, shown < s.closing.sessionChange
	for i := range s.Tasks {
		switch {
		case s.Tasks[i].ChangedAt <= shown:
		case len(r.Since) == most:
			r.More++
		default:
			r.Since = append(r.Since, s.Plan.Tasks[i].ID)
		}
	}
}

// checksPassed reports whether the last attempt had checks and all of them passed.
func (t *Task) checksPassed() bool {
	return t.Last != nil && len(t.Last.Checks) > 0 && !failsChecks(t.Last)
}

// failsChecks reports whether a check failed.
func failsChecks(r *runner.Result) bool {
	for _, c := range r.Checks {
		if !c.Passed {
			return true
		}
	}
	return false
}

// markChanged records the end of an attempt at a task in a shared directory. The attempt may have changed files until
// its end, and its checks hold from their beginning on, or after its end if no other attempt worked beside them.
func (s *State) markChanged(t *Task, to event.Status) {
	t.ChangedAt = s.closing.changeCount
	switch passed := t.checksPassed(); {
	case passed && to == event.Completed:
		t.PassedAt = s.closing.changeCount
	case passed && to == event.Verified:
		t.PassedAt = t.checksFrom
	}
}

// markIntegrated records that the checks of the completed tasks of a wave hold on the combined tree after an
// integration. If the integration has a note, these checks are repeated.
func (s *State) markIntegrated(b event.IntegrationEnded) {
	if len(b.Completed) == 0 {
		return
	}
	s.closing.changeCount++
	for _, id := range b.Completed {
		if i, ok := s.Index(id); ok && s.Tasks[i].Status == event.Completed {
			t := &s.Tasks[i]
			t.ChangedAt, t.IntegratedWave = s.closing.changeCount, b.Wave
			if t.checksPassed() {
				t.PassedAt = s.closing.changeCount - 1
			}
		}
	}
	for i := range s.Tasks {
		if t := &s.Tasks[i]; b.Note == "" && t.Status == event.Completed && t.IntegratedWave == b.Wave && t.PassedAt > 0 {
			t.PassedAt = s.closing.changeCount
		}
	}
}
