package cmd

// This file wires task lists of Claude Code: as the plan of a run, as a view of it, and
// as a place to put a plan. How lists are read and written is internal/tasklist's.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"wavex/internal/plan"
	"wavex/internal/plan/foreign"
	"wavex/internal/tasklist"
	"wavex/scheduler"
)

// listWait bounds how long the end of a run waits for the list to show it: longer than
// it takes until the lock of a process that died may be taken over. Who left at once
// does not wait for that.
const (
	listWait    = 20 * time.Second
	listWaitNot = time.Second
)

// planOrList is what a run is made of: a plan file, the list that a flag names, or the
// one that the environment names.
func planOrList(args []string, list string) (path string, err error) {
	switch {
	case len(args) == 1 && list != "":
		return "", usage("the tasks are those of %s or those of the list %s: take one of them\nto put a plan into a list: wavex export --task-list %s %s", args[0], list, list, args[0])
	case len(args) == 1:
		return args[0], nil
	case list == "":
		list = os.Getenv(tasklist.EnvVar)
	}
	if list == "" {
		return "", usage("wavex run takes a plan file, or a task list of Claude Code (--task-list NAME)\nsee: wavex run --help")
	}
	l, err := tasklist.Open(list, os.Getenv)
	if err != nil {
		return "", err
	}
	if !l.Exists() {
		return "", usage("there is no task list %s (looked for %s); sessions make one when they start with %s=%s", l.Name, l.Dir, tasklist.EnvVar, l.Name)
	}
	return l.Dir, nil
}

// isList tells whether a path is the folder of a task list.
func isList(path string) bool { return tasklist.IsList(path, os.Getenv) }

// loadPlan reads a plan, or a task list by its folder; what cannot be read is the
// caller's mistake.
func loadPlan(path string) (*plan.Plan, []plan.Diagnostic, error) { return loadPlanOf(path, "") }

// loadPlanOf is loadPlan for a run: of a task list the tasks that the run completed are
// still part of the plan.
func loadPlanOf(path, run string) (*plan.Plan, []plan.Diagnostic, error) {
	if isList(path) {
		l, err := tasklist.At(path)
		if err != nil {
			return nil, nil, err
		}
		p, diags, err := l.Plan(context.Background(), run)
		if err != nil {
			return nil, nil, usage("reading the task list: %s", err)
		}
		return p, diags, nil
	}
	p, diags, err := foreign.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, usage("there is no plan %s", path)
	}
	if err != nil {
		return nil, nil, usage("reading the plan: %s", err)
	}
	return p, diags, nil
}

// runOf is the run of the current directory that a list is the plan of, "" when there is
// none. For a new run or a resume only an unfinished one counts.
func runOf(path string, unfinished bool) string {
	if !isList(path) {
		return ""
	}
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	events, err := readEvents(filepath.Join(dir, ".loop"))
	last := lastRun(events)
	switch {
	case err != nil || last == nil || !samePath(last.plan, path): // said where it is read again
		return ""
	case unfinished && last.over():
		return ""
	}
	return last.config.Run
}

// sharedList is the list that children share, when that is asked for.
func (r *session) sharedList() error {
	name := os.Getenv(tasklist.EnvVar)
	if isList(r.plan.Path) {
		own, err := tasklist.Open(filepath.Base(r.plan.Path), os.Getenv)
		if err != nil {
			return err
		}
		if name = own.Name; !samePath(own.Dir, r.plan.Path) {
			return usage("--share-task-list: agents would not find %s; it is none of the lists in %s", r.plan.Path, filepath.Dir(own.Dir))
		}
	}
	if name == "" {
		return usage("--share-task-list: there is no task list; name one with --task-list or %s", tasklist.EnvVar)
	}
	r.config.TaskList = name
	return nil
}

// childEnv is what agents are told beyond their assignment.
func (r *session) childEnv() map[string]string {
	env := rehearsalEnv(r.agent.name, r.config.Loop, r.config.Run)
	if r.config.TaskList != "" {
		if env == nil {
			env = map[string]string{}
		}
		env[tasklist.EnvVar] = r.config.TaskList
	}
	return env
}

// mirror shows the run in the list that it is made of; done ends that, waits for at most
// a time, and says what could not be shown. Without a list there is nothing to do.
func (r *session) mirror(ctx context.Context) (view scheduler.View, done func(time.Duration)) {
	if !isList(r.plan.Path) {
		return nil, func(time.Duration) {}
	}
	l, err := tasklist.At(r.plan.Path)
	if err != nil {
		return nil, func(time.Duration) { fmt.Fprintln(r.std.Err, "wavex:", err) }
	}
	var mu sync.Mutex
	var said []string // the terminal is not ours to write to before the end
	ctx = context.WithoutCancel(ctx)
	m := tasklist.NewMirror(ctx, l, r.plan, func(text string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, text)
	})
	return m, func(wait time.Duration) {
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		m.Close(ctx)
		for _, text := range said {
			fmt.Fprintln(r.std.Err, "wavex: warning:", text)
		}
	}
}

// exportList puts a plan into a list.
func exportList(ctx context.Context, name, path string, p *plan.Plan, std Stdio) error {
	l, err := tasklist.Open(name, os.Getenv)
	if err != nil {
		return err
	}
	native, _, _, err := foreign.ImportFile(path, plan.Options{Lenient: true})
	if err != nil {
		return err
	}
	lost, err := l.Export(ctx, p, native)
	var full *tasklist.NotEmptyError
	if errors.As(err, &full) {
		return usage("%s", full)
	}
	if err != nil {
		return err
	}
	for _, what := range lost {
		fmt.Fprintf(std.Err, "%s: warning: %s has no place in a task list and was left out\n", path, what)
	}
	fmt.Fprintf(std.Err, "%s: %d tasks are in the list %s (%s)\nrun it: wavex run --task-list %s\n", path, len(p.Tasks), l.Name, l.Dir, l.Name)
	return nil
}
