package run

import (
	"context"
	"fmt"
	"slices"

	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
)

// This file finds the tasks whose work a resumed run has to look at before it goes on. The run itself makes their
// checks.

// moved reports whether the run may have worked in another folder or clone before, and restores the files of a shared
// directory here.
func (r *Session) moved(ctx context.Context) bool {
	if r.config.Isolation == event.Isolated || r.config.MadeUp {
		return false // its commits are there, or its copy of the project is in .loop
	}
	fresh, err := r.workspace.RestoreShared(ctx, r.state.Config.Base, r.plan.AbsPath(), r.notice)
	if err != nil {
		r.warn(fmt.Errorf("the files of the run are not restored: %w", err))
	}
	return fresh || !planfile.SamePath(r.state.Config.Dir, r.config.Dir)
}

// doubtfulWork returns these tasks, and prints which they are. The state is that before the resume, in which the run
// may be one of a rehearsal. edit is the change of the plan since then, and moved is as in moved.
func (r *Session) doubtfulWork(edit *event.Edit, moved bool) []event.EarlierTask {
	evidence := r.state.TaskEvidence()
	switch {
	case r.config.Isolation == event.Isolated:
		return r.adoptedWork(edit, evidence)
	case moved:
		return r.completedElsewhere(evidence)
	}
	return nil
}

// completedElsewhere returns the completed tasks of the run.
func (r *Session) completedElsewhere(evidence []event.Evidence) (out []event.EarlierTask) {
	for i := range r.state.Tasks { // with those that the run added
		t := &r.state.Tasks[i]
		if t.Status != event.Completed {
			continue
		}
		e := event.EarlierTask{Task: r.state.Plan.Tasks[i].ID, Key: t.Key, Run: r.config.Run, Evidence: evidence[i].Kind,
			Basis: evidence[i].Basis, Output: r.state.Output(i)}
		if t.Earlier != nil {
			e = *t.Earlier
		}
		out = append(out, e)
	}
	if n := len(out); n > 0 {
		r.notice(fmt.Sprintf("the run may have worked in another folder or clone: the checks of its %s are made first, "+
			"and tasks whose work is not here run again", report.Plural(n, "completed task", "completed tasks")))
	}
	return out
}

// adoptedWork returns the tasks that the branch of the run has, and that no record completes.
func (r *Session) adoptedWork(edit *event.Edit, evidence []event.Evidence) []event.EarlierTask {
	if r.state.Config.Agent == agent.Rehearsal && !r.opts.Agent.IsRehearsal() {
		return nil
	}
	commits := r.workspace.Adopted()
	var out []event.EarlierTask
	var ids []string
	for i := range r.plan.Tasks {
		p, t := &r.plan.Tasks[i], &r.state.Tasks[i]
		if commits[p.ID] == "" || p.Output != nil || t.Status == event.Completed ||
			edit != nil && (slices.Contains(edit.Changed, p.ID) || slices.Contains(edit.Rerun, p.ID)) {
			continue
		}
		kind, basis := evidenceOfCommit(p)
		if t.Status == event.Verified { // there is a record of it
			kind, basis = evidence[i].Kind, evidence[i].Basis
		}
		out = append(out, event.EarlierTask{Task: p.ID, Key: t.Key, Run: r.config.Run, Commit: commits[p.ID],
			Evidence: kind, Basis: basis, Rehearsed: r.opts.Agent.IsRehearsal()})
		ids = append(ids, p.ID)
	}
	if len(ids) > 0 {
		r.notice(fmt.Sprintf("the branch of the run on the remote has work that is not on record: %s; "+
			"its checks are made before anything else, and its cost is unknown", event.ListTasks(ids, 0)))
	}
	return out
}

// evidenceOfCommit returns the evidence of a task with a commit whose checks pass. No record says whether they failed
// before.
func evidenceOfCommit(p *plan.Task) (kind string, basis event.Basis) {
	isRun := func(c plan.Check) bool { return c.Run != "" }
	writes := func(f plan.File) bool { return f.Writes() }
	switch {
	case p.Command != "":
		return event.ExecutionOutput, event.Ran
	case slices.ContainsFunc(p.Verify, isRun):
		return event.ExecutionOutput, event.Changed
	case len(p.Verify) > 0, slices.ContainsFunc(p.Files, writes):
		return event.Observation, event.Changed
	}
	return event.Assumption, event.Unproven
}
