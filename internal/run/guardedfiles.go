package run

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/runner"
)

// This file finds what tasks must not change, the plan and the settings, and how their changes are found.

// SettingsFile is the name of the settings file in the project directory.
const SettingsFile = ".wavex.yaml"

// guardedFiles returns the files that attempts at a task must not change.
func (r *Session) guardedFiles(t *plan.Task) (out []runner.Guard) {
	add := func(project, why string) {
		if rel, err := filepath.Rel(filepath.FromSlash(t.SubDir()), filepath.FromSlash(project)); err == nil {
			out = append(out, runner.Guard{Path: filepath.ToSlash(rel), Why: why})
		}
	}
	// In the project itself the detector sees every change of the plan. wavex itself writes to a task list.
	if rel, err := filepath.Rel(r.config.Dir, r.plan.AbsPath()); err == nil && filepath.IsLocal(rel) &&
		!planfile.IsList(r.plan.Path) && r.config.Isolation == event.Isolated {
		add(filepath.ToSlash(rel), runner.WhyPlanCopy)
	}
	for name, why := range settingsFiles {
		if !slices.ContainsFunc(t.Files, func(f plan.File) bool {
			return f.Writes() && strings.HasPrefix(name+"/", path.Join(t.SubDir(), f.Path)+"/")
		}) {
			add(name, why)
		}
	}
	slices.SortFunc(out, func(a, b runner.Guard) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// settingsFiles are the files of a project that later runs obey, and why no attempt should change them.
var settingsFiles = map[string]string{SettingsFile: runner.WhySettings, ".mcp.json": runner.WhyCLI,
	".claude/settings.json": runner.WhyCLI, ".claude/settings.local.json": runner.WhyCLI}

// trees returns how the runner compares the files of the project around attempts at a task.
func (r *Session) trees(p *plan.Plan, i int) *runner.Trees {
	c := &runner.Trees{Store: r.config.Loop.Run(r.config.Run, loop.Contents)}
	c.Own = r.config.OwnFiles(r.plan.AbsPath(), r.config.Track)
	if r.config.Isolation == event.Isolated {
		return c
	}
	related := relatives(p, i)
	for k := range p.Tasks {
		if !related[k] {
			c.Busy = append(c.Busy, p.Tasks[k].Writes()...)
		}
	}
	return c
}

// relatives returns the tasks that cannot run at the same time as a task: itself, those that it waits for, and those
// that wait for it.
func relatives(p *plan.Plan, i int) map[int]bool {
	all := map[int]bool{i: true}
	for todo := []int{i}; len(todo) > 0; todo = todo[1:] {
		for _, b := range p.Graph.Blockers(todo[0]) {
			if !all[int(b)] {
				all[int(b)] = true
				todo = append(todo, int(b))
			}
		}
	}
	for _, d := range p.Graph.Descendants(i) {
		all[d] = true
	}
	return all
}
