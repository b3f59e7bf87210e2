package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/planfile"
	"wavex/internal/request"
	"wavex/internal/tasklist"
	"wavex/scheduler"
)

// This file shows a run in the task list of Claude Code that it is made of, or that was made of its plan.

// listCloseTimeout is how long the end of a run waits for the list to show it: longer than it takes until
// the lock of a dead process may be taken over.
const listCloseTimeout = 20 * time.Second

// agentEnv returns the variables that agents get beyond their request.
func (r *Session) agentEnv() map[string]string {
	env := r.opts.Agent.Env(r.config.Loop.Run(r.config.Run, loop.Sessions))
	if r.config.TaskList != "" {
		if env == nil {
			env = map[string]string{}
		}
		env[tasklist.EnvVar], env[tasklist.ToolsVar] = r.config.TaskList, "1"
	}
	return env
}

// progressList returns the list that shows the run, or nil. ids is for the writer.
func (r *Session) progressList(ctx context.Context) (l *tasklist.List, ids map[string]string, err error) {
	if planfile.IsList(r.plan.Path) {
		l, err = tasklist.OpenDir(r.plan.Path)
		return l, nil, err
	}
	if r.listOf == "" {
		return nil, nil, nil
	}
	l, err = tasklist.Open(tasklist.NameOf(filepath.Dir(string(r.config.Loop))), os.Getenv)
	if err != nil || !l.Exists() {
		return nil, nil, err
	}
	if ids, err = l.Exported(ctx, r.listOf, r.config.Run); err != nil || len(ids) == 0 {
		return nil, nil, err
	}
	return l, ids, nil
}

// requestWithList returns the id of the request that led to the plan at path, if the plan was put into a list, or "".
func requestWithList(path string, events []event.Event) string {
	s, err := request.ReadProgress(events)
	if err != nil || s == nil || s.Opened.Config.TaskList == "" || !planfile.SamePath(s.Opened.Config.Plan, path) {
		return ""
	}
	return s.Opened.Run
}

// startListProgress returns a View that shows the run in its list, or nil without a list. done stops it, waits for a
// limited time, and prints its errors.
func (r *Session) startListProgress(ctx context.Context) (view scheduler.View, done func()) {
	l, ids, err := r.progressList(ctx)
	switch {
	case err != nil:
		return nil, func() { fmt.Fprintln(r.opts.Err, "wavex:", err) }
	case l == nil:
		return nil, func() {}
	}
	var mu sync.Mutex
	var said []string // printed at the end, because the terminal is in use until then
	ctx = context.WithoutCancel(ctx)
	m := tasklist.NewProgressWriter(ctx, l, r.plan, ids, func(text string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, text)
	})
	return m, func() {
		ctx, cancel := context.WithTimeout(ctx, r.closeLimit(listCloseTimeout))
		defer cancel()
		m.Close(ctx)
		for _, text := range said {
			fmt.Fprintln(r.opts.Err, "wavex: warning:", text)
		}
	}
}
