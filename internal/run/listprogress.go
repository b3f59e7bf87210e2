package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"wavex/internal/planfile"
	"wavex/internal/tasklist"
	"wavex/scheduler"
)

// This file shows a run in the task list of Claude Code that it is made of.

// listCloseTimeout is how long the end of a run waits for the list to show it: longer than it takes until
// the lock of a dead process may be taken over.
const listCloseTimeout = 20 * time.Second

// agentEnv returns the variables that agents get beyond their request.
func (r *Session) agentEnv() map[string]string {
	env := r.opts.Agent.Env(r.config.Loop, r.config.Run)
	if r.config.TaskList != "" {
		if env == nil {
			env = map[string]string{}
		}
		env[tasklist.EnvVar], env[tasklist.ToolsVar] = r.config.TaskList, "1"
	}
	return env
}

// startListProgress returns a View that shows the run in the list that it is made of, or nil without a list.
// done stops it, waits for a limited time, and prints its errors.
func (r *Session) startListProgress(ctx context.Context) (view scheduler.View, done func()) {
	if !planfile.IsList(r.plan.Path) {
		return nil, func() {}
	}
	l, err := tasklist.OpenDir(r.plan.Path)
	if err != nil {
		return nil, func() { fmt.Fprintln(r.opts.Err, "wavex:", err) }
	}
	var mu sync.Mutex
	var said []string // printed at the end, because the terminal is in use until then
	ctx = context.WithoutCancel(ctx)
	m := tasklist.NewProgressWriter(ctx, l, r.plan, func(text string) {
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
