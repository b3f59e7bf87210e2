package inspect

import (
	"fmt"
	"strconv"
	"strings"

	"wavex/internal/event"
	"wavex/internal/inspect/scan"
	"wavex/internal/plan"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// This file turns gaps into tasks of the run.

// AddRemediation adds a task for each gap. A gap that several tasks share is one gap.
func (a *Inspection) AddRemediation(doc *scan.Document, round, rounds int) error {
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
		} else if g.Type == scan.Stub {
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
