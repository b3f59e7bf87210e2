package run

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/usererr"
	"wavex/runner"
)

// This file keeps a resume from obeying a plan that an attempt changed, until a person agrees. A plan
// that was changed while no attempt ran is a person's.

// CheckAgreement returns a *usererr.BlockedError if the plan is not the one that a person started or resumed
// the run with, an attempt changed it since, and the user does not agree. agree may be nil.
func CheckAgreement(events []event.Event, c event.Config, p *plan.Plan, agree func(change string) bool) error {
	digest, tasks := planChanges(events, func(b event.AttemptStarted) bool { return changedAfter(p, c, b) })
	if len(tasks) == 0 || digest == p.Digest || planfile.IsList(p.Path) {
		return nil
	}
	diff := report.PlanDiff(runlog.SavedPlan(c.Loop, c.Run), p)
	changed := fmt.Sprintf("%s was changed while an attempt at %s was made", p.Path,
		event.ListTasks(tasks, 0))
	if agree != nil && agree(changed+":\n"+diff) {
		return nil
	}
	return usererr.Blocked(fmt.Errorf("%s, and nobody has agreed to it; put it back, or agree with: "+
		"wavex resume %s --accept-plan\n%s", changed, plan.ShellQuote(p.Path), diff))
}

// changedAfter reports whether the plan's file was changed after the last output of an attempt.
func changedAfter(p *plan.Plan, c event.Config, b event.AttemptStarted) bool {
	file, err := os.Stat(p.AbsPath())
	if err != nil {
		return false
	}
	last, err := os.Stat(c.Loop.Task(c.Run, b.Task, loop.Attempt(b.Attempt), loop.StreamFile))
	return err != nil || file.ModTime().After(last.ModTime()) // without output it did nothing
}

// planChanges returns the digest of the plan with which the last session began, and the tasks whose attempts since
// then changed the plan's file: one whose copy of the plan was integrated, too, and one whose end wavex did not see, if
// the file is not younger than the attempt's last sign of life.
func planChanges(events []event.Event, young func(event.AttemptStarted) bool) (digest string, tasks []string) {
	session := events
	for n, e := range events {
		if e.Beginning() != nil {
			session = events[n:]
		}
	}
	last := report.LastRun(session)
	for _, id := range slices.Sorted(maps.Keys(last.Attempts)) {
		changed, copied := false, false
		for _, a := range last.Attempts[id] {
			for _, t := range a.Tampered {
				changed = changed || t.Why == runner.WhyPlan
				copied = copied || t.Why == runner.WhyPlanCopy
			}
			open := !a.Turned && a.End == nil && a.Why != event.WhyChecks
			changed = changed || copied && a.Integrated || open && !young(a.AttemptStarted)
		}
		if changed {
			tasks = append(tasks, id)
		}
	}
	return last.Last.Digest, tasks
}
