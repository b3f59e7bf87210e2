package session

import (
	"context"
	"encoding/json"
	"time"

	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/tasklist"
)

// This file looks after the task list that a run is made of: what somebody adds to it while
// the run goes on is brought to the loop, which decides.

// listLook is the time between two looks.
const listLook = 2 * time.Second

// joins brings tasks that are added to the list. stop ends that. Without a list, and where
// agents share it (they would give the run ever more to do), nothing joins.
func (r *Session) joins(ctx context.Context) (tasks <-chan []json.RawMessage, stop func()) {
	if !planfile.IsList(r.plan.Path) || r.config.TaskList != "" {
		return nil, func() {}
	}
	l, err := tasklist.At(r.plan.Path)
	if err != nil {
		return nil, func() {} // said by the mirror
	}
	ctx, cancel := context.WithCancel(ctx)
	found, done := make(chan []json.RawMessage), make(chan struct{})
	w := listWatch{list: l, run: r.config.Run, plan: r.state.Plan, to: found}
	go func() {
		defer close(done)
		tick := time.NewTicker(listLook)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				w.look(ctx, now.Add(-tasklist.Settled))
			}
		}
	}()
	return found, func() { cancel(); <-done }
}

// listWatch knows what the run has of a list.
type listWatch struct {
	list *tasklist.List
	run  string
	plan *plan.Plan // of the list, with everything that was brought; the loop has its own
	to   chan<- []json.RawMessage
}

// look brings what is new and has not changed since before. What makes no task is passed
// over, until somebody mends it.
func (w *listWatch) look(ctx context.Context, before time.Time) {
	found, err := w.list.Joined(ctx, w.run, func(id string) bool { _, ok := w.plan.Lookup(id); return ok }, before)
	if err != nil {
		return // half-written or gone: looked at again
	}
	var fit []json.RawMessage
	for _, t := range found {
		_, waves := w.plan.Waves()
		if grown, err := w.plan.With(waves+1, t); err == nil {
			w.plan, fit = grown, append(fit, t)
		}
	}
	if fit == nil {
		return
	}
	select {
	case w.to <- fit:
	case <-ctx.Done():
	}
}
