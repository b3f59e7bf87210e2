package tasklist

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"time"
)

// This file finds tasks that were added to a list during a run of it. It does not decide whether
// they can join.

// QuietPeriod is the minimum age of a task's last change before the task joins a run: a session of
// Claude Code first creates its tasks, one call after the other, and sets their blockers
// afterwards.
const QuietPeriod = time.Minute

// NewTasks returns the pending tasks of the list that known does not know and that have not changed
// since before, each in the form of a plan file, after its blockers. It omits tasks that run added
// itself, and tasks that wait for an omitted or unreadable task.
func (l *List) NewTasks(ctx context.Context, run string, known func(id string) bool,
	before time.Time) ([]json.RawMessage, error) {
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
			if known(t.ID) || placed[t.ID] || t.Status != Pending || !t.isPartOf(run) ||
				slices.ContainsFunc(edges[t.ID], func(b string) bool { return !known(b) && !placed[b] }) {
				continue
			}
			o, wrong := t.planTask(edges[t.ID])
			st, err := os.Stat(l.file(t.ID))
			if wrong != nil || err != nil || !st.ModTime().Before(before) {
				continue
			}
			out = append(out, json.RawMessage(o.Value()))
			placed[t.ID], again = true, true
		}
	}
	return out, nil
}
