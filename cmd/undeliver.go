package cmd

import (
	"context"
	"errors"
	"fmt"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/runlog"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
	"wavex/internal/workspace"
)

// This file is the rollback of a run in worktrees: it undoes the delivery.

// undeliver prints how the delivery is undone, and undoes it.
func (b *rollback) undeliver(ctx context.Context) (err error) {
	_ = proc.Subreaper() // lets wavex find git's helper processes sooner
	space, err := workspace.Reattach(ctx, b.s.Plan, b.s.Config)
	if err != nil {
		return usererr.Blocked(err)
	}
	defer func() { err = errors.Join(err, space.Close(context.WithoutCancel(ctx))) }()
	u, err := space.PlanUndelivery(ctx)
	var obstacle *gitwork.Error
	if errors.As(err, &obstacle) {
		return usererr.Blocked(fmt.Errorf("nothing was changed: %w", err))
	}
	if err != nil {
		return err
	}
	out := b.std.Out
	fmt.Fprintf(out, "%s goes back from %.10s to %.10s, the commit before the delivery; the work stays on %s\n", u.Branch,
		u.From, u.To, u.Ref)
	for _, c := range u.Changes {
		fmt.Fprintf(out, "%-10s %s\n", c.Action, textfmt.Line(c.Path))
	}
	if !b.confirm() {
		return nil
	}
	if err := space.Undeliver(ctx, u); err != nil {
		return usererr.Blocked(err)
	}
	a := runlog.Appender{State: b.s, Events: b.events}
	if err := a.Append(b.std.Err, func() event.Body {
		return event.DeliveryEnded{How: "branch", Undone: true, Ref: u.Ref, Commit: u.From,
			Command: "git merge --ff-only " + plan.ShellQuote(u.Ref), Why: "its delivery to " + u.Branch + " was undone"}
	}); err != nil {
		return err
	}
	fmt.Fprintf(out, "the delivery is undone; deliver the work again with: wavex deliver %s\n", b.s.Config.Run)
	return nil
}
