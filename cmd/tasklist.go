package cmd

// This file wires task lists of Claude Code: as the plan of a run, as a view of it, and as a target
// for a plan. Package internal/tasklist reads and writes the lists.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"wavex/internal/plan"
	"wavex/internal/plan/convert"
	"wavex/internal/planfile"
	"wavex/internal/tasklist"
)

// planOrListPath returns the source of a run: a plan file, the list of the flag, the list of the
// environment, or the default plan file.
func planOrListPath(args []string, list string) (path string, err error) {
	switch {
	case len(args) == 1 && list != "":
		return "", usage(
			"the tasks are those of %s or those of the list %s: take one of them\nto put a plan into a list: wavex export --task-list %s %s", args[0], list, list, args[0])
	case len(args) == 1:
		return args[0], nil
	case list == "":
		list = os.Getenv(tasklist.EnvVar)
	}
	if list == "" {
		return planPath(nil)
	}
	l, err := tasklist.Open(list, os.Getenv)
	if err != nil {
		return "", err
	}
	if !l.Exists() {
		return "", usage("there is no task list %s (looked for %s); sessions make one when they start with %s=%s", l.Name,
			l.Dir, tasklist.EnvVar, l.Name)
	}
	return l.Dir, nil
}

// resolveSharedList opens the list that child processes share, if the user asked for it.
func (r *invocation) resolveSharedList() error {
	name, setting := os.Getenv(tasklist.EnvVar), r.opts.named("share-task-list")
	if planfile.IsList(r.plan.Path) {
		own, err := tasklist.Open(filepath.Base(r.plan.Path), os.Getenv)
		if err != nil {
			return err
		}
		if name = own.Name; !planfile.SamePath(own.Dir, r.plan.Path) {
			return usage("%s: agents would not find %s; it is not among the lists in %s", setting, r.plan.Path,
				filepath.Dir(own.Dir))
		}
	}
	if name == "" && r.opts.forced("share-task-list") {
		return usage("%s: there is no task list; name one with --task-list or %s", setting, tasklist.EnvVar)
	}
	r.config.TaskList = name
	return nil
}

// isUserList reports whether path is one of the user's task lists, and no other folder with such files.
func isUserList(path string) bool {
	own, err := tasklist.Open(filepath.Base(path), os.Getenv)
	return err == nil && planfile.IsList(path) && planfile.SamePath(own.Dir, path)
}

// exportList writes a plan into a list. request is the id of the request whose run the list shows, or "".
func exportList(ctx context.Context, name, path string, p *plan.Plan, request string, std Stdio) error {
	l, err := tasklist.Open(name, os.Getenv)
	if err != nil {
		return err
	}
	native, _, _, err := convert.ImportFile(path, plan.Options{Lenient: true})
	if err != nil {
		return err
	}
	lost, err := l.Export(ctx, p, native, request)
	var unfit *tasklist.UnfitError
	if errors.As(err, &unfit) {
		return usage("%s", unfit)
	}
	if err != nil {
		return err
	}
	for _, what := range lost {
		fmt.Fprintf(std.Err, "%s: warning: %s has no place in a task list and was left out\n", path, what)
	}
	what := "run it: wavex run --task-list " + l.Name
	if request != "" {
		what = "the list shows the run"
	}
	fmt.Fprintf(std.Err, "%s: %d tasks are in the list %s (%s)\n%s\n", path, len(p.Tasks), l.Name, l.Dir, what)
	return nil
}
