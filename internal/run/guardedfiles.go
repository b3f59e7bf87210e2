package run

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/runner"
)

// This file finds what tasks must not change because they are judged by it: the plan, wavex's own folder, and the
// checks on whose files the runner has an eye.

// SettingsFile is the name of the settings file in the project directory.
const SettingsFile = ".wavex.yaml"

// guardedFiles returns the files that attempts at a task must not change.
func (r *Session) guardedFiles(t *plan.Task) (out []runner.Guard) {
	add := func(project, why string, tools bool) {
		rel, err := filepath.Rel(filepath.FromSlash(t.SubDir()), filepath.FromSlash(project))
		if err == nil && filepath.IsLocal(rel) {
			out = append(out, runner.Guard{Path: filepath.ToSlash(rel), Why: why, Tools: tools})
		}
	}
	// A task list is not guarded: wavex itself writes to it during the run.
	if rel, err := filepath.Rel(r.config.Dir, planfile.AbsPath(r.plan)); err == nil && filepath.IsLocal(rel) &&
		!planfile.IsList(r.plan.Path) {
		// In the project itself the baseline of an attempt shows every change of it.
		if r.config.Isolation == event.Isolated {
			add(filepath.ToSlash(rel), runner.WhyPlanCopy, false)
		} else {
			add(filepath.ToSlash(rel), runner.WhyPlan, true)
		}
	}
	add(loop.Name, whyLoopDir, true)
	if !slices.ContainsFunc(t.Files, func(f plan.File) bool { return f.Writes() && path.Clean(f.Path) == SettingsFile }) {
		add(SettingsFile, runner.WhySettings, false)
	}
	return out
}

// maxOtherChecks bounds the checks of other tasks whose files are watched during an attempt.
const maxOtherChecks = 100

// plannedChecks are the checks and declared files of a plan, in its order.
type plannedChecks struct {
	plan     *plan.Plan
	criteria []runner.OtherCheck
	tasks    []taskChecks
}

type taskChecks struct {
	checks []runner.OtherCheck
	writes []string // paths of the project
}

func newPlannedChecks(p *plan.Plan) *plannedChecks {
	c := &plannedChecks{plan: p, tasks: make([]taskChecks, len(p.Tasks))}
	for k := range p.Criteria {
		c.criteria = appendCheck(c.criteria, fmt.Sprintf("C-%d", k+1), "", p.Criteria[k].Check)
	}
	for i := range p.Tasks {
		t, of := &p.Tasks[i], &c.tasks[i]
		for k := range t.Verify {
			of.checks = appendCheck(of.checks, t.ID, t.SubDir(), &t.Verify[k])
		}
		for k := range t.Criteria {
			of.checks = appendCheck(of.checks, fmt.Sprintf("%s/C-%d", t.ID, k+1), t.SubDir(), t.Criteria[k].Check)
		}
		of.writes = t.Writes()
	}
	return c
}

func appendCheck(to []runner.OtherCheck, owner, dir string, c *plan.Check) []runner.OtherCheck {
	if c == nil || c.Run == "" {
		return to
	}
	return append(to, runner.OtherCheck{Owner: owner, Dir: dir, Check: *c})
}

// checkFiles returns the checks of others than a task, and the files that tasks may change. Of many checks it prefers
// those of the tasks that follow.
func (r *Session) checkFiles(p *plan.Plan, i int) *runner.CheckFiles {
	if r.planned == nil || r.planned.plan != p {
		r.planned = newPlannedChecks(p)
	}
	c := &runner.CheckFiles{Store: r.config.Loop.Run(r.config.Run, loop.CheckFiles), Under: p.Tasks[i].SubDir(),
		Others: slices.Clone(r.planned.criteria)}
	related := relatives(p, i)
	for k := range p.Tasks {
		next := (i + k) % len(p.Tasks)
		t := &r.planned.tasks[next]
		if len(c.Others) < maxOtherChecks {
			c.Others = append(c.Others, t.checks...)
		}
		c.Planned = append(c.Planned, t.writes...)
		if r.config.Isolation != event.Isolated && !related[next] {
			c.Busy = append(c.Busy, t.writes...)
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

// protectedPaths returns the paths that the plan lets no task change, or nil.
func protectedPaths(p *plan.Plan, t *plan.Task) *runner.Protect {
	if len(p.ProtectPaths) == 0 {
		return nil
	}
	return &runner.Protect{Patterns: p.ProtectPaths, Under: t.SubDir()}
}
