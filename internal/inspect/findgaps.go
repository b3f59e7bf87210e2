package inspect

import (
	"cmp"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"wavex/internal/event"
	"wavex/internal/inspect/scan"
)

// This file makes the checks of a plan, and scans the files that its tasks declare. It writes
// nothing.

// findGaps makes all checks and scans the work.
func (a *Inspection) findGaps(ctx context.Context) (*scan.Document, error) {
	name := cmp.Or(a.Plan.Name, filepath.Base(a.Plan.Path))
	doc := &scan.Document{Name: name, Time: time.Now(), Checks: []scan.CheckResult{}}
	if err := a.runChecks(ctx, doc); err != nil {
		return nil, err
	}
	if err := a.scanFiles(doc); err != nil {
		return nil, err
	}
	for _, g := range a.Known {
		if !slices.ContainsFunc(doc.Gaps, func(have scan.Gap) bool { return have.Key() == g.Key() }) {
			doc.Gaps = append(doc.Gaps, g)
		}
	}
	a.assignTasks(doc.Gaps)
	return doc, nil
}

// scanFiles looks for gaps in the files of the work and at the links between them. It follows no
// symbolic link out of the project.
func (a *Inspection) scanFiles(doc *scan.Document) error {
	root, err := os.OpenRoot(a.workDir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // read only
	files, created := a.declaredFiles()
	doc.Gaps = append(doc.Gaps, scan.Files(root.FS(), files, created, a.ownFiles()...)...)
	doc.Gaps = append(doc.Gaps, scan.Links(root.FS(), a.keyLinks())...)
	return nil
}

// ownFiles returns the plan and the outputs of the run, relative to the project. In workDir they have the same paths.
func (a *Inspection) ownFiles() []string {
	c := event.Config{Dir: a.Dir}
	if a.State != nil {
		c.Outputs = a.State.Config.Outputs
	}
	path, err := filepath.Abs(a.Plan.Path)
	if err != nil {
		path = a.Plan.Path
	}
	return c.OwnFiles(path)
}

// relativePath returns a file of a check, relative to the project.
func (a *Inspection) relativePath(dir, file string) string {
	rel, err := filepath.Rel(a.workDir, filepath.Join(dir, filepath.FromSlash(file)))
	if err != nil {
		return file
	}
	return filepath.ToSlash(rel)
}

// declaredFiles returns the files that tasks declare to write, relative to the project, and those among
// them that they declare to create. It omits tasks that a run has not completed.
func (a *Inspection) declaredFiles() (all, created []string) {
	for i := range a.Plan.Tasks {
		if a.State != nil && a.State.Tasks[i].Status != event.Completed {
			continue
		}
		for _, f := range a.Plan.Tasks[i].Files {
			if !f.Writes() || f.Action == "delete" {
				continue
			}
			name := a.relativePath(a.Plan.Tasks[i].WorkDir(a.workDir), f.Path)
			all = append(all, name)
			if f.Action == "create" {
				created = append(created, name)
			}
		}
	}
	return all, created
}

// keyLinks returns the plan's key links. With a run it returns them only if all tasks are completed,
// because the files do not exist before.
func (a *Inspection) keyLinks() []scan.Link {
	if a.State != nil && !a.State.IsDone() {
		return nil
	}
	var out []scan.Link
	for _, l := range a.Plan.Links {
		out = append(out, scan.Link(l))
	}
	return out
}

// assignTasks sets the task of each gap whose file exactly one task declared.
func (a *Inspection) assignTasks(list []scan.Gap) {
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
