package run

import (
	"fmt"
	"slices"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/usererr"
	"wavex/runner"
)

// This file keeps a resume from obeying a plan that an attempt changed, until a person agrees. A plan
// that was changed while no attempt ran is a person's.

// checkAgreement returns a *usererr.BlockedError if the plan is not the one that a person started or resumed
// the run with, an attempt changed it since, and the user does not agree. old is the plan before, or nil.
func checkAgreement(events []event.Event, p *plan.Plan, old *plan.Plan, agree func(change string) bool) error {
	digest, tasks := planChanges(events)
	if len(tasks) == 0 || digest == p.Digest || planfile.IsList(p.Path) {
		return nil
	}
	diff := report.PlanDiff(old, p)
	changed := fmt.Sprintf("%s was changed while an attempt at %s was made", p.Path,
		event.ListTasks(tasks, 0))
	if agree != nil && agree(changed+":\n"+diff) {
		return nil
	}
	return usererr.Blocked(fmt.Errorf("%s, and nobody has agreed to it; put it back, or agree with: "+
		"wavex resume %s --accept-plan\n%s", changed, plan.ShellQuote(p.Path), diff))
}

// planChanges returns the digest of the plan with which the last session began, and the tasks of its attempts that
// changed the plan's file.
func planChanges(events []event.Event) (digest string, tasks []string) {
	note := func(task string, r runner.Result) {
		changed := slices.ContainsFunc(r.Tampered, func(t runner.Tamper) bool { return t.Why == runner.WhyPlan })
		if changed && !slices.Contains(tasks, task) {
			tasks = append(tasks, task)
		}
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.RunStarted:
			digest, tasks = b.Digest, nil
		case event.RunResumed:
			digest, tasks = b.Digest, nil
		case event.TurnEnded:
			note(b.Task, b.Turn.Result)
		case event.AttemptEnded:
			note(b.Task, b.Result)
		}
	}
	return digest, tasks
}
