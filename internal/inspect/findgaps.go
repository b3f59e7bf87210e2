package inspect

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// This file makes the checks of a plan, and looks at its links. It writes nothing.

// findGaps makes all checks and looks at the links of the plan.
func (a *Inspection) findGaps(ctx context.Context) (*Document, error) {
	name := cmp.Or(a.Plan.Name, filepath.Base(a.Plan.Path))
	doc := &Document{Name: name, Time: time.Now(), Checks: []CheckResult{}}
	if err := a.runChecks(ctx, doc); err != nil {
		return nil, err
	}
	if err := a.checkLinks(doc); err != nil {
		return nil, err
	}
	for _, g := range a.Known {
		if !slices.ContainsFunc(doc.Gaps, func(have Gap) bool { return have.Key() == g.Key() }) {
			doc.Gaps = append(doc.Gaps, g)
		}
	}
	a.assignTasks(doc.Gaps)
	return doc, nil
}

// checkLinks looks at the plan's links; in a run only if all tasks are completed, because before that the files do not
// exist. It follows no symbolic link out of the project.
func (a *Inspection) checkLinks(doc *Document) error {
	if a.State != nil && !a.State.IsDone() {
		return nil
	}
	root, err := os.OpenRoot(a.workDir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // read only
	doc.Gaps = append(doc.Gaps, brokenLinks(root.FS(), a.Plan.Links)...)
	return nil
}

// relativePath returns a file of a check, relative to the project.
func (a *Inspection) relativePath(dir, file string) string {
	rel, err := filepath.Rel(a.workDir, filepath.Join(dir, filepath.FromSlash(file)))
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

// assignTasks sets the task of each gap whose file exactly one task declared.
func (a *Inspection) assignTasks(list []Gap) {
	owner := map[string]string{}
	for i := range a.Plan.Tasks {
		for _, f := range a.Plan.Tasks[i].Files {
			if name := a.relativePath(a.Plan.Tasks[i].WorkDir(a.workDir), f.Path); f.Writes() {
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
