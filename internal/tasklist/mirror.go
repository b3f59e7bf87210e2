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

	"wavex/internal/plan"
	"wavex/scheduler"
)

// Owner is the owner of tasks that a run works on or has completed.
const Owner = "wavex"

// Mirror writes the progress of a run's tasks into their list. Event only notes the changes; one
// goroutine writes them, and skips states that a later one has replaced.
type Mirror struct {
	list   *List
	base   int // tasks of the list; later tasks of the run's plan were added by the run
	warn   func(string)
	cancel context.CancelFunc
	wake   chan struct{} // holds one: there is something to write
	done   chan struct{} // closed when the goroutine has ended

	mu   sync.Mutex
	seen []view           // last noted view of each task
	ids  []string         // of the tasks in the plan
	want map[int]struct{} // tasks whose view is not yet written
	over bool
}

// view holds the shown state of a run's task. The zero value means that the run has not touched the
// task and does not change it.
type view struct {
	status   Status
	run      string
	wave     int
	stuck    int
	evidence string     // the evidence of its completion
	added    *plan.Task // a task that the run added
}

// NewMirror shows a run of p, the plan made of l, until Close. It calls warn from the mirror's
// goroutine, once for each problem of writing. The end of ctx stops the mirror.
func NewMirror(ctx context.Context, l *List, p *plan.Plan, warn func(string)) *Mirror {
	ctx, cancel := context.WithCancel(ctx)
	m := &Mirror{list: l, base: len(p.Tasks), warn: warn, cancel: cancel,
		wake: make(chan struct{}, 1), done: make(chan struct{}), want: map[int]struct{}{}}
	w := &writer{Mirror: m, told: map[string]bool{}}
	go func() {
		defer close(m.done)
		w.run(ctx)
	}()
	return m
}

// Event notes the changes of an event. It never waits for a write.
func (m *Mirror) Event(e scheduler.Event, s *scheduler.State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.over {
		return
	}
	switch b := e.Body.(type) {
	case scheduler.Notice, scheduler.WaveStarted, scheduler.WaveWarmed, scheduler.SpareStarted,
		scheduler.SpareEnded: // change no task
		return
	case scheduler.AttemptStarted:
		m.note(s, b.Task)
	case scheduler.AttemptEnded:
		m.note(s, b.Task) // the tasks that it blocks are untouched, or shown as pending already
	default:
		for i := range s.Plan.Tasks {
			m.look(s, i)
		}
	}
	m.poke()
}

func (m *Mirror) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *Mirror) note(s *scheduler.State, id string) {
	if i, ok := s.Index(id); ok {
		m.look(s, i)
	}
}

// look notes a task whose shown view is outdated.
func (m *Mirror) look(s *scheduler.State, i int) {
	for k := len(m.seen); k < len(s.Plan.Tasks); k++ {
		m.seen, m.ids = append(m.seen, view{}), append(m.ids, s.Plan.Tasks[k].ID)
	}
	v := shown(s, i, i < m.base || fromList(s, i))
	if v == m.seen[i] {
		return
	}
	m.seen[i] = v
	m.want[i] = struct{}{}
}

// fromList reports whether a task that joined the run is already in the list.
func fromList(s *scheduler.State, i int) bool {
	return slices.ContainsFunc(s.Added, func(a scheduler.Added) bool {
		return a.Origin == scheduler.FromList && a.ID == s.Plan.Tasks[i].ID
	})
}

// shown returns the view of task i. own says that the task is one of the list. A failed or blocked
// task is pending: the CLI has no other status, and the task must not look done.
func shown(s *scheduler.State, i int, own bool) view {
	t := &s.Tasks[i]
	if t.Attempts == 0 && own {
		return view{}
	}
	v := view{status: Pending, run: s.Config.Run, wave: t.Wave, stuck: t.Stuck}
	switch t.Status {
	case scheduler.Completed:
		v.status, v.evidence = Completed, evidence(&s.Plan.Tasks[i])
	case scheduler.InProgress, scheduler.Advising, scheduler.Verified:
		if s.Ended == nil {
			v.status = InProgress
		}
	}
	if !own {
		v.added = &s.Plan.Tasks[i]
	}
	return v
}

// evidence returns the strongest kind of evidence of a task's checks.
func evidence(t *plan.Task) string {
	kind := scheduler.Assumption
	for _, c := range t.Verify {
		if c.Run != "" {
			return scheduler.ExecutionOutput
		}
		kind = scheduler.Observation
	}
	if t.Command != "" {
		return scheduler.ExecutionOutput
	}
	return kind
}

// Close writes the remaining changes. Then it looks once more for tasks that were marked completed
// although the run did not complete them. It ends the mirror, at the latest when ctx ends. Later
// events do nothing.
func (m *Mirror) Close(ctx context.Context) {
	m.mu.Lock()
	m.over = true
	for i, v := range m.seen {
		if v.run != "" && v.status != Completed {
			m.want[i] = struct{}{}
		}
	}
	m.poke()
	m.mu.Unlock()
	select {
	case <-m.done:
	case <-ctx.Done():
	}
	m.cancel()
	<-m.done
}

// writer holds the state of the mirror's goroutine.
type writer struct {
	*Mirror
	told  map[string]bool
	late  map[int]struct{}  // failed writes; repeated with the next write, and at the end
	added map[string]string // list ids of tasks that the run added; nil: not looked up yet
}

// change is one task to write.
type change struct {
	task int
	id   string // in the plan
	view view
}

func (w *writer) run(ctx context.Context) {
	for {
		batch, last := w.take()
		for _, b := range batch {
			if err := w.put(ctx, b.id, b.view); err != nil {
				w.failed(ctx, b, err)
			}
		}
		if last || ctx.Err() != nil {
			w.leftOver()
			return
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
		}
	}
}

// take returns the tasks to write now, and whether they are the last.
func (w *writer) take() (batch []change, last bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.Copy(w.want, w.late)
	w.late = nil
	for _, i := range slices.Sorted(maps.Keys(w.want)) {
		batch = append(batch, change{i, w.ids[i], w.seen[i]})
	}
	clear(w.want)
	return batch, w.over
}

func (w *writer) failed(ctx context.Context, c change, err error) {
	if errors.Is(err, ErrGone) {
		w.tell(c.id, fmt.Sprintf("task %s was deleted from the list %s; the run goes on with it", c.id, w.list.Name))
		return
	}
	if w.late == nil {
		w.late = map[int]struct{}{}
	}
	w.late[c.task] = struct{}{}
	if ctx.Err() != nil {
		return // leftOver counts them
	}
	w.tell("", fmt.Sprintf("the list %s does not show the run as it is: %v", w.list.Name, err))
}

func (w *writer) tell(key, text string) {
	if !w.told[key] {
		w.told[key] = true
		w.warn(text)
	}
}

func (w *writer) leftOver() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.late) + len(w.want); n > 0 {
		w.tell("end", fmt.Sprintf("the list %s does not show the last state of %d tasks", w.list.Name, n))
	}
}

// put writes one task's view into its file, unless the file shows it already.
func (w *writer) put(ctx context.Context, id string, v view) error {
	if v.run == "" {
		return nil
	}
	if v.added != nil {
		in, err := w.find(ctx, v)
		if err != nil {
			return err
		}
		id = in
	}
	return w.list.Update(ctx, id, func(t *Task) bool {
		before := t.render()
		v.show(t)
		return !bytes.Equal(before, t.render())
	})
}

// show writes the view into a task and leaves other fields unchanged.
func (v view) show(t *Task) {
	t.Status = v.status
	switch {
	case v.status != Pending:
		t.Owner = Owner
	case t.Owner == Owner:
		t.Owner = "" // no session works on it
	}
	number := func(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }
	t.Metadata.Set(metaWave, number(v.wave))
	t.Metadata.Set(metaLoop, quoted(v.run))
	if v.evidence != "" {
		t.Metadata.Set(metaVerification, quoted(v.evidence))
	}
	t.Metadata.Set(metaStuck, number(v.stuck))
}

// find returns the list id of a task that the run added. It creates the task unless an earlier
// session of the run has done so.
func (w *writer) find(ctx context.Context, v view) (string, error) {
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
	t := &Task{Subject: v.added.Subject, Description: described(v.added), ActiveForm: v.added.ActiveForm}
	v.show(t)
	t.Metadata.Set(metaAdded, quoted(v.added.ID))
	ids, err := w.list.Add(ctx, []*Task{t}, nil)
	if err != nil {
		return "", err
	}
	w.added[v.added.ID] = ids[0]
	return ids[0], nil
}

// described returns a task's description with its checks.
func described(t *plan.Task) string {
	text := t.Description
	if len(t.Verify) == 1 && t.Verify[0].Run != "" {
		return withTail(text, t.Verify[0].Run)
	}
	return text
}
