package gitwork

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// noWait is Options.lockWait for a test in which no git is at work.
func noWait() error { return nil }

// cutOffRun returns a run whose last session was killed in the minute before now, and its options for the next one.
func cutOffRun(t *testing.T, mode string) (*repo, Options, *[]string) {
	t.Helper()
	r := newRepo(t, files{"a": "1\n"})
	r.git("update-ref", "refs/packed", "HEAD")
	r.git("pack-refs", "--all")
	o := r.options("r1")
	o.Mode, o.lockWait = mode, noWait
	m, err := Open(t.Context(), o)
	must(t, err)
	must(t, m.Close(t.Context()))
	var warned []string
	o.CutOff, o.Warn = time.Now().Add(-time.Minute), func(err error) { warned = append(warned, err.Error()) }
	return r, o, &warned
}

// The locks that a killed git has left are removed when the run goes on, and the run says so.
func TestLocksOfKilledGit(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{Worktree, Shared} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r, o, warned := cutOffRun(t, mode)
			locks := []string{"packed-refs.lock", "packed-refs.new", "HEAD.lock", "ORIG_HEAD.lock", "config.lock",
				"reftable/tables.list.lock"}
			locks = append(locks, map[string]string{Worktree: "refs/heads/main.lock", Shared: "index.lock"}[mode])
			must(t, os.Mkdir(filepath.Join(r.dir, ".git", "reftable"), 0o755))
			own := []string{"refs/wavex/r1.base/x/abc.lock", "refs/wavex/r1/x.lock", "refs/wavex/r1.kept/x/abc.lock",
				"refs/heads/wavex/r1.lock", "refs/wavex/r1.here.lock"}
			other := filepath.Join(r.dir, ".git/refs/wavex/r1.2/x.lock")
			must(t, os.MkdirAll(filepath.Dir(other), 0o755))
			must(t, os.WriteFile(other, nil, 0o600))
			for _, name := range slices.Concat(locks, own) {
				must(t, os.MkdirAll(filepath.Dir(filepath.Join(r.dir, ".git", name)), 0o755))
				must(t, os.WriteFile(filepath.Join(r.dir, ".git", name), nil, 0o600))
			}
			r.open(o)
			if _, err := os.Lstat(other); err != nil {
				t.Error("the lock of another run:", err)
			}
			for _, name := range own {
				if _, err := os.Lstat(filepath.Join(r.dir, ".git", name)); err == nil {
					t.Errorf("%s stays", name)
				}
			}
			for _, name := range locks {
				if _, err := os.Lstat(filepath.Join(r.dir, ".git", name)); err == nil {
					t.Errorf("%s stays", name)
				}
				if all := strings.Join(*warned, "\n"); !strings.Contains(all, "removed git's lock file "+
					filepath.Join(resolveLinks(r.dir), ".git", name)+", which") {
					t.Errorf("the run does not name %s: %s", name, all)
				}
			}
			r.git("commit", "-q", "--allow-empty", "-m", "next")
			r.git("update-ref", "-d", "refs/packed")
		})
	}
}

// A lock that the killed session cannot have left stays.
func TestOtherLocksStay(t *testing.T) {
	t.Parallel()
	r, o, _ := cutOffRun(t, Worktree)
	lock := filepath.Join(r.dir, ".git", "config.lock")
	must(t, os.WriteFile(lock, nil, 0o600))
	before := o
	before.CutOff = time.Time{}
	m, err := Open(t.Context(), before)
	must(t, err)
	must(t, m.Close(t.Context()))
	must(t, os.Chtimes(lock, o.CutOff.Add(-time.Second), o.CutOff.Add(-time.Second)))
	r.open(o)
	if _, err := os.Lstat(lock); err != nil {
		t.Error(err)
	}
}

// The lock of a git at work stays: one that changes, and those beside it, and that of the index, which a person may
// hold. The session after the next one removes those that do not change any more.
func TestLocksOfLiveGit(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"packed-refs.new", "index.lock"} {
		r, o, warned := cutOffRun(t, Worktree)
		lock, beside := filepath.Join(r.dir, ".git", name), filepath.Join(r.dir, ".git", "packed-refs.lock")
		must(t, os.WriteFile(lock, nil, 0o600))
		if name != "index.lock" {
			must(t, os.WriteFile(beside, nil, 0o600))
			o.lockWait = func() error { return os.WriteFile(lock, []byte("more"), 0o600) }
		}
		m, err := Open(t.Context(), o)
		must(t, err)
		must(t, m.Close(t.Context()))
		all := strings.Join(*warned, "\n")
		if says := name + " may be left from the killed session"; strings.Count(all, says) != 1 {
			t.Errorf("it says %q, want %q once", all, says)
		}
		o.CutOff = time.Time{}
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		o.lockWait = stopped.Err
		if _, err := Open(t.Context(), o); err == nil {
			t.Error("a session that is stopped while it waits goes on")
		}
		o.lockWait = noWait
		left := []string{lock}
		if name != "index.lock" {
			left = append(left, beside)
		}
		for _, path := range left {
			if _, err := os.Lstat(path); err != nil {
				t.Error(err)
			}
		}
		r.open(o)
		for _, path := range left {
			if _, err := os.Lstat(path); (err == nil) != (name == "index.lock") {
				t.Errorf("after the session after the next one: %s: %v", path, err)
			}
		}
	}
}

// A lock that its git removes meanwhile is not named.
func TestLockGoesByItself(t *testing.T) {
	t.Parallel()
	r, o, warned := cutOffRun(t, Worktree)
	lock := filepath.Join(r.dir, ".git", "index.lock")
	must(t, os.WriteFile(lock, nil, 0o600))
	o.lockWait = func() error { return os.Remove(lock) }
	r.open(o)
	equal(t, "warnings", *warned, []string(nil))
}
