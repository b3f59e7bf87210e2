package cmd

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"wavex/internal/event"
	"wavex/internal/gitwork"
)

// This file finds the checkpoints between which the tasks of a list ran, for a rollback of the list as a whole.

// resolveList resolves a list whose id is printed as name.
func (b *rollback) resolveList(name string, inList func(task int) bool) error {
	b.list = b.span(inList)
	b.target.Task, b.target.Until = b.list.first, b.list.last
	switch {
	case b.list.partly:
		return usage("some tasks of %s were rolled back before, so no checkpoint is from before all of them: "+
			"roll back the others one by one, like wavex rollback %q", name, b.target.Until)
	case b.target.Task == "":
		return usage("no task of %s has begun", name)
	}
	return nil
}

// listSpan tells which attempts of a list's tasks the last run had since its beginning, or since a rollback of them
// all.
type listSpan struct {
	first string // the task whose attempt began first
	last  string // the one whose attempt ended last, or did not end
	// beside lists the other tasks that had an attempt in between and declare no file: their changes cannot be told
	// apart.
	beside    []string
	abreast   []string // tasks of the list whose attempts began before one of the list ended
	partly    bool     // some of the tasks were rolled back, others were not
	begun     map[string]bool
	meanwhile []string // since the last attempt of the list that ended
}

func (b *rollback) span(inList func(task int) bool) listSpan {
	running, l := map[string]bool{}, listSpan{begun: map[string]bool{}}
	for _, e := range b.events {
		id := ""
		switch body := e.Body.(type) {
		case event.RunStarted:
			clear(running)
			l = listSpan{begun: map[string]bool{}}
		case event.RolledBack:
			l.rolledBack(body.Tasks)
		case event.AttemptStarted:
			id = body.Task
			running[id] = true
		case event.AttemptEnded:
			id = body.Task
			delete(running, id)
		}
		i, ok := b.s.Index(id)
		switch {
		case !ok:
		case inList(i):
			l.own(id, running)
		case l.first != "":
			l.meanwhile = append(l.meanwhile, id)
		}
	}
	l.beside = slices.DeleteFunc(l.beside, func(id string) bool {
		i, ok := b.s.Index(id)
		return !ok || inList(i) || len(b.s.Plan.Tasks[i].Files) > 0
	})
	slices.Sort(l.beside)
	l.beside = slices.Compact(l.beside)
	for id := range running { // a kill cut it off: it has no state at its end
		if l.begun[id] {
			l.last = id
		}
	}
	l.last = cmp.Or(l.last, l.first)
	return l
}

// own takes the begin or the end of an attempt of a task of the list. running has the tasks that run now.
func (l *listSpan) own(id string, running map[string]bool) {
	if !running[id] { // it has ended
		l.last, l.beside, l.meanwhile = id, append(l.beside, l.meanwhile...), nil
		return
	}
	if l.first == "" {
		l.first, l.meanwhile = id, slices.Collect(maps.Keys(running))
	}
	if l.last == "" && !slices.Contains(l.abreast, id) {
		l.abreast = append(l.abreast, id)
	}
	l.begun[id] = true
}

// orderFirst finds the task of the list whose checkpoint was made first. The others of those that began together began
// after it.
func (b *rollback) orderFirst(ctx context.Context, points *gitwork.Checkpoints) error {
	if len(b.list.abreast) < 2 {
		return nil
	}
	first, err := points.FirstOf(ctx, b.list.abreast)
	if err != nil || first == "" {
		return err
	}
	b.list.first, b.list.abreast = first, []string{first}
	b.target.Task = first
	return nil
}

// rolledBack takes a rollback of tasks.
func (l *listSpan) rolledBack(tasks []string) {
	before := len(l.begun)
	maps.DeleteFunc(l.begun, func(id string, _ bool) bool { return slices.Contains(tasks, id) })
	l.partly = l.partly || len(l.begun) < before
	if l.partly && len(l.begun) == 0 {
		*l = listSpan{begun: l.begun}
	}
}
