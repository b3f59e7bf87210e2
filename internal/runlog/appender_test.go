package runlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/notes"
	"wavex/internal/testrepo"
)

// newAppender returns a run to which records can be added.
func newAppender(t *testing.T, bodies ...event.Body) (a *Appender, dir string) {
	t.Helper()
	dir, folder := project(t, bodies...)
	p, err := Load(folder, "", "")
	testrepo.Must(t, err)
	return &Appender{State: p.State, Events: p.Events}, dir
}

func text(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	testrepo.Must(t, err)
	return string(b)
}

// Added records have no secrets, each is made from the state that the one before led to, and the
// files and the tracking directory are updated.
func TestAppend(t *testing.T) {
	t.Setenv("RECORD_TEST_TOKEN", "a-very-secret-value-2")
	begun := started("r-1")
	begun.Config.Track = t.TempDir()
	a, dir := newAppender(t, begun, event.RunEnded{Status: "complete"})
	folder := loop.In(dir)
	var warn bytes.Buffer
	testrepo.Must(t, a.Append(&warn,
		func() event.Body {
			return event.TasksAdded{Wave: 2, Origin: "verify", Round: 1, Tasks: []event.Added{{ID: "V-001",
				For: "a stub", Task: json.RawMessage(`{"id":"V-001","subject":"mend a-very-secret-value-2"}`)}}}
		},
		func() event.Body {
			return event.RunEnded{Status: "failed", Reason: fmt.Sprintf("%d tasks", len(a.State.Tasks))}
		}))
	if warn.Len() > 0 {
		t.Errorf("it warns: %s", &warn)
	}
	events, err := Read(folder)
	if err != nil || len(events) != 4 || len(a.Events) != 4 || events[2].Seq != 3 || events[3].Seq != 4 {
		t.Fatalf("%+v, %v", events, err)
	}
	if got := string(events[2].Body.(event.TasksAdded).Tasks[0].Task); !strings.Contains(got,
		"mend [redacted: RECORD_TEST_TOKEN]") {
		t.Errorf("on record is %s", got)
	}
	if end := Last(events).Ended; end == nil || end.Reason != "3 tasks" || a.State.Ended == nil ||
		a.State.Ended.Reason != end.Reason {
		t.Errorf("the run has ended %+v", end)
	}
	got := text(t, string(folder), "PROGRESS.md")
	if !strings.Contains(got, "V-001") || strings.Contains(got, "very-secret") {
		t.Errorf("PROGRESS.md:\n%s", got)
	}
	if got := text(t, begun.Config.Track, notes.ContextFile); !strings.Contains(got, "1 task added to the plan") {
		t.Errorf("the tracking directory has\n%s", got)
	}
}

// If one of several bodies is invalid, none of them is recorded.
func TestAppendIsAtomic(t *testing.T) {
	t.Parallel()
	a, dir := newAppender(t, started("r-1"), event.RunEnded{Status: "paused"})
	before := text(t, dir, ".loop", loop.Journal)
	err := a.Append(io.Discard, func() event.Body { return event.Notice{Text: "one"} },
		func() event.Body { return event.AttemptStarted{Task: "a", Attempt: 1, Cap: 5} }) // the budget is used up
	if err == nil {
		t.Error("an attempt was begun without money")
	}
	if got := text(t, dir, ".loop", loop.Journal); got != before {
		t.Errorf("the journal is\n%s", got)
	}
}

// A file that cannot be written is a warning, because the journal has everything.
func TestAppendWarns(t *testing.T) {
	t.Parallel()
	begun := started("r-1")
	begun.Config.Track = filepath.Join(t.TempDir(), "gone")
	a, dir := newAppender(t, begun, event.RunEnded{Status: "paused"})
	testrepo.Files{".loop/PROGRESS.md/x": ""}.Write(t, dir)
	var warn bytes.Buffer
	testrepo.Must(t, a.Append(&warn, func() event.Body { return event.Notice{Text: "one"} }))
	if !strings.HasPrefix(warn.String(), "wavex: warning:") || strings.Count(warn.String(), "\n") != 1 {
		t.Errorf("it warns %q", &warn)
	}
	if events, err := Read(loop.In(dir)); err != nil || len(events) != 3 {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// Rebuild writes the files of the last run, and refuses a run under way and older runs.
func TestRebuild(t *testing.T) {
	t.Parallel()
	a, dir := newAppender(t, started("r-1"), event.RunEnded{Status: "paused"})
	folder := loop.In(dir)
	testrepo.Must(t, Rebuild(a.State, a.Events))
	first := text(t, string(folder), "PROGRESS.md")
	testrepo.Files{"PROGRESS.md": "mine"}.Write(t, string(folder))
	lock, err := Lock(folder, "r-1")
	testrepo.Must(t, err)
	var held *journal.LockedError
	if err := Rebuild(a.State, a.Events); !errors.As(err, &held) || text(t, string(folder), "PROGRESS.md") != "mine" {
		t.Errorf("while it is under way: %v", err)
	}
	testrepo.Must(t, lock.Unlock())
	testrepo.Must(t, Rebuild(a.State, a.Events))
	if got := text(t, string(folder), "PROGRESS.md"); got != first {
		t.Errorf("it is\n%s\nand was\n%s", got, first)
	}
	testrepo.Journal(t, folder, started("r-2"))
	if err := Rebuild(a.State, a.Events); err == nil {
		t.Error("the files of a run before the last one were written")
	}
	if lock, err := Lock(folder, "r-1"); err != nil {
		t.Errorf("the lock was kept: %v", err)
	} else {
		testrepo.Must(t, lock.Unlock())
	}
}
