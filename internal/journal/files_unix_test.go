//go:build unix

package journal_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// Named pipes and folders in place of the journal's files are refused without blocking.
func TestNonRegularFiles(t *testing.T) {
	t.Parallel()
	folder := func(t *testing.T, path string) { testrepo.Must(t, os.Mkdir(path, 0o755)) }
	pipe := func(t *testing.T, path string) { testrepo.NamedPipe(t, path) }
	for name, lay := range map[string]func(t *testing.T, path string){"a folder": folder, "a pipe": pipe} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "journal.jsonl")
			lay(t, path)
			lay(t, filepath.Join(dir, "lock"))
			for what, try := range map[string]func() error{
				"Open": func() error { _, _, err := journal.Open(path); return err },
				"Read": func() error { _, err := journal.Read(path); return err },
				"Last": func() error { _, err := journal.Last(path, 1<<10); return err },
				"Next": func() error { _, _, err := journal.Follow(path).Next(); return err },
			} {
				var bad *journal.CorruptError
				if err := try(); !errors.As(err, &bad) || bad.Line != 1 || bad.Path != path {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err := journal.TryLock(loop.Dir(dir), journal.Holder{PID: 1})
			var held *journal.LockedError
			if err == nil || errors.As(err, &held) || journal.CheckLock(loop.Dir(dir)) == nil || journal.Locked(loop.Dir(dir)) {
				t.Errorf("the lock: %v, free %v", err, journal.CheckLock(loop.Dir(dir)))
			}
		})
		t.Run("the holder is "+name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l, err := journal.TryLock(loop.Dir(dir), journal.Holder{PID: 1})
			testrepo.Must(t, err)
			testrepo.Must(t, os.Remove(filepath.Join(dir, "holder.json")))
			lay(t, filepath.Join(dir, "holder.json"))
			var held *journal.LockedError
			_, err = journal.TryLock(loop.Dir(dir), journal.Holder{PID: 2})
			if !errors.As(err, &held) || held.Holder.PID != 0 ||
				!journal.Locked(loop.Dir(dir)) {
				t.Errorf("%v", err)
			}
			testrepo.Must(t, l.Unlock())
		})
	}
}

// An oversized holder's file is not read, and the lock is still held.
func TestLongHolderFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := journal.TryLock(loop.Dir(dir), journal.Holder{PID: 1})
	testrepo.Must(t, err)
	testrepo.Must(t, os.Truncate(filepath.Join(dir, "holder.json"), 1<<33)) // sparse
	var held *journal.LockedError
	if _, err = journal.TryLock(loop.Dir(dir), journal.Holder{PID: 2}); !errors.As(err, &held) || held.Holder.PID != 0 {
		t.Errorf("%v", err)
	}
	testrepo.Must(t, l.Unlock())
}

// A process that may open no more files writes its journal on, and blames no other process for a change.
func TestNoMoreOpenFiles(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("FEW_FILES")
	if dir == "" {
		dir = filepath.Join(t.TempDir(), loop.Name)
		testrepo.Must(t, os.Mkdir(dir, 0o755))
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoMoreOpenFiles$")
		c.Env = append(os.Environ(), "FEW_FILES="+dir)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	l, _, err := journal.Open(filepath.Join(dir, "journal.jsonl"))
	testrepo.Must(t, err)
	testrepo.Must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 24, Max: 24}))
	for err == nil {
		_, err = os.Open(os.DevNull) // open until the end of this process
	}
	err = errors.Join(l.Append([]byte(`{"n":1}`)), l.Sync(), l.Append([]byte(`{"n":2}`)), l.Sync())
	if err != nil || l.Restored() != 0 {
		t.Errorf("restored %d times, %v", l.Restored(), err)
	}
}
