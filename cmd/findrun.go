package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
)

// This file finds the run that a command's arguments name.

// planPath returns the plan file in args, or the default one.
func planPath(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	path, err := defaultPlan()
	if err == nil && path == "" {
		err = usage("there is no plan here, neither plan.json nor plan.yaml nor plan.yml; " +
			"name a plan file, or make one with: wavex new")
	}
	return path, err
}

// findTask returns the id of a task that is given by its id, or by the id that lists show to people.
func findTask(p *plan.Plan, id string) (string, error) {
	if i, ok := p.Lookup(id); ok {
		return p.Tasks[i].ID, nil
	}
	var ids []string
	for i := range p.Tasks {
		own := p.Tasks[i].ID
		if strings.EqualFold(own, id) || report.DisplayID(own) == report.DisplayID(id) {
			return own, nil
		}
		ids = append(ids, own)
	}
	if g := p.Group(id); g != nil {
		return "", groupError(p, g)
	}
	return "", usage("there is no task %s in %s; wavex graph lists them%s", textfmt.Line(id), p.Path,
		plan.DidYouMean(id, ids))
}

// groupError returns the error of a command that takes a task and got a list.
func groupError(p *plan.Plan, g *plan.Group) error {
	switch {
	case !g.Known:
		return usage("%s is a list that is not known yet", textfmt.Line(g.ID))
	case len(g.Tasks) == 0:
		return usage("%s is a list without items", textfmt.Line(g.ID))
	}
	tasks := plan.IDs(p, g.All())
	return usage("%s is a list; name one of its tasks: %s", textfmt.Line(g.ID), textfmt.FirstOf(tasks, 5, 0))
}

// findRun returns a run with the state of its journal and the current plan. args is empty (the last
// run in .loop, see projectDir), a plan file (the last run in its project directory), or the id of a run in .loop.
// Like the functions below it says where that is; not so with an empty Stdio.
func findRun(args []string, std Stdio) (*runlog.History, error) {
	return loadRun(args, std, findLoopDir, runlog.Load)
}

// findRunWithPlan is like findRun, for commands that go on with a run: if only its plan file is missing or has
// mistakes, that is an obstacle.
func findRunWithPlan(args []string, std Stdio) (*runlog.History, error) {
	past, err := findRun(args, std)
	if err == nil {
		return past, nil
	}
	if _, wrong := findStoredRun(args, std); wrong != nil {
		return nil, err
	}
	return nil, planInTheWay(err)
}

// planInTheWay returns an error about the plan file of a run as an obstacle.
func planInTheWay(err error) error {
	var bad *planfile.PlanError
	var use *usererr.UsageError
	switch {
	case errors.As(err, &bad):
		return usererr.Blocked(errors.New(err.Error() + "; the run needs its plan: mend the file, or put the old one back"))
	case errors.As(err, &use):
		return usererr.Blocked(errors.New(err.Error()))
	}
	return err
}

// findStoredRun is like findRun, but with the plan at the time of the run, for commands that show or end
// a run. The plan file may be gone or have mistakes by now.
func findStoredRun(args []string, std Stdio) (*runlog.History, error) {
	return loadRun(args, std, findLoopDirLenient, runlog.LoadForDisplay)
}

func loadRun(args []string, std Stdio, find func([]string) (loop.Dir, string, error),
	load func(dir loop.Dir, path, id string) (*runlog.History, error)) (*runlog.History, error) {
	id, args := splitRunID(args)
	dir, path, err := find(args)
	if err != nil {
		return nil, err
	}
	std.tellPlace(filepath.Dir(string(dir)))
	return load(dir, path, id)
}

// findRunOrArchived is like findStoredRun, for commands that only show a run: an id may also name a run in a .loop
// that was moved aside.
func findRunOrArchived(args []string, std Stdio) (*runlog.History, error) {
	past, err := findStoredRun(args, std)
	if err == nil {
		return past, past.Settle()
	}
	if len(args) != 1 || !runlog.ValidID(args[0]) {
		return past, err
	}
	loop, _, wrong := findLoopDir(nil)
	if wrong != nil {
		return nil, err
	}
	for _, dir := range runlog.Backups(loop) {
		if past, wrong := runlog.LoadForDisplay(dir, "", args[0]); wrong == nil {
			past.State.Config.Loop = dir
			return past, past.Settle()
		}
	}
	return nil, err
}

// splitRunID returns the run id if args consists of one, else the args as rest.
func splitRunID(args []string) (id string, rest []string) {
	if len(args) == 1 && runlog.ValidID(args[0]) {
		if _, err := os.Stat(args[0]); err != nil {
			return args[0], nil
		}
	}
	return "", args
}

// findLoopDir returns the .loop directory of the project of the plan file in args, or that of projectDir.
func findLoopDir(args []string) (in loop.Dir, plan string, err error) {
	if len(args) == 0 {
		dir, err := projectDir("")
		return loop.In(dir), "", err
	}
	p, err := planfile.Read(args[0], listRunID(args[0], false))
	if err != nil {
		return "", "", err
	}
	dir, err := projectOf(p)
	return loop.In(dir), args[0], err
}

// findLoopDirLenient is like findLoopDir, for commands that show a run. A plan file that is gone or has mistakes
// still names the run that was started with it.
func findLoopDirLenient(args []string) (in loop.Dir, plan string, err error) {
	in, plan, err = findLoopDir(args)
	if err == nil {
		return in, plan, nil
	}
	var bad *planfile.PlanError
	var use *usererr.UsageError
	here, _, wrong := findLoopDir(nil)
	if len(args) == 0 || wrong != nil || !errors.As(err, &bad) && !errors.As(err, &use) {
		return "", "", err
	}
	events, wrong := runlog.Read(here)
	if last := runlog.Last(events); wrong == nil && last != nil && planfile.SamePath(last.Plan, args[0]) {
		return here, "", nil
	}
	return "", "", err
}

// listRunID returns the id of the run whose plan is the list at path, or "" if there is none. If unfinished is true, as
// for a new run or a resume, it ignores finished runs.
func listRunID(path string, unfinished bool) string {
	dir, err := projectDir(path)
	if err != nil {
		return ""
	}
	return runlog.RunOfList(loop.In(dir), path, unfinished)
}
