package audit

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"wavex/internal/gaps"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/report"
	"wavex/internal/ui/safe"
	"wavex/internal/verify"
	"wavex/scheduler"
)

// This file makes the checks of a plan and scans its work. It writes nothing.

// look makes all checks and scans the work.
func (a *Audit) look(ctx context.Context) (*gaps.Document, error) {
	name := a.Plan.Name
	if name == "" {
		name = filepath.Base(a.Plan.Path)
	}
	doc := &gaps.Document{Name: name, At: time.Now(), Checks: []gaps.Looked{}}
	a.asked, a.shown = map[string]plan.Check{}, map[string]verify.Evidence{}
	made := map[string]verify.Evidence{} // the same check is made once
	one := func(task, dir string, c plan.Check) (verify.Evidence, error) {
		key := fmt.Sprintf("%s\x00%+v", dir, c)
		if e, ok := made[key]; ok {
			return e, nil
		}
		env := proc.Environ(os.Environ(), map[string]string{proc.RunVar: "verify", proc.AttemptVar: "verify/" + task})
		got, err := verify.Run(ctx, dir, env, []plan.Check{c})
		if err == nil {
			made[key] = got[0]
		}
		return got[0], err
	}
	check := func(task, id, dir, words string, c plan.Check) error {
		e, err := one(task, dir, c)
		if err != nil {
			return err
		}
		if id != "" {
			a.shown[id] = e
		}
		reason := a.Secrets.String(e.Reason)
		doc.Checks = append(doc.Checks, gaps.Looked{Task: task, Check: e.Check, Passed: e.Passed, Reason: reason})
		if e.Passed {
			return nil
		}
		g := gaps.Gap{Type: gaps.CIFailure, Task: task, Check: e.Check, Description: words, Evidence: safe.Block(a.Secrets.String(e.Output))}
		if c.Run == "" {
			g.Type, g.File, g.Evidence = gaps.CheckFailure, a.place(dir, c.File), reason
		}
		if g.Description == "" {
			g.Description = fmt.Sprintf("the check fails: %s", reason)
		}
		doc.Gaps = append(doc.Gaps, g)
		a.asked[g.Key()] = c
		return nil
	}
	for i := range a.Plan.Tasks {
		t := &a.Plan.Tasks[i]
		for _, c := range t.Verify {
			if err := check(t.ID, "", a.Plan.Tasks[i].WorkDir(a.at), "", c); err != nil {
				return nil, err
			}
		}
		for k, c := range t.Criteria {
			if c.Check == nil {
				doc.Open = append(doc.Open, report.DisplayID(t.ID)+": "+c.Text)
			} else if err := check(t.ID, fmt.Sprintf("%s/C-%d", t.ID, k+1), a.Plan.Tasks[i].WorkDir(a.at), "not true: "+c.Text, *c.Check); err != nil {
				return nil, err
			}
		}
	}
	for k, c := range a.Plan.Criteria {
		if c.Check == nil {
			doc.Open = append(doc.Open, c.Text)
		} else if err := check("", fmt.Sprintf("C-%d", k+1), a.at, "not true: "+c.Text, *c.Check); err != nil {
			return nil, err
		}
	}
	for _, c := range a.Plan.MustNot {
		if c.Check == nil {
			doc.Open = append(doc.Open, "must not: "+c.Text)
			continue
		}
		e, err := one("", a.at, *c.Check)
		if err != nil {
			return nil, err
		}
		doc.Checks = append(doc.Checks, gaps.Looked{Check: "must not: " + e.Check, Passed: !e.Passed})
		if e.Passed {
			doc.Gaps = append(doc.Gaps, gaps.Gap{Type: "must_not", Check: e.Check, Description: "this is true and must not be: " + c.Text})
		}
	}
	files, created := a.files()
	doc.Gaps = append(doc.Gaps, gaps.Scan(os.DirFS(a.at), files, created)...)
	doc.Gaps = append(doc.Gaps, gaps.Links(os.DirFS(a.at), a.links())...)
	for _, g := range a.Known {
		if !slices.ContainsFunc(doc.Gaps, func(have gaps.Gap) bool { return have.Key() == g.Key() }) {
			doc.Gaps = append(doc.Gaps, g)
		}
	}
	a.attribute(doc.Gaps)
	return doc, nil
}

// place is a file of a check, relative to the project.
func (a *Audit) place(dir, file string) string {
	rel, err := filepath.Rel(a.at, filepath.Join(dir, filepath.FromSlash(file)))
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

// files lists what tasks declare to write, relative to the project, and what of it they
// declare to create. Tasks that a run has not completed are left out.
func (a *Audit) files() (all, created []string) {
	for i := range a.Plan.Tasks {
		if a.State != nil && a.State.Tasks[i].Status != scheduler.Completed {
			continue
		}
		for _, f := range a.Plan.Tasks[i].Files {
			if !f.Writes() || f.Action == "delete" {
				continue
			}
			name := a.place(a.Plan.Tasks[i].WorkDir(a.at), f.Path)
			all = append(all, name)
			if f.Action == "create" {
				created = append(created, name)
			}
		}
	}
	return all, created
}

// links are the plan's key links; of a run only when all tasks are completed, for before
// that the files are not there yet.
func (a *Audit) links() []gaps.Link {
	if a.State != nil && a.State.Counts.Completed < len(a.State.Tasks) {
		return nil
	}
	var out []gaps.Link
	for _, l := range a.Plan.Links {
		out = append(out, gaps.Link(l))
	}
	return out
}

// attribute names the task that declared a gap's file, where there is one alone.
func (a *Audit) attribute(list []gaps.Gap) {
	owner := map[string]string{}
	for i := range a.Plan.Tasks {
		for _, f := range a.Plan.Tasks[i].Files {
			if name := a.place(a.Plan.Tasks[i].WorkDir(a.at), f.Path); f.Writes() {
				if _, shared := owner[name]; shared {
					owner[name] = ""
				} else {
					owner[name] = a.Plan.Tasks[i].ID
				}
			}
		}
	}
	for k := range list {
		if g := &list[k]; g.Task == "" && g.File != "" {
			g.Task = owner[path.Clean(g.File)]
		}
	}
}
