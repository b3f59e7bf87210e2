package workspace

import (
	"maps"
	"slices"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/plan"
)

// This file reads from the journal the facts from which gitwork repairs a run after a failure of the machine.

// record returns the work of the run with the configuration c as the journal has it, or nil if the run is new.
func record(events []event.Event, p *plan.Plan, c event.Config) *gitwork.Record {
	var r *gitwork.Record
	for _, e := range events {
		if b, begins := e.Body.(event.RunStarted); begins {
			if r = nil; b.Config.Run == c.Run {
				r = &gitwork.Record{Began: e.Time, Base: b.Config.Base, Work: map[string]string{}}
			}
		}
		if r == nil {
			continue
		}
		switch b := e.Body.(type) {
		case event.RunResumed:
			if b.Edit != nil {
				maps.DeleteFunc(r.Work, func(task, _ string) bool { return slices.Contains(b.Edit.Rerun, task) })
			}
		case event.AttemptEnded:
			if delete(r.Work, b.Task); b.Status == event.Verified || b.Status == event.Completed {
				r.Work[b.Task] = b.Result.Commit
			}
		case event.IntegrationEnded:
			addIntegration(r, b, p, c)
		case event.RolledBack:
			undo(r, b.Tasks)
		case event.DeliveryStarted:
			r.Delivering = true
		case event.DeliveryEnded:
			if r.Delivering = false; b.How == "ff" {
				r.Delivered = b.Commit
			}
		}
	}
	return r
}

// addIntegration adds an integration to r.
func addIntegration(r *gitwork.Record, b event.IntegrationEnded, p *plan.Plan, c event.Config) {
	for _, back := range b.Reopened {
		delete(r.Work, back.Task)
	}
	in := gitwork.RecordedIntegration{Wave: b.Wave, Commit: b.Commit, Commits: b.Commits}
	for _, id := range b.Completed {
		done := gitwork.VerifiedTask{Task: id}
		if i, ok := p.Lookup(id); ok {
			done = verifiedTask(&p.Tasks[i], c.Dir)
		}
		in.Done = append(in.Done, done)
	}
	if len(in.Done) > 0 {
		r.Integrations = append(r.Integrations, in)
	}
}

// undo removes the work of tasks from r, and the integrations from the first one with such work on.
func undo(r *gitwork.Record, tasks []string) {
	for _, task := range tasks {
		delete(r.Work, task)
	}
	n := slices.IndexFunc(r.Integrations, func(in gitwork.RecordedIntegration) bool {
		return slices.ContainsFunc(in.Done, func(d gitwork.VerifiedTask) bool { return slices.Contains(tasks, d.Task) })
	})
	if n >= 0 {
		r.Integrations = r.Integrations[:n]
	}
}

// verifiedTask returns a task of a project in dir for an integration.
func verifiedTask(p *plan.Task, dir string) gitwork.VerifiedTask {
	return gitwork.VerifiedTask{Task: p.ID, Subject: p.Subject, Dir: p.WorkDir(dir), Checks: p.Verify, Files: p.Files}
}
