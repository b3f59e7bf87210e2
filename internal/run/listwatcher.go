package run

import (
	"context"
	"encoding/json"
	"time"

	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/tasklist"
)

// This file watches the task list that a run is made of. It passes tasks that people add during the
// run to the loop, which decides about them.

// listPollInterval is the interval between two reads of the list.
const listPollInterval = 2 * time.Second

// watchList returns a channel of the tasks that are added to the list; stop ends the watch. The channel
// is nil if there is no list, or if agents share it, since they would extend the run without end.
func (r *Session) watchList(ctx context.Context) (tasks <-chan []json.RawMessage, stop func()) {
	if !planfile.IsList(r.plan.Path) || r.config.TaskList != "" {
		return nil, func() {}
	}
	l, err := tasklist.OpenDir(r.plan.Path)
	if err != nil {
		return nil, func() {} // the mirror reports it
	}
	ctx, cancel := context.WithCancel(ctx)
	found, done := make(chan []json.RawMessage), make(chan struct{})
	w := listWatcher{list: l, run: r.config.Run, plan: r.state.Plan, added: found}
	go func() {
		defer close(done)
		tick := time.NewTicker(listPollInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				w.poll(ctx, now.Add(-tasklist.QuietPeriod))
			}
		}
	}()
	return found, func() { cancel(); <-done }
}

// listWatcher knows the tasks of a list that the run has.
type listWatcher struct {
	list  *tasklist.List
	run   string
	plan  *plan.Plan // of the list, with all tasks that were sent; the loop has its own
	added chan<- []json.RawMessage
}

// poll sends the new tasks that have not changed since before. It skips entries that are not valid
// tasks until they are corrected.
func (w *listWatcher) poll(ctx context.Context, before time.Time) {
	found, err := w.list.NewTasks(ctx, w.run, func(id string) bool {
		_, ok := w.plan.Lookup(id)
		return ok || w.plan.Group(id) != nil // a task with foreach, which its items stand for
	}, before)
	if err != nil {
		return // half written or removed: try again next time
	}
	var fit []json.RawMessage
	for _, t := range found {
		_, waves := w.plan.Waves()
		if grown, err := w.plan.WithTasks(waves+1, t); err == nil {
			w.plan, fit = grown, append(fit, t)
		}
	}
	if fit == nil {
		return
	}
	select {
	case w.added <- fit:
	case <-ctx.Done():
	}
}
