package cmd

import (
	"context"
	"fmt"
	"os"
	"time"

	"wavex/internal/plan"
	"wavex/internal/workspace"
	"wavex/scheduler"
)

// This file wires isolation: where attempts work, how their work comes together, and
// how it is handed over.

// trees is the workspace of a run as the scheduler sees it.
type trees struct {
	*session
	space *workspace.Manager
}

// openTrees opens the workspace. The mode it resolves is frozen in the configuration.
func (r *session) openTrees(ctx context.Context) (*trees, error) {
	asked := r.config.Isolation
	space, err := workspace.Open(ctx, treeOptions(r.plan, r.config))
	if err != nil {
		return nil, &blockedError{err}
	}
	r.config.Isolation = space.Mode()
	if asked != workspace.Shared && r.opts.output == "text" {
		fmt.Fprintf(r.std.Err, "wavex: isolation %s: %s\n", space.Mode(), space.Why())
	}
	return &trees{r, space}, nil
}

// treeOptions are those of a run's workspace.
func treeOptions(p *plan.Plan, c scheduler.Config) workspace.Options {
	width := 0
	for _, ids := range waveIDs(p) {
		width = max(width, len(ids))
	}
	if c.Isolation == "" {
		c.Isolation = workspace.Shared // a run of a wavex that knew no other
	}
	return workspace.Options{
		Project: c.Dir, Loop: c.Loop, Run: c.Run, Mode: c.Isolation, Width: width,
		Share: p.Share, Setup: p.Setup, Protect: p.ProtectBranches, NoVerify: c.NoVerify,
		Env: os.Environ(), Now: time.Now, Own: []string{planPath(p)},
		Subject: func(id string) string {
			if i, ok := p.Lookup(id); ok && p.Tasks[i].Subject != "" {
				return p.Tasks[i].Subject
			}
			return "Task " + id
		},
		Title: p.Name,
	}
}

// Integrate brings the work of a wave's tasks together and verifies the whole.
func (t *trees) Integrate(ctx context.Context, wave int, tasks []string) (scheduler.Integrated, error) {
	var done []workspace.Done
	for _, id := range tasks {
		i, ok := t.plan.Lookup(id)
		if !ok {
			continue
		}
		p := &t.plan.Tasks[i]
		done = append(done, workspace.Done{Task: p.ID, Subject: p.Subject, Dir: t.workDir(i), Checks: p.Verify, Files: p.Files})
	}
	got, err := t.space.Integrate(ctx, wave, done)
	if err != nil {
		return scheduler.Integrated{}, err
	}
	out := scheduler.Integrated{Commit: got.Commit, Completed: got.Integrated, Note: got.Note}
	for _, c := range append(got.Culprits, got.Held...) {
		if err := t.space.Reopen(ctx, c.Task); err != nil {
			return scheduler.Integrated{}, err
		}
		out.Culprits = append(out.Culprits, scheduler.Culprit{Task: c.Task, Kind: c.Kind, Reason: c.Reason, Detail: c.Detail})
	}
	return out, nil
}

// Deliver hands the integrated tree over.
func (t *trees) Deliver(ctx context.Context, complete bool) (scheduler.DeliveryEnded, error) {
	how := t.config.Deliver
	if how == "" {
		how = "auto"
	}
	d, err := t.space.Deliver(ctx, how, complete)
	if err != nil {
		return scheduler.DeliveryEnded{}, err
	}
	return scheduler.DeliveryEnded{How: d.How, Ref: d.Ref, Commit: d.Commit, Command: d.Command, Why: d.Why}, nil
}
