package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"wavex/internal/gaps"
	"wavex/internal/record"
	"wavex/internal/refuse"
	"wavex/internal/site"
	"wavex/internal/workspace"
	"wavex/scheduler"
)

// This file is what a verification outside of a session has to do with the run: where the
// run's work is, and what it means for the run that some of it does not hold any more.

// within calls look where the run's work is: in the project's directory, or, while the work
// of an isolated run is not part of the project's checkout, in a tree that holds it.
func (a *Audit) within(ctx context.Context, look func() error) (err error) {
	s := a.State
	if s == nil || s.Config.Isolation != scheduler.Isolated || !workspace.Known(s.Config.Loop, s.Config.Run) {
		return look()
	}
	space, err := site.Reattach(ctx, s.Plan, s.Config)
	if err != nil {
		return refuse.Blocked(err)
	}
	defer func() { err = errors.Join(err, space.Close(context.WithoutCancel(ctx))) }()
	taken, err := space.Taken(ctx)
	if err != nil {
		return refuse.Blocked(err)
	}
	if taken {
		return look()
	}
	fmt.Fprintf(a.Warn, "wavex: the work of run %s is not in the checkout; looking at it on its branch\n", s.Config.Run)
	return space.Standing(ctx, func(dir string) error {
		a.at = dir
		defer func() { a.at = a.Dir }()
		return look()
	})
}

// settle puts on record which criteria are met now, where that is not what the run knows.
// A run that is complete and of which anything does not hold any more is not: its exit
// signal is taken back, and a resume goes on with it.
func (a *Audit) settle(doc *gaps.Document) error {
	if a.State == nil {
		return nil
	}
	ev := scheduler.CriteriaEnded{Round: 1}
	changed := false
	for _, c := range a.State.Criteria {
		ev.Round = max(ev.Round, c.Round+1)
		if e, ok := a.shown[c.ID]; ok && e.Passed != c.Met {
			changed = true
			c.Met, c.Verification, c.Check, c.ExitCode, c.Duration, c.Digest = e.Passed, e.Kind, e.Check, e.ExitCode, e.Duration, e.Digest
			c.Evidence, c.Files = strings.TrimSpace(e.Output+"\n"+e.Reason), nil
		}
		ev.Criteria = append(ev.Criteria, c)
	}
	for i := range ev.Criteria {
		if _, ok := a.shown[ev.Criteria[i].ID]; ok {
			ev.Criteria[i].Round = ev.Round
		}
	}
	var bodies []func() scheduler.Body
	if changed {
		bodies = append(bodies, func() scheduler.Body { return ev })
	}
	var against []string
	for _, c := range doc.Checks {
		if !c.Passed {
			against = append(against, strings.TrimSpace(c.Task+" "+c.Check))
		}
	}
	if end := a.State.Ended; end != nil && end.Status == "complete" && against != nil {
		bodies = append(bodies, func() scheduler.Body { return scheduler.Unsettled(a.State, against) },
			func() scheduler.Body { return scheduler.AfterVerification(a.State) })
	}
	if bodies == nil {
		return nil
	}
	to := record.Amendment{State: a.State, Events: a.Events}
	err := to.Add(a.Warn, bodies...)
	a.Events = to.Events
	return err
}
