package crash

// This file tests full and read-only disks. The .loop is on a tmpfs of its own, which can be
// either without harm; the mounts are visible only in the namespace of the tests.

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wavex/e2e/rig"
	"wavex/e2e/scratch"
	"wavex/internal/testrepo"
)

// fiveTasksPlan is a plan of five quick tasks in three waves, one of which fails at first.
const fiveTasksPlan = `{"version": 1, "parallel": 2, "budget": {"usd": 5}, "tasks": [
 {"id": "a", "subject": "a", "verify": ["true"], "rehearse": {"duration": "5ms", "cost": 0.01, "runs": ["seq 2000"]}},
 {"id": "b", "subject": "b", "verify": ["true"], "rehearse": {"duration": "5ms", "cost": 0.02, "runs": ["seq 2000"]}},
 {"id": "c", "subject": "c", "blockedBy": ["a"], "verify": ["test -e c"], "rehearse": {"duration": "5ms", "cost": 0.01, "attempts": [{"outcome": "fail"}, {"writes": [{"path": "c", "content": "c"}]}]}},
 {"id": "d", "subject": "d", "blockedBy": ["b"], "verify": ["true"], "rehearse": {"duration": "5ms", "cost": 0.01}},
 {"id": "e", "subject": "e", "blockedBy": ["c", "d"], "verify": ["true"], "rehearse": {"duration": "5ms", "cost": 0.01}}
]}`

// mountable reports whether tests may mount. If they may not, it prints a message, and in CI it
// fails the test.
func mountable(t *testing.T) bool {
	t.Helper()
	if shared.mounts {
		return true
	}
	if os.Getenv("CI") != "" {
		t.Fatal("there is no mount namespace to test full disks in")
	}
	fmt.Fprintf(os.Stderr, "\n*** crash: %s NOT TESTED: no mount namespace here ***\n\n", t.Name())
	return false
}

// The disk becomes full anywhere in a run: the run stops with a reason, no process is left, and
// with space again it completes without repeating work.
func TestNoRoomLeft(t *testing.T) {
	t.Parallel()
	if !mountable(t) {
		return
	}
	for kb := 4; kb <= 324; kb += 20 {
		t.Run(fmt.Sprint(kb, " KB"), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, fiveTasksPlan)
			scratch.Mount(t, p.Loop(), fmt.Sprintf("size=%dk", kb), 0)
			e := p.Run("run", "plan.json", "--agent", "rehearse", "--plain")
			if e.Exit != 0 || kb < 100 {
				e.MustSay(t, 5, "no space left on device", ".loop")
			}
			p.MustBeGone(time.Second, "the end")
			scratch.Remount(t, p.Loop(), "size=16m", 0)
			if e.Exit != 0 {
				p.MustComplete()
			}
			p.MustAddUp(true)
		})
	}
}

// The space runs out while agents work: their ends can no longer be recorded.
func TestNoRoomForTheJournal(t *testing.T) {
	t.Parallel()
	if !mountable(t) {
		return
	}
	// A report of 4 KB does not fit into the rest of the journal's last page.
	task := `{"id": "%[1]s", "subject": "%[1]s", "verify": ["true"], "rehearse": {"duration": "0s", "runs": ["touch %[1]s; until test -e go; do sleep 0.02; done"],
	  "report": "` + strings.Repeat("long ", 1000) + `"}}`
	p := newProject(t, `{"version": 1, "parallel": 2, "tasks": [`+fmt.Sprintf(task, "a")+","+fmt.Sprintf(task, "b")+`]}`)
	scratch.Mount(t, p.Loop(), "size=1m", 0)
	w := p.Start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json")
	mustHave(p, "a", "b")
	fill(t, filepath.Join(p.Loop(), "fill"))
	p.Write("go", "")
	w.End().MustSay(t, 5, "no space left on device", "journal.jsonl")
	p.MustBeGone(time.Second, "the end")
	testrepo.Must(t, os.Remove(filepath.Join(p.Loop(), "fill")))
	p.MustComplete()
	p.MustAddUp(true)
}

// mustHave waits for files.
func mustHave(p scratch.Project, names ...string) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.T.Context(), scratch.Limit)
	defer cancel()
	for _, name := range names {
		if !rig.Until(ctx, func() bool { _, err := os.Stat(filepath.Join(p.Dir, name)); return err == nil }) {
			p.T.Fatalf("%s was never there\n%s", name, p.Dump())
		}
	}
}

// fill leaves no byte free.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	testrepo.Must(t, err)
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	if !mountable(t) {
		return
	}
	t.Run("a new run", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, fiveTasksPlan)
		scratch.Mount(t, p.Loop(), "size=1m", unix.MS_RDONLY)
		p.Rehearse().MustSay(t, 5, "read-only file system", ".loop")
		scratch.Remount(t, p.Loop(), "size=1m", 0)
		p.MustComplete()
		p.MustAddUp(false)
	})
	t.Run("an unfinished run", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, hangingPlan)
		scratch.Mount(t, p.Loop(), "size=1m", 0)
		w := p.Start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json")
		w.Started(3)
		testrepo.Must(t, w.Cmd.Process.Kill())
		w.End()
		p.MustBeGone(2*time.Second, "the kill")
		before, err := os.ReadFile(p.Journal())
		testrepo.Must(t, err)
		scratch.Remount(t, p.Loop(), "size=1m", unix.MS_RDONLY)
		p.Rehearse().MustSay(t, 5, "read-only file system", ".loop")
		p.Run("resume").MustSay(t, 5, "read-only file system", ".loop")
		if e := p.Run("status"); e.Exit != 0 {
			t.Errorf("status of a read-only run: exit %d\n%s", e.Exit, e.Stderr)
		}
		scratch.Remount(t, p.Loop(), "size=1m", 0)
		if now, err := os.ReadFile(p.Journal()); err != nil || !bytes.Equal(now, before) {
			t.Errorf("the journal changed, %v", err)
		}
		p.MustComplete()
		p.MustAddUp(false)
	})
}
