package inspect

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
	"wavex/internal/workspace"
	"wavex/scheduler"
)

// This file connects a verification outside a session with the run: it finds the run's work, and
// records in the run that some of it no longer holds, or adds tasks to it that close gaps.

// withWork calls look with the directory of the run's work: the project's directory, or, while the
// work of an isolated run is not part of the project's checkout, a tree that holds it.
func (a *Inspection) withWork(ctx context.Context, look func() error) (err error) {
	s := a.State
	if s == nil {
		return look()
	}
	warn := func(err error) { fmt.Fprintln(a.Warn, "wavex: warning:", err) }
	space, err := workspace.Reattach(ctx, s.Plan, s.Config, warn)
	if err != nil {
		return usererr.Blocked(err)
	}
	if space == nil {
		return look()
	}
	defer func() { err = errors.Join(err, space.Close(context.WithoutCancel(ctx))) }()
	delivered, err := space.IsInCheckout(ctx)
	if err != nil {
		return usererr.Blocked(err)
	}
	if delivered {
		return look()
	}
	fmt.Fprintf(a.Warn, "wavex: the work of run %s is not in the checkout; looking at it on its branch\n", s.Config.Run)
	return space.WithIntegrated(ctx, func(dir string) error {
		a.workDir = dir
		defer func() { a.workDir = a.Dir }()
		return look()
	})
}

// journalResult records which criteria are met now, if that differs from the run's state. If any no
// longer holds, a complete run is no longer complete: it loses its exit signal, and a resume
// continues it.
func (a *Inspection) journalResult(doc *Document) error {
	if a.State == nil {
		return nil
	}
	ev := event.CriteriaEnded{Round: 1}
	changed := false
	for _, c := range a.State.Assessment.Criteria {
		ev.Round = max(ev.Round, c.Round+1)
		if e, ok := a.criteriaEvidence[c.ID]; ok && e.Passed != c.Met {
			changed = true
			c.Met = e.Passed
			c.Verification = e.Kind
			c.Check = e.Check
			c.ExitCode = e.ExitCode
			c.Duration = e.Duration
			c.Digest = e.Digest
			c.Evidence, c.Files = strings.TrimSpace(e.Output+"\n"+e.Reason), nil
		}
		ev.Criteria = append(ev.Criteria, c)
	}
	for i := range ev.Criteria {
		if _, ok := a.criteriaEvidence[ev.Criteria[i].ID]; ok {
			ev.Criteria[i].Round = ev.Round
		}
	}
	var bodies []func() event.Body
	if changed {
		bodies = append(bodies, func() event.Body { return ev })
	}
	var failing []string
	for _, c := range doc.Checks {
		if !c.Passed {
			failing = append(failing, strings.TrimSpace(strings.Join(c.Owners(), ", ")+" "+c.Check))
		}
	}
	if end := a.State.Ended; end != nil && end.Status == event.RunComplete && failing != nil {
		bodies = append(bodies, func() event.Body { return scheduler.EndGateAfterVerify(a.State, failing) },
			func() event.Body { return scheduler.EndAfterVerify(a.State) })
	}
	return a.record(bodies...)
}

// record appends records to the run.
func (a *Inspection) record(bodies ...func() event.Body) error {
	if bodies == nil {
		return nil
	}
	to := runlog.Appender{State: a.State, Events: a.Events}
	err := to.Append(a.Warn, bodies...)
	a.Events = to.Events
	return err
}

// Record records the number of gaps, unless it is on record already and no round of fixing has found it. stop is the
// reason why fixing leaves them open, or "".
func (a *Inspection) Record(doc *Document, round, rounds int, stop string) error {
	if a.State == nil || round == 0 && len(doc.Gaps) == a.lastGaps() {
		return nil
	}
	return a.record(func() event.Body {
		return event.Inspected{Gaps: len(doc.Gaps), Round: min(round, rounds), Rounds: rounds, Stop: stop}
	})
}

// lastGaps returns the number of gaps that is on record for the last session, or -1.
func (a *Inspection) lastGaps() int {
	if last := report.LastRun(a.Events); last.Inspected {
		return last.Inspection.Gaps
	}
	return -1
}

// AddRemediation adds a task for each gap. A gap that several tasks share is one gap.
func (a *Inspection) AddRemediation(doc *Document, round, rounds int) error {
	var list []scheduler.Remediation
	seen := map[string]bool{}
	for _, g := range doc.Gaps {
		c, asked := a.gapChecks[g.Key()]
		key, dir := g.Key(), ""
		if asked {
			if i, ok := a.Plan.Lookup(g.Task); ok && g.Task != "" {
				dir = a.Plan.Tasks[i].SubDir()
			}
			// The same check is one gap for all its tasks, but a command is another gap in
			// another directory.
			key = strings.Join([]string{g.Type, g.File, g.Check, dir}, "\x00")
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		m := scheduler.Remediation{For: g.Type + " " + g.File + g.Check,
			Subject: textfmt.Line("Close the gap: " + g.Description),
			Description: fmt.Sprintf("This was found when the work was verified:\n\n%s\n%s\n", g.XML(strconv.Itoa(round),
				strconv.Itoa(rounds)), g.Strategy())}
		if asked {
			m.Checks, m.Dir = []plan.Check{c}, dir
		} else if g.Type == Stub {
			m.Files = []string{g.File} // other gaps may have to be closed in other files
		}
		list = append(list, m)
	}
	ev, err := scheduler.OnFindings(a.State, round, list)
	if err != nil {
		return err
	}
	return a.record(func() event.Body { return ev })
}
