package cmd

import (
	"os"
	"path/filepath"

	"wavex/internal/planfile"
	"wavex/internal/record"
)

// This file finds the run that a command's argument means.

// pastRun finds a run and gives the state that its journal leads to. args is nothing
// (the last run in .loop of the current directory), a plan file (the last run in its
// project directory), or the id of a run in .loop of the current directory.
func pastRun(args []string) (*record.Past, error) {
	id := ""
	if len(args) == 1 {
		if _, err := os.Stat(args[0]); err != nil && record.IsID(args[0]) {
			id, args = args[0], nil
		}
	}
	loop, path, err := loopOf(args)
	if err != nil {
		return nil, err
	}
	return record.Find(loop, path, id)
}

// shownRun is pastRun for what only shows: an id may also be that of a run in a .loop that
// was moved aside.
func shownRun(args []string) (*record.Past, error) {
	past, err := pastRun(args)
	if err == nil || len(args) != 1 || !record.IsID(args[0]) {
		return past, err
	}
	loop, _, wrong := loopOf(nil)
	if wrong != nil {
		return nil, err
	}
	for _, dir := range record.Aside(loop) {
		if past, wrong := record.Find(dir, "", args[0]); wrong == nil {
			past.State.Config.Loop = dir
			return past, nil
		}
	}
	return nil, err
}

// loopOf finds the .loop directory: in the current directory, or, where args names a
// plan file, in its project directory.
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

// runOf is the run of the current directory that a list is the plan of, "" when there is
// none. For a new run or a resume only an unfinished one counts.
func runOf(path string, unfinished bool) string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return record.Of(filepath.Join(dir, ".loop"), path, unfinished)
}
