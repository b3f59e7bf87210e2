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

// ownDisk puts .loop on a file system of its own.
func (p project) ownDisk(options string, flags uintptr) {
	t := p.t
	t.Helper()
	if err := os.MkdirAll(p.loop(), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("crash", p.loop(), "tmpfs", flags, options); err != nil {
		t.Fatalf("mounting a tmpfs with %q: %v", options, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(p.loop(), unix.MNT_DETACH); err != nil {
			t.Errorf("unmounting: %v", err)
		}
	})
}

func (p project) remount(options string, flags uintptr) {
	p.t.Helper()
	if err := unix.Mount("crash", p.loop(), "tmpfs", unix.MS_REMOUNT|flags, options); err != nil {
		p.t.Fatalf("remounting with %q: %v", options, err)
	}
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
			p.ownDisk(fmt.Sprintf("size=%dk", kb), 0)
			e := p.run("run", "plan.json", "--agent", "rehearse", "--plain")
			if e.exit != 0 || kb < 100 {
				e.mustSay(t, 5, "no space left on device", ".loop")
			}
			p.mustBeGone(time.Second, "the end")
			p.remount("size=16m", 0)
			if e.exit != 0 {
				p.mustComplete()
			}
			p.account(true)
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
	p.ownDisk("size=1m", 0)
	w := p.start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json")
	p.mustHave("a", "b")
	fill(t, filepath.Join(p.loop(), "fill"))
	p.write("go", "")
	w.end().mustSay(t, 5, "no space left on device", "journal.jsonl")
	p.mustBeGone(time.Second, "the end")
	if err := os.Remove(filepath.Join(p.loop(), "fill")); err != nil {
		t.Fatal(err)
	}
	p.mustComplete()
	p.account(true)
}

// mustHave waits for files.
func (p project) mustHave(names ...string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), limit)
	defer cancel()
	for _, name := range names {
		if !rig.Until(ctx, func() bool { _, err := os.Stat(filepath.Join(p.dir, name)); return err == nil }) {
			p.t.Fatalf("%s was never there\n%s", name, p.dump())
		}
	}
}

// fill leaves no byte free.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
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
		p.ownDisk("size=1m", unix.MS_RDONLY)
		p.rehearse().mustSay(t, 5, "read-only file system", ".loop")
		p.remount("size=1m", 0)
		p.mustComplete()
		p.mustAddUp()
	})
	t.Run("an unfinished run", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, hangingPlan)
		p.ownDisk("size=1m", 0)
		w := p.start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json")
		w.started(3)
		if err := w.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		w.end()
		p.mustBeGone(2*time.Second, "the kill")
		before, err := os.ReadFile(p.journal())
		if err != nil {
			t.Fatal(err)
		}
		p.remount("size=1m", unix.MS_RDONLY)
		p.rehearse().mustSay(t, 5, "read-only file system", ".loop")
		p.run("resume").mustSay(t, 5, "read-only file system", ".loop")
		if e := p.run("status"); e.exit != 0 {
			t.Errorf("status of a read-only run: exit %d\n%s", e.exit, e.stderr)
		}
		p.remount("size=1m", 0)
		if now, err := os.ReadFile(p.journal()); err != nil || !bytes.Equal(now, before) {
			t.Errorf("the journal changed, %v", err)
		}
		p.mustComplete()
		p.mustAddUp()
	})
}
