package runlog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/report/reporttest"
	"wavex/internal/secret"
	"wavex/internal/testrepo"
	"wavex/scheduler"
)

// longRun writes the journal of a run that is long by a notice, with the outline of its plan.
func longRun(t *testing.T, story *reporttest.FakeRun, more ...event.Body) loop.Dir {
	t.Helper()
	dir := loop.In(t.TempDir())
	var tasks []string
	for i := range story.S.Plan.Tasks {
		task := &story.S.Plan.Tasks[i]
		tasks = append(tasks, fmt.Sprintf(`{"id":%q,"subject":%q,"command":"true"}`, task.ID, task.Title()))
	}
	p := testrepo.Plan(t, filepath.Dir(string(dir)), `{"tasks":[`+strings.Join(tasks, ",")+`]}`)
	var bodies []event.Body
	for _, e := range story.Events {
		if b, ok := e.Body.(event.RunStarted); ok {
			b.Digest = p.Digest
			e.Body = b
		}
		if b, ok := e.Body.(event.RunResumed); ok {
			b.Digest = p.Digest
			e.Body = b
		}
		bodies = append(bodies, e.Body)
	}
	bodies = append(bodies, event.Notice{Level: "info", Text: strings.Repeat("x", longJournal)})
	testrepo.Must(t, os.MkdirAll(string(dir), 0o755))
	testrepo.Journal(t, dir, append(bodies, more...)...)
	testrepo.Must(t, SavePlan(dir, story.S.Config.Run, p, secret.New(nil)))
	return dir
}

// ReadTask returns of each task what the whole journal says, or nothing.
func TestReadTask(t *testing.T) {
	t.Parallel()
	story := reporttest.BigRun(t, 60)
	dir := longRun(t, story)
	events, err := Read(dir)
	testrepo.Must(t, err)
	s := scheduler.NewState(story.S.Plan)
	testrepo.Must(t, s.Replay(events))
	for i := range s.Tasks {
		id := s.Plan.Tasks[i].ID
		var want []event.Event
		for _, e := range events {
			switch b := e.Body.(type) {
			case event.AttemptStarted:
				if b.Task == id {
					want = append(want, e)
				}
			case event.AttemptEnded:
				if b.Task == id {
					want = append(want, e)
				}
			}
		}
		got := ReadTask(dir, id)
		if len(want) == 0 {
			if got != nil {
				t.Errorf("%s without an attempt: %+v", id, got)
			}
			continue
		}
		if got == nil || got.Attempts != s.Tasks[i].Attempts || got.Task.Title() != s.Plan.Tasks[i].Title() ||
			got.Run != s.Config.Run || !slices.EqualFunc(got.Events, want, func(a, b event.Event) bool {
			return a.Seq == b.Seq && a.Body.Type() == b.Body.Type()
		}) {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

// Where the records of the task may not be enough, the whole journal is read.
func TestReadTaskNeedsMore(t *testing.T) {
	t.Parallel()
	story := reporttest.BigRun(t, 60)
	open := event.AttemptStarted{Task: "T-001", Wave: 1, Attempt: 9, Why: "again"}
	for name, tt := range map[string]struct {
		dir  func() loop.Dir
		task string
		want bool
	}{
		"known":          {func() loop.Dir { return longRun(t, story) }, "T-001", true},
		"unknown":        {func() loop.Dir { return longRun(t, story) }, "T-999", false},
		"another id":     {func() loop.Dir { return longRun(t, story) }, "T-00", false},
		"an odd id":      {func() loop.Dir { return longRun(t, story) }, "T 001", false},
		"rolled back":    {func() loop.Dir { return longRun(t, story, event.RolledBack{}) }, "T-001", false},
		"cut off":        {func() loop.Dir { return longRun(t, story, open) }, "T-001", false},
		"a new run":      {func() loop.Dir { return longRun(t, story, event.RunStarted{}) }, "T-001", false},
		"another digest": {func() loop.Dir { return longRun(t, story, event.RunResumed{Digest: "0"}) }, "T-001", false},
		"a short journal": {func() loop.Dir {
			dir := longRun(t, story)
			testrepo.Must(t, os.Truncate(dir.Path(loop.Journal), 2000))
			return dir
		}, "T-001", false},
		"a flipped record": {func() loop.Dir {
			dir := longRun(t, story)
			text, err := os.ReadFile(dir.Path(loop.Journal))
			testrepo.Must(t, err)
			text[len(text)-60] ^= 1
			testrepo.Must(t, os.WriteFile(dir.Path(loop.Journal), text, 0o600))
			return dir
		}, "T-001", false},
		"running": {func() loop.Dir {
			dir := longRun(t, story, open)
			lock, err := journal.TryLock(dir, journal.Holder{})
			testrepo.Must(t, err)
			t.Cleanup(func() { _ = lock.Unlock() })
			return dir
		}, "T-001", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ReadTask(tt.dir(), tt.task); (got != nil) != tt.want {
				t.Errorf("%+v", got)
			}
		})
	}
}
