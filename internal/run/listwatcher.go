package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/tasklist"
)

// This file watches the task list that a run is made of. It passes tasks that people add during the
// run to the loop, which decides about them.

// listPollInterval is the interval between two reads of the list.
const listPollInterval = 2 * time.Second

// watchList returns a channel of the tasks that are added to the list, and one of warnings about those that cannot
// join the run; stop ends the watch. The channels are nil if there is no list, or if agents share it, since they
// would extend the run without end.
func (r *Session) watchList(ctx context.Context) (tasks <-chan []json.RawMessage, warnings <-chan string, stop func()) {
	if !planfile.IsList(r.plan.Path) || r.config.TaskList != "" {
		return nil, nil, func() {}
	}
	l, err := tasklist.OpenDir(r.plan.Path)
	if err != nil {
		return nil, nil, func() {} // the mirror reports it
	}
	ctx, cancel := context.WithCancel(ctx)
	found, warned, done := make(chan []json.RawMessage), make(chan string), make(chan struct{})
	w := listWatcher{list: l, run: r.config.Run, plan: r.state.Plan, added: found, warnings: warned,
		refused: map[string]string{}}
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
	return found, warned, func() { cancel(); <-done }
}

// listWatcher knows the tasks of a list that the run has.
type listWatcher struct {
	list     *tasklist.List
	run      string
	plan     *plan.Plan // of the list, with all tasks that were sent; the loop has its own
	added    chan<- []json.RawMessage
	warnings chan<- string
	refused  map[string]string // why tasks cannot join, as reported, by id
}

// poll sends the new tasks that have not changed since before. It skips entries that are not valid
// tasks until they are corrected, and warns about each once.
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
		if t.Wrong == nil {
			_, waves := w.plan.Waves()
			var grown *plan.Plan
			if grown, t.Wrong = w.plan.WithTasks(waves+1, t.Task); t.Wrong == nil {
				w.plan, fit = grown, append(fit, t.Task)
				continue
			}
		}
		w.refuse(ctx, t.ID, strings.ReplaceAll(t.Wrong.Error(), "\n", "; "))
	}
	if fit == nil {
		return
	}
	select {
	case w.added <- fit:
	case <-ctx.Done():
	}
}

// refuse warns about a task that cannot join, unless it has done so for this reason.
func (w *listWatcher) refuse(ctx context.Context, id, reason string) {
	if w.refused[id] == reason {
		return
	}
	select {
	case w.warnings <- fmt.Sprintf("task %s of the list cannot join the run: %s", id, reason):
		w.refused[id] = reason
	case <-ctx.Done():
	}
}
