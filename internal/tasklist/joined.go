package tasklist

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"time"
)

// This file finds tasks that somebody added to a list while a run of it goes on. It does not
// decide whether they can join.

// Settled is how long a task must have been left alone before it joins a run: a session of
// Claude Code makes its tasks first, one call after the other, and says what blocks them after.
const Settled = time.Minute

// Joined gives the tasks of the list that known does not know, are pending, and have not
// changed since before: each as in the tasks of a plan file, behind those that block it. Tasks
// that run added itself are left out, and those that wait for one that is left out or
// cannot be read.
func (l *List) Joined(ctx context.Context, run string, known func(id string) bool, before time.Time) ([]json.RawMessage, error) {
	tasks, _, err := l.Read(ctx)
	if err != nil {
		return nil, err
	}
	done := map[string]bool{}
	for _, t := range tasks {
		done[t.ID] = t.Status == Completed && !known(t.ID)
	}
	edges := blockers(tasks, done)
	var out []json.RawMessage
	placed := map[string]bool{}
	for again := true; again; {
		again = false
		for _, t := range tasks {
			if known(t.ID) || placed[t.ID] || t.Status != Pending || !t.belongs(run) || !l.quiet(t.ID, before) ||
				slices.ContainsFunc(edges[t.ID], func(b string) bool { return !known(b) && !placed[b] }) {
				continue
			}
			o, wrong := t.native(edges[t.ID])
			if wrong != nil {
				continue
			}
			out = append(out, json.RawMessage(o.value()))
			placed[t.ID], again = true, true
		}
	}
	return out, nil
}

// quiet tells whether a task's file is as it was before a time.
func (l *List) quiet(id string, before time.Time) bool {
	st, err := os.Stat(l.file(id))
	return err == nil && st.ModTime().Before(before)
}
