package cmd

import (
	"errors"
	"os"
	"path/filepath"

	"wavex/internal/planfile"
	"wavex/internal/record"
	"wavex/internal/refuse"
)

// This file finds the run that a command's arguments name.

// pastRun returns a run with the state of its journal and the current plan. args is empty (the last
// run in .loop of the current directory), a plan file (the last run in its project directory), or
// the id of a run in .loop of the current directory.
func pastRun(args []string) (*record.Past, error) {
	id, args := idOf(args)
	loop, path, err := loopOf(args)
	if err != nil {
		return nil, err
	}
	return record.Find(loop, path, id)
}

// keptRun is like pastRun, but with the plan at the time of the run, for commands that show or end
// a run. The plan file may be gone or have mistakes by now.
func keptRun(args []string) (*record.Past, error) {
	id, args := idOf(args)
	loop, path, err := shownLoop(args)
	if err != nil {
		return nil, err
	}
	return record.Shown(loop, path, id)
}

// shownRun is like keptRun, for commands that only show a run: an id may also name a run in a .loop
// that was moved aside.
func shownRun(args []string) (*record.Past, error) {
	past, err := keptRun(args)
	if err == nil {
		return past, past.Settle()
	}
	if len(args) != 1 || !record.IsID(args[0]) {
		return past, err
	}
	loop, _, wrong := loopOf(nil)
	if wrong != nil {
		return nil, err
	}
	for _, dir := range record.Aside(loop) {
		if past, wrong := record.Shown(dir, "", args[0]); wrong == nil {
			past.State.Config.Loop = dir
			return past, past.Settle()
		}
	}
	return nil, err
}

// idOf returns the run id if args consists of one, else the args as rest.
func idOf(args []string) (id string, rest []string) {
	if len(args) == 1 && record.IsID(args[0]) {
		if _, err := os.Stat(args[0]); err != nil {
			return args[0], nil
		}
	}
	return "", args
}

// loopOf returns the .loop directory of the project of the plan file in args, or of the current
// directory.
func loopOf(args []string) (loop, plan string, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", "", err
	}
	if len(args) == 0 {
		return filepath.Join(dir, ".loop"), "", nil
	}
	p, err := planfile.Read(args[0], runOf(args[0], false))
	if err != nil {
		return "", "", err
	}
	if dir, err = planfile.Project(p); err != nil {
		return "", "", err
	}
	return filepath.Join(dir, ".loop"), args[0], nil
}

// shownLoop is like loopOf, for commands that show a run. A plan file that is gone or has mistakes
// still names the run in the current directory that was started with it.
func shownLoop(args []string) (loop, plan string, err error) {
	loop, plan, err = loopOf(args)
	if err == nil {
		return loop, plan, nil
	}
	var bad *refuse.PlanError
	var use *refuse.UsageError
	here, _, wrong := loopOf(nil)
	if len(args) == 0 || wrong != nil || !errors.As(err, &bad) && !errors.As(err, &use) {
		return "", "", err
	}
	events, wrong := record.Read(here)
	if last := record.Last(events); wrong == nil && last != nil && planfile.Same(last.Plan, args[0]) {
		return here, "", nil
	}
	return "", "", err
}

// runOf returns the id of the run in the current directory whose plan is the list at path, or "" if
// there is none. With unfinished, as for a new run or a resume, it ignores finished runs.
func runOf(path string, unfinished bool) string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return record.Of(filepath.Join(dir, ".loop"), path, unfinished)
}
