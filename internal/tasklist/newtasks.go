package tasklist

// This file finds the tasks that were added to a list during its run, and those of them that cannot join it.
// Whether the others can is for the run to decide.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"wavex/internal/plan/source"
)

// QuietPeriod is the minimum age of a task's last change before the task joins a run: a session of
// Claude Code first creates its tasks, one call after the other, and sets their blockers
// afterwards.
const QuietPeriod = time.Minute

// NewTask is a pending task of a list that a run does not have.
type NewTask struct {
	ID    string
	Task  json.RawMessage // in the form of a plan file; nil: it cannot join
	Wrong error           // why it cannot join
}

// NewTasks returns the pending tasks of the list that known does not know and that have not changed
// since before, each after its blockers, and then those that cannot join. It omits tasks that run added
// itself, and tasks that wait for a task which may join later.
func (l *List) NewTasks(ctx context.Context, run string, known func(id string) bool,
	before time.Time) ([]NewTask, error) {
	tasks, bad, err := l.Read(ctx)
	if err != nil {
		return nil, err
	}
	n := newTasks{known: known, listed: map[string]bool{}, done: map[string]bool{}, joins: map[string]bool{},
		wrong: map[string]error{}}
	isQuiet := func(id string) bool {
		st, err := os.Stat(l.file(id))
		return err == nil && st.ModTime().Before(before)
	}
	for _, b := range bad {
		if n.listed[b.ID] = true; isQuiet(b.ID) && !known(b.ID) {
			n.wrong[b.ID] = errors.New(b.Text)
		}
	}
	for _, t := range tasks {
		n.listed[t.ID] = true
		n.done[t.ID] = t.Status == Completed && !known(t.ID)
	}
	n.edges = blockers(tasks, n.done)
	for _, t := range tasks {
		if !known(t.ID) && t.Status == Pending && t.isPartOf(run) && isQuiet(t.ID) {
			n.waiting = append(n.waiting, t)
		}
	}
	n.place()
	n.refuse()
	for _, id := range slices.SortedFunc(maps.Keys(n.wrong), compareIDs) {
		n.out = append(n.out, NewTask{ID: id, Wrong: n.wrong[id]})
	}
	return n.out, nil
}

// newTasks sorts the new tasks of a list.
type newTasks struct {
	known        func(id string) bool
	listed, done map[string]bool
	edges        map[string][]string // the blockers of each task, without done ones
	waiting      []*Task             // tasks of which it is open whether they join
	joins        map[string]bool
	wrong        map[string]error
	out          []NewTask
}

// place moves the tasks of which all blockers are known or join.
func (n *newTasks) place() {
	for again := true; again; {
		again = false
		n.waiting = slices.DeleteFunc(n.waiting, func(t *Task) bool {
			if slices.ContainsFunc(n.edges[t.ID], n.isOpen) {
				return false
			}
			again = true
			o, wrong := t.planTask(n.edges[t.ID], true)
			if wrong != nil {
				n.wrong[t.ID] = errors.New(wrong.Text)
				return true
			}
			n.out, n.joins[t.ID] = append(n.out, NewTask{ID: t.ID, Task: json.RawMessage(o.Value())}), true
			return true
		})
	}
}

// isOpen reports whether a blocker is neither part of the run nor joins it.
func (n *newTasks) isOpen(id string) bool { return !n.known(id) && !n.joins[id] }

// refuse moves the tasks that wait for one that is missing or cannot join, or for themselves.
func (n *newTasks) refuse() {
	for again := true; again; {
		again = false
		n.waiting = slices.DeleteFunc(n.waiting, func(t *Task) bool {
			for _, b := range n.edges[t.ID] {
				switch {
				case !n.isOpen(b):
				case n.wrong[b] != nil:
					n.wrong[t.ID] = fmt.Errorf("it waits for task %s, which cannot join either", source.Quote(b))
				case !n.listed[b]:
					n.wrong[t.ID] = fmt.Errorf("it waits for task %s, which the list does not have", source.Quote(b))
				}
			}
			again = again || n.wrong[t.ID] != nil
			return n.wrong[t.ID] != nil
		})
	}
	for id := range n.circular() {
		n.wrong[id] = errors.New("it waits for itself, or for tasks that wait for themselves")
	}
}

// circular returns the waiting tasks that wait only for each other.
func (n *newTasks) circular() map[string]bool {
	rest := map[string]bool{}
	for _, t := range n.waiting {
		rest[t.ID] = true
	}
	for size := -1; size != len(rest); {
		size = len(rest)
		maps.DeleteFunc(rest, func(id string, _ bool) bool {
			return slices.ContainsFunc(n.edges[id], func(b string) bool { return n.isOpen(b) && !rest[b] })
		})
	}
	return rest
}
