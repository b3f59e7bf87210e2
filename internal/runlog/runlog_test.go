package runlog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
	"wavex/internal/usererr"
)

// written writes events into the journal of a new .loop directory.
func written(t *testing.T, bodies ...event.Body) (folder loop.Dir, events []event.Event) {
	t.Helper()
	folder = loop.In(t.TempDir())
	return folder, testrepo.Journal(t, folder, bodies...)
}

func started(run string) event.RunStarted {
	return event.RunStarted{Config: event.Config{Run: run}, Plan: "plan.json", Digest: "d"}
}

func TestOpenRefusesAChangedJournal(t *testing.T) {
	t.Parallel()
	folder, _ := written(t, started("r-1"))
	var blocked *usererr.BlockedError
	if _, _, err := Open(folder, "r-2", false, 0); !errors.As(err, &blocked) {
		t.Errorf("a journal that grew since: %v", err)
	}
	j, events, err := Open(folder, "r-2", false, 1) // the lock was released
	if err != nil || len(events) != 1 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	var held *journal.LockedError
	if _, _, err := Open(folder, "r-3", true, 0); !errors.As(err, &held) {
		t.Errorf("a run under way was moved aside: %v", err)
	}
	j.Close()
	j.Close()
	j, events, err = Open(folder, "r-3", true, 0)
	if err != nil || len(events) != 0 {
		t.Fatalf("afresh: %d events, %v", len(events), err)
	}
	j.Close()
	kept, err := filepath.Glob(string(folder) + ".bak-*")
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %q, %v", kept, err)
	}
	if old, err := Read(loop.Dir(kept[0])); err != nil || len(old) != 1 {
		t.Errorf("of the old journal %d events are left, %v", len(old), err)
	}
}

func TestLastAndFinal(t *testing.T) {
	t.Parallel()
	ended := func(status event.RunStatus) event.Body { return event.RunEnded{Status: status} }
	for name, c := range map[string]struct {
		bodies         []event.Body
		run            string
		over, complete bool
	}{
		"none":        {nil, "", false, false},
		"under way":   {[]event.Body{started("a")}, "a", false, false},
		"paused":      {[]event.Body{started("a"), ended("paused")}, "a", false, false},
		"complete":    {[]event.Body{started("a"), ended("complete")}, "a", true, true},
		"cancelled":   {[]event.Body{started("a"), ended(event.RunCancelled)}, "a", true, false},
		"tasks added": {[]event.Body{started("a"), ended("complete"), event.TasksAdded{}}, "a", false, false},
		"rolled back": {[]event.Body{started("a"), ended("complete"), event.RolledBack{What: "run"}}, "a",
			false, false},
		"a further run": {[]event.Body{started("a"), ended("complete"), started("b")}, "b", false, false},
		"resumed, ended": {[]event.Body{started("a"), ended("paused"),
			event.RunResumed{Config: event.Config{Run: "a"}}, ended("complete")}, "a", true, true},
		// Lines were removed from the journal.
		"only resumed": {[]event.Body{event.RunResumed{Config: event.Config{Run: "a"}}, ended("paused")}, "a",
			false, false},
		"only tasks added":  {[]event.Body{event.TasksAdded{}}, "", false, false},
		"only ended":        {[]event.Body{ended("complete")}, "", false, false},
		"added, then a run": {[]event.Body{event.TasksAdded{}, ended("complete"), started("b")}, "b", false, false},
	} {
		folder, _ := written(t, c.bodies...)
		events, err := Read(folder)
		testrepo.Must(t, err)
		last := Last(events)
		if last == nil {
			if c.run != "" {
				t.Errorf("%s: no run", name)
			}
			continue
		}
		if last.Config.Run != c.run || last.Final() != c.over || last.Complete() != c.complete {
			t.Errorf("%s: %+v", name, last)
		}
	}
}

// A fresh start moves the old run aside, and keeps the user's experts.
func TestFreshKeepsExperts(t *testing.T) {
	t.Parallel()
	folder := loop.In(t.TempDir())
	mine := folder.Path("experts", "mine.md")
	for _, err := range []error{os.MkdirAll(filepath.Dir(mine), 0o755), os.WriteFile(mine, []byte("mine"), 0o644),
		os.WriteFile(folder.Path("state.json"), nil, 0o644)} {
		testrepo.Must(t, err)
	}
	j, _, err := Open(folder, "run", true, 0)
	testrepo.Must(t, err)
	defer j.Close()
	if text, err := os.ReadFile(mine); err != nil || string(text) != "mine" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Stat(folder.Path("state.json")); !os.IsNotExist(err) {
		t.Errorf("a file of the old run is still there: %v", err)
	}
	if old := Backups(folder); len(old) != 1 {
		t.Errorf("aside: %v", old)
	}
}

// A run is alive while a process holds its lock, and not if the lock cannot be read.
func TestAlive(t *testing.T) {
	t.Parallel()
	folder, _ := written(t, started("r-1"))
	plan := filepath.Join(filepath.Dir(string(folder)), "plan.json")
	testrepo.Must(t, os.WriteFile(plan, []byte(`{"tasks":[{"id":"a","subject":"a"}]}`), 0o600))
	alive := func(when string, want bool) {
		t.Helper()
		past, err := Load(folder, plan, "")
		f := Follow(folder, plan)
		_, ferr := f.Poll(nil)
		if err != nil || ferr != nil || past.Alive != want || f.Alive != want {
			t.Fatalf("%s: %+v, %v; followed %v, %v", when, past, err, f.Alive, ferr)
		}
	}
	alive("free", false)
	lock, err := Lock(folder, "r-1")
	testrepo.Must(t, err)
	alive("held", true)
	testrepo.Must(t, lock.Unlock())
	testrepo.Must(t, errors.Join(os.Remove(folder.Path(loop.Lock)), os.Mkdir(folder.Path(loop.Lock),
		0o700)))
	if err := journal.CheckLock(folder); err == nil {
		t.Fatal("a folder was locked")
	}
	alive("no lock at all", false)
}
