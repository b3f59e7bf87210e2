package tasklist

// This file shows a run in the list that is its plan. It is a projection of the scheduler's events:
// it never delays the run and never fails it. It decides nothing.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"wavex/internal/async"
	"wavex/internal/event"
	"wavex/internal/jsonobject"
	"wavex/internal/plan"
	"wavex/scheduler"
)

// Owner is the owner of tasks that a run works on or has completed.
const Owner = "wavex"

// ProgressWriter writes the progress of a run's tasks into their list. Event only notes the changes; one
// goroutine writes them, and skips states that a later one has replaced.
type ProgressWriter struct {
	list      *List
	listIDs   map[string]string // ids in the list of the tasks of the plan's file; nil: the same as in the plan
	listTasks int               // tasks of the list; later tasks of the run's plan were added by the run
	warn      func(string)
	cancel    context.CancelFunc
	worker    *async.Worker

	mu     sync.Mutex
	states map[int]taskState // last noted view of each task
	ids    map[int]string    // of the tasks in the plan
	dirty  map[int]struct{}  // tasks whose view is not yet written
	closed bool
}

// taskState holds the shown state of a run's task. The zero value means that the run has not touched the
// task and does not change it.
type taskState struct {
	status   Status
	run      string
	wave     int
	stuck    int
	evidence string     // the evidence of its completion
	added    *plan.Task // a task that the run added
}

// NewProgressWriter shows a run of p until Close. p is the plan made of l, or with ids the one that l was made of; see
// Exported. It calls warn from the mirror's goroutine, once for each problem of writing. The end of ctx stops the
// mirror.
func NewProgressWriter(ctx context.Context, l *List, p *plan.Plan, ids map[string]string,
	warn func(string)) *ProgressWriter {
	ctx, cancel := context.WithCancel(ctx)
	m := &ProgressWriter{list: l, listIDs: ids, listTasks: len(p.Tasks), warn: warn, cancel: cancel,
		states: map[int]taskState{}, ids: map[int]string{}, dirty: map[int]struct{}{}}
	w := &writeLoop{ProgressWriter: m, warned: map[string]bool{}, done: map[int]taskState{}}
	m.worker = async.Start(func(last bool) time.Duration {
		w.writePending(ctx)
		if n := len(w.retry); last && n > 0 {
			w.warnOnce("end", fmt.Sprintf("the list %s does not show the last state of %d tasks", l.Name, n))
		}
		return 0
	})
	return m
}

// Event notes the changes of an event. It never waits for a write.
func (m *ProgressWriter) Event(e event.Event, s *scheduler.State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	ids, all := e.Changes()
	for _, id := range ids {
		if i, ok := s.Index(id); ok {
			m.update(s, i)
		}
	}
	for i := 0; all && i < len(s.Plan.Tasks); i++ {
		m.update(s, i)
	}
	m.worker.Wake()
}

// update notes a task whose shown view is outdated. A list of the plan (foreach) has no task in the task list.
func (m *ProgressWriter) update(s *scheduler.State, i int) {
	t := &s.Plan.Tasks[i]
	if t.Group != "" {
		return
	}
	own := i < m.listTasks || slices.ContainsFunc(s.Assessment.Added, func(a event.Added) bool {
		return a.Origin == event.FromList && a.ID == t.ID // it joined the run
	})
	if v := stateOf(s, i, own); v != m.states[i] {
		m.states[i], m.ids[i] = v, t.ID
		m.dirty[i] = struct{}{}
	}
}

// stateOf returns the view of task i. own says that the task is one of the list. A failed or blocked
// task is pending: the CLI has no other status, and the task must not look done.
func stateOf(s *scheduler.State, i int, own bool) taskState {
	t := &s.Tasks[i]
	if t.Attempts == 0 && own {
		return taskState{}
	}
	v := taskState{status: Pending, run: s.Config.Run, wave: t.Wave, stuck: t.Stuck}
	switch t.Status {
	case event.Completed:
		v.status, v.evidence = Completed, strongestEvidence(&s.Plan.Tasks[i])
	case event.InProgress, event.Advising, event.Verified:
		if s.Ended == nil {
			v.status = InProgress
		}
	}
	if !own {
		v.added = &s.Plan.Tasks[i]
	}
	return v
}

// strongestEvidence returns the strongest kind of evidence of a task's checks.
func strongestEvidence(t *plan.Task) string {
	kind := event.Assumption
	for _, c := range t.Verify {
		if c.Run != "" {
			return event.ExecutionOutput
		}
		kind = event.Observation
	}
	if t.Command != "" {
		return event.ExecutionOutput
	}
	return kind
}

// Close writes the remaining changes. Then it looks once more at the tasks that the run began: those that it did not
// complete may have been marked completed, and metadata may be lost, since Claude Code reads the metadata of a task
// before it locks the file and then writes it as a whole (observed on claude 2.1.330). Close ends the mirror, at the
// latest when ctx ends. Later events do nothing.
func (m *ProgressWriter) Close(ctx context.Context) {
	m.mu.Lock()
	m.closed = true
	for i, v := range m.states {
		if v.run != "" {
			m.dirty[i] = struct{}{}
		}
	}
	m.mu.Unlock()
	defer context.AfterFunc(ctx, m.cancel)()
	m.worker.Close()
	m.cancel()
}

// writeLoop holds the state of the mirror's goroutine.
type writeLoop struct {
	*ProgressWriter
	warned map[string]bool
	done   map[int]taskState // completed tasks that the list has shown as such; other people may reopen or delete them
	retry  map[int]struct{}  // failed writes; repeated with the next write, and at the end
	added  map[string]string // list ids of tasks that the run added; nil: not looked up yet
}

// pendingWrite is one task to write.
type pendingWrite struct {
	task  int
	id    string // in the plan
	state taskState
}

func (w *writeLoop) writePending(ctx context.Context) {
	w.mu.Lock()
	maps.Copy(w.dirty, w.retry)
	w.retry = nil
	var batch []pendingWrite
	for _, i := range slices.Sorted(maps.Keys(w.dirty)) {
		batch = append(batch, pendingWrite{i, w.ids[i], w.states[i]})
	}
	clear(w.dirty)
	w.mu.Unlock()
	for _, b := range batch {
		shown := w.done[b.task] == b.state
		err := w.writeState(ctx, b.id, b.state, shown)
		switch {
		case err != nil && !shown:
			w.failed(ctx, b, err)
		case b.state.status == Completed:
			w.done[b.task] = b.state
		default:
			delete(w.done, b.task)
		}
	}
}

func (w *writeLoop) failed(ctx context.Context, c pendingWrite, err error) {
	if errors.Is(err, ErrDeleted) {
		w.warnOnce(c.id, fmt.Sprintf("task %s was deleted from the list %s; the run goes on with it", c.id, w.list.Name))
		return
	}
	if w.retry == nil {
		w.retry = map[int]struct{}{}
	}
	w.retry[c.task] = struct{}{}
	if ctx.Err() != nil {
		return // the end counts them
	}
	w.warnOnce("", fmt.Sprintf("the list %s does not show the run as it is: %v", w.list.Name, err))
}

func (w *writeLoop) warnOnce(key, text string) {
	if !w.warned[key] {
		w.warned[key] = true
		w.warn(text)
	}
}

// writeState writes one task's view into its file, unless the file shows it already. shown says that it has shown it
// as completed: a task that is not any more was reopened, or completed by another session.
func (w *writeLoop) writeState(ctx context.Context, id string, v taskState, shown bool) error {
	if v.run == "" {
		return nil
	}
	if v.added != nil {
		in, err := w.findOrCreate(ctx, v)
		if err != nil {
			return err
		}
		id = in
	} else if w.listIDs != nil {
		if id = w.listIDs[id]; id == "" {
			return nil // an edit added the task to the plan
		}
	}
	return w.list.Update(ctx, id, func(t *Task) bool {
		if shown && (t.Status != Completed || t.Owner != Owner) {
			return false
		}
		before := t.render()
		v.applyTo(t)
		return !bytes.Equal(before, t.render())
	})
}

// applyTo writes the view into a task and leaves other fields unchanged.
func (v taskState) applyTo(t *Task) {
	t.Status = v.status
	switch {
	case v.status != Pending:
		t.Owner = Owner
	case t.Owner == Owner:
		t.Owner = "" // no session works on it
	}
	number := func(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }
	t.Metadata.Set(metaWave, number(v.wave))
	t.Metadata.Set(metaLoop, jsonobject.Quote(v.run))
	if v.evidence != "" {
		t.Metadata.Set(metaVerification, jsonobject.Quote(v.evidence))
	}
	t.Metadata.Set(metaStuck, number(v.stuck))
}

// findOrCreate returns the list id of a task that the run added. It creates the task unless an earlier
// session of the run has done so.
func (w *writeLoop) findOrCreate(ctx context.Context, v taskState) (string, error) {
	if w.added == nil {
		tasks, _, err := w.list.Read(ctx)
		if err != nil {
			return "", err
		}
		w.added = map[string]string{}
		for _, t := range tasks {
			if name := t.Metadata.Text(metaAdded); name != "" && t.Metadata.Text(metaLoop) == v.run {
				w.added[name] = t.ID
			}
		}
	}
	if id, ok := w.added[v.added.ID]; ok {
		return id, nil
	}
	t := &Task{Subject: v.added.Subject, Description: v.added.Description, ActiveForm: v.added.ActiveForm}
	if c := v.added.Verify; len(c) == 1 && c[0].Run != "" {
		t.Description = withVerifyTail(t.Description, c[0].Run)
	}
	v.applyTo(t)
	t.Metadata.Set(metaAdded, jsonobject.Quote(v.added.ID))
	ids, err := w.list.Add(ctx, []*Task{t}, nil)
	if err != nil {
		return "", err
	}
	w.added[v.added.ID] = ids[0]
	return ids[0], nil
}
