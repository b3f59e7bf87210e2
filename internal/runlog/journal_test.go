package runlog

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
	"wavex/internal/usererr"
)

// One of many concurrent writers succeeds, and no record is lost.
func TestOnlyOneWriter(t *testing.T) {
	t.Parallel()
	folder := loop.In(t.TempDir())
	var all sync.WaitGroup
	var mu sync.Mutex
	won, seen := 0, map[string]bool{}
	for n := range 8 {
		all.Go(func() {
			run := fmt.Sprintf("r-%d", n)
			j, _, err := Open(folder, run, false, 0)
			var held *journal.LockedError
			var blocked *usererr.BlockedError
			if errors.As(err, &held) || errors.As(err, &blocked) {
				return
			}
			if err != nil {
				t.Errorf("%s: %v", run, err)
				return
			}
			defer j.Close()
			if err := errors.Join(j.Append(event.Event{Seq: 1, Body: started(run)}), j.Sync()); err != nil {
				t.Errorf("%s: %v", run, err)
			}
			mu.Lock()
			won++
			seen[run] = true
			mu.Unlock()
		})
	}
	all.Wait()
	events, err := Read(folder)
	if err != nil || won != 1 || len(events) != 1 || !seen[Last(events).Config.Run] {
		t.Errorf("%d have written: %+v, %v", won, events, err)
	}
}

// A lock that another process holds for an instant, as wavex watch does again and again, is awaited. One that it keeps
// is not.
func TestLockIsLookedAt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		looks time.Duration
		ok    bool
	}{"an instant": {lockLook / 2, true}, "for long": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := loop.Dir(t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				look := flock.New(dir.Path(loop.Lock))
				_, err := look.TryRLock()
				testrepo.Must(t, err)
				over := time.AfterFunc(c.looks, func() { testrepo.Must(t, look.Unlock()) })
				var held *journal.LockedError
				l, err := Lock(dir, "r-1")
				if (err == nil) != c.ok || err != nil && !errors.As(err, &held) {
					t.Errorf("%v", err)
				}
				if err == nil {
					testrepo.Must(t, l.Unlock())
				} else if over.Stop() {
					testrepo.Must(t, look.Unlock())
				}
			})
		})
	}
}

// Whatever is in the place of .loop, Open returns an error and changes nothing.
func TestOpenWithObstacles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files  testrepo.Files
		lay    func(t *testing.T, folder loop.Dir)
		unread bool // Read returns an error as well
	}{
		"a file": {testrepo.Files{".loop": "mine\n"}, nil, true},
		"a link that dangles": {nil, func(t *testing.T, folder loop.Dir) {
			testrepo.Must(t, os.Symlink("nowhere", string(folder)))
		}, false},
		"another's journal":       {testrepo.Files{".loop/journal.jsonl": "mine\n"}, nil, true},
		"a folder":                {testrepo.Files{".loop/journal.jsonl/x": "mine\n"}, nil, true},
		"a lock that is a folder": {testrepo.Files{".loop/lock/x": "mine\n"}, nil, false},
		"a pipe": {testrepo.Files{".loop/x": "mine\n"},
			func(t *testing.T, folder loop.Dir) { testrepo.NamedPipe(t, folder.Path(loop.Journal)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			folder := loop.In(dir)
			c.files.Write(t, dir)
			if c.lay != nil {
				c.lay(t, folder)
			}
			if j, _, err := Open(folder, "r-1", false, 0); err == nil {
				j.Close()
				t.Error("it was opened")
			}
			for name := range c.files {
				if got := text(t, dir, name); got != "mine\n" {
					t.Errorf("%s was written to: %q", name, got)
				}
			}
			if events, err := Read(folder); len(events) > 0 || err == nil && c.unread {
				t.Errorf("it was read: %v, %v", events, err)
			}
		})
	}
}

// The id of a run is a part of paths, so a journal with one that leads elsewhere is refused.
func TestRunIDsThatArePaths(t *testing.T) {
	t.Parallel()
	for run, refused := range map[string]bool{"r-1": false, "": false, "..": true, "../../victim": true, "/victim": true} {
		dir := loop.In(t.TempDir())
		testrepo.Journal(t, dir, event.RunStarted{Config: event.Config{Run: run}})
		if _, err := Read(dir); (err != nil) != refused {
			t.Errorf("%q: %v", run, err)
		}
	}
}

// If another process removes .loop during a run, it is made again with its lock, and nothing is
// lost. No other wavex can begin in the project meanwhile.
func TestDirIsRestored(t *testing.T) {
	t.Parallel()
	folder := loop.In(t.TempDir())
	j, _, err := Open(folder, "r-1", false, 0)
	testrepo.Must(t, err)
	defer j.Close()
	add := func(seq int64) error {
		return errors.Join(j.Append(event.Event{Seq: seq, Body: event.Notice{Text: "x"}}), j.Sync())
	}
	testrepo.Must(t, add(1))
	testrepo.Must(t, os.RemoveAll(string(folder)))
	testrepo.Must(t, add(2))
	if events, err := Read(folder); err != nil || len(events) != 2 || j.Restored() != 1 {
		t.Errorf("%+v, %v; restored %d times", events, err, j.Restored())
	}
	var held *journal.LockedError
	if _, _, err := Open(folder, "r-2", false, 2); !errors.As(err, &held) || held.Holder.Run != "r-1" {
		t.Errorf("the lock is free: %v", err)
	}
	if got := text(t, string(folder), ".gitignore"); got != "*\n" {
		t.Errorf("git would see it: %q", got)
	}
	testrepo.Must(t, os.RemoveAll(string(folder)))
	if _, _, err := Open(folder, "r-3", false, 0); !errors.As(err, &held) {
		t.Errorf("two work in one project: %v", err)
	}
	testrepo.Must(t, add(3))
	if events, err := Read(folder); err != nil || len(events) != 3 {
		t.Errorf("%+v, %v", events, err)
	}
}

// A folder without permissions is an error, not a missing journal.
func TestUnreadableDirIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if events, err := Read(loop.In(dir)); err != nil || len(events) != 0 {
		t.Errorf("%v, %v", events, err)
	}
	if _, err := os.Stat(string(loop.In(dir))); err == nil {
		t.Error("reading made it")
	}
	folder, _ := written(t, started("r-1"))
	at := folder.Path(loop.Journal)
	whole := text(t, at)
	// A last line that is incomplete is ignored; every other invalid record is an error with its
	// line.
	testrepo.Must(t, os.WriteFile(at, []byte(whole+`{"v":1,"seq":2`), 0o600))
	if events, err := Read(folder); err != nil || len(events) != 1 {
		t.Errorf("a torn line: %v, %v", events, err)
	}
	testrepo.Must(t, os.WriteFile(at, []byte(strings.Replace(whole, "r-1", "r-2", 1)), 0o600))
	var bad *journal.CorruptError
	if _, err := Read(folder); !errors.As(err, &bad) || bad.Line != 2 {
		t.Errorf("a changed record: %v", err)
	}
}
