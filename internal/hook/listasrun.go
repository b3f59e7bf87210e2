package hook

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/tasklist"
	"wavex/internal/textfmt"
)

// This file handles the other kind of loop: tasks of Claude Code's own list, which the session does
// itself. A session works on a list if its environment names the list.

// Bounds of a hook's reading of a list.
const (
	maxFiles      = 1000
	readTimeout   = 40 * time.Millisecond
	maxNamedTasks = 3 // pending tasks that are listed by name
)

// ReadList reads the task list of a session as if it were the session's run. It ignores tasks that
// a run has taken. It returns an error if the list is too long, or if a file of the list is being
// written.
func ReadList(ctx context.Context, in Input, name string, getenv func(string) string) (Run, error) {
	l, err := tasklist.Open(name, getenv)
	if err != nil {
		return Run{}, err
	}
	entries, err := os.ReadDir(l.Dir)
	if err != nil {
		return Run{}, err
	}
	if len(entries) > maxFiles {
		return Run{}, fmt.Errorf("task list %s has more than %d files", l.Name, maxFiles)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, readTimeout, fmt.Errorf("task list %s is being written", l.Name))
	defer cancel()
	all, _, err := l.Read(ctx) // files that are not tasks are ignored
	if err != nil {
		return Run{}, err
	}
	r := Run{List: l.Name, Snapshot: Snapshot{V: SnapshotVersion, Run: l.Name, Owner: in.Session, Dir: in.Dir, Plan: l.Dir,
		Name: l.Name}}
	if cache, err := os.UserCacheDir(); err == nil {
		r.Loop = loop.Dir(filepath.Join(cache, "wavex"))
	}
	done := map[string]bool{}
	for _, t := range all {
		done[t.ID] = t.Status == tasklist.Completed
	}
	var open []*tasklist.Task
	for _, t := range all {
		if t.Metadata.Text("loopId") != "" {
			continue
		}
		r.Snapshot.Tasks++
		if t.Status == tasklist.Completed {
			r.Snapshot.Completed++
		} else {
			open = append(open, t)
		}
	}
	slices.SortStableFunc(open, func(a, b *tasklist.Task) int { return taskRank(a, done) - taskRank(b, done) })
	for i, t := range open {
		r.Pending = append(r.Pending, textfmt.ClipMiddle(maxSubject, t.Subject))
		if i == 0 {
			r.Snapshot.Current = []Task{{ID: t.ID, Subject: textfmt.ClipMiddle(maxSubject, t.Subject),
				Content: textfmt.ClipMiddle(maxContent, t.Description), Status: event.Status(t.Status)}}
		}
	}
	return r, nil
}

// taskRank orders open tasks: first those in progress, then those that can start, then those that wait.
func taskRank(t *tasklist.Task, done map[string]bool) int {
	switch {
	case t.Status == tasklist.InProgress:
		return 0
	case slices.ContainsFunc(t.BlockedBy, func(id string) bool { d, there := done[id]; return there && !d }):
		return 2
	}
	return 1
}

// pendingText names the first tasks that are not completed.
func pendingText(list []string) string {
	return "pending tasks: " + textfmt.FirstOf(list, maxNamedTasks, 0)
}
