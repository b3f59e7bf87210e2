package inspect

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"

	"wavex/internal/check"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/report"
	"wavex/internal/textfmt"
)

// This file makes the checks of a plan, each once, and collects their evidence.

// checkRound is one round of checks.
type checkRound struct {
	*Inspection
	doc    *Document
	places check.Places
	made   int            // number of places
	rows   map[string]row // by directory, check and description
}

// row is the place of a required check in the document. gap is -1 if the check passed.
type row struct{ check, gap int }

// runChecks makes every check of the plan. The error is the cause of ctx.
func (a *Inspection) runChecks(ctx context.Context, doc *Document) error {
	a.gapChecks, a.criteriaEvidence = map[string]plan.Check{}, map[string]check.Evidence{}
	c := &checkRound{Inspection: a, doc: doc, rows: map[string]row{},
		places: check.Places{Run: fmt.Sprintf("verify-%d", os.Getpid()), Env: proc.Inherit(os.Environ(), nil)}}
	for i := range a.Plan.Tasks {
		if err := c.task(ctx, &a.Plan.Tasks[i]); err != nil {
			return err
		}
	}
	for k, one := range a.Plan.Criteria {
		if err := c.criterion(ctx, "", fmt.Sprintf("C-%d", k+1), a.workDir, one); err != nil {
			return err
		}
	}
	for _, one := range a.Plan.MustNot {
		if err := c.mustNot(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// task makes the checks of a task and of its criteria.
func (c *checkRound) task(ctx context.Context, t *plan.Task) error {
	for _, one := range t.Verify {
		if one.Once {
			c.doc.SkippedChecks = append(c.doc.SkippedChecks, report.DisplayID(t.ID)+" "+c.Redactor.String(one.Describe()))
			continue
		}
		if err := c.requireCheck(ctx, t.ID, "", t.WorkDir(c.workDir), "", one); err != nil {
			return err
		}
	}
	for k, one := range t.Criteria {
		if err := c.criterion(ctx, t.ID, fmt.Sprintf("%s/C-%d", t.ID, k+1), t.WorkDir(c.workDir), one); err != nil {
			return err
		}
	}
	return nil
}

// criterion makes the check of a criterion; a criterion in prose stays open.
func (c *checkRound) criterion(ctx context.Context, task, id, dir string, one plan.Condition) error {
	if one.Check == nil {
		text := one.Text
		if task != "" {
			text = report.DisplayID(task) + ": " + text
		}
		c.doc.Unverified = append(c.doc.Unverified, text)
		return nil
	}
	return c.requireCheck(ctx, task, id, dir, "not true: "+one.Text, *one.Check)
}

// mustNot makes the check of a condition that must not be true.
func (c *checkRound) mustNot(ctx context.Context, one plan.Condition) error {
	if one.Check == nil {
		c.doc.Unverified = append(c.doc.Unverified, "must not: "+one.Text)
		return nil
	}
	violated, err := c.place("", c.workDir).Violated(ctx, []plan.Condition{one})
	if err != nil {
		return err
	}
	name := one.Check.Describe()
	c.doc.Checks = append(c.doc.Checks, CheckResult{Check: "must not: " + name, Passed: len(violated) == 0})
	if len(violated) > 0 {
		c.doc.Gaps = append(c.doc.Gaps, Gap{Type: "must_not", Check: name,
			Description: "this is true and must not be: " + one.Text})
	}
	return nil
}

// requireCheck makes a check that has to pass; if it fails it adds a gap. id is the check's criterion, ""
// for a task's own check. A check that several tasks share is listed once, with all of them.
func (c *checkRound) requireCheck(ctx context.Context, task, id, dir, words string, one plan.Check) error {
	got, err := c.place(task, dir).Run(ctx, []plan.Check{one})
	if err != nil {
		return err
	}
	e := got[0]
	if id != "" {
		c.criteriaEvidence[id] = e
	}
	key := fmt.Sprintf("%s\x00%+v\x00%s", dir, one, words)
	if r, listed := c.rows[key]; listed {
		c.share(r, task)
		return nil
	}
	reason := c.Redactor.String(e.Reason)
	c.rows[key] = row{len(c.doc.Checks), -1}
	c.doc.Checks = append(c.doc.Checks, CheckResult{Task: task, Check: e.Check, Passed: e.Passed, Reason: reason})
	if e.Passed {
		return nil
	}
	c.rows[key] = row{len(c.doc.Checks) - 1, len(c.doc.Gaps)}
	g := Gap{Type: CIFailure, Task: task, Check: e.Check, Description: words,
		Evidence: textfmt.Block(c.Redactor.String(e.Output))}
	if one.Run == "" {
		g.Type, g.File, g.Evidence = CheckFailure, c.relativePath(dir, one.File), reason
	}
	g.Description = cmp.Or(g.Description, fmt.Sprintf("the check fails: %s", reason))
	c.doc.Gaps = append(c.doc.Gaps, g)
	c.gapChecks[g.Key()] = one
	return nil
}

// share adds a task to a check that is listed already, and to its gap.
func (c *checkRound) share(r row, task string) {
	made := &c.doc.Checks[r.check]
	if task == "" || slices.Contains(made.Owners(), task) {
		return
	}
	made.Tasks = append(made.Owners(), task)
	if r.gap >= 0 {
		c.doc.Gaps[r.gap].Tasks = made.Tasks
	}
}

// place returns where checks run in a directory. The mark of each must be unique, because the processes that a check
// leaves are swept by it.
func (c *checkRound) place(task, dir string) check.Place {
	c.made++
	at := c.places.At(dir, "", fmt.Sprintf("%s/%d", task, c.made), nil)
	at.Memory, at.Files = &c.places.Memory, func() string { return dir }
	return at
}
