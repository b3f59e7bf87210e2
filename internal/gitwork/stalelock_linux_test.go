package gitwork

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wavex/internal/proc/proctest"
)

// cutOffRun returns a run whose last session was killed in the minute before now, and its options for the next one.
func cutOffRun(t *testing.T, mode string) (*repo, Options, *[]string) {
	t.Helper()
	r := newRepo(t, files{"a": "1\n"})
	r.git("update-ref", "refs/packed", "HEAD")
	r.git("pack-refs", "--all")
	o := r.options("r1")
	o.Mode, o.allVisible = mode, true
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
			locks := []string{"packed-refs.lock", "packed-refs.new", "index.lock", "HEAD.lock", "ORIG_HEAD.lock", "config.lock",
				"reftable/tables.list.lock"}
			if mode == Worktree {
				locks = append(locks, "refs/heads/main.lock")
			}
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

// A git at work in another repository does not keep a lock.
func TestLocksBesideOtherGit(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"GIT_DIR=.git", "GIT_DIR=PROJECT/.git"} {
		r, o, _ := cutOffRun(t, Worktree)
		lock := filepath.Join(r.dir, ".git", "packed-refs.lock")
		must(t, os.WriteFile(lock, nil, 0o600))
		other, _, _ := cutOffRun(t, Worktree)
		end := heldLock(t, other, "", strings.ReplaceAll(env, "PROJECT", other.dir), nil)
		r.open(o)
		if _, err := os.Lstat(lock); err == nil {
			t.Errorf("beside a git with %s it stays", env)
		}
		end()
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

// /proc shows all processes only in the PID namespace of the machine and without hidepid.
func TestShowsAll(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(proc, "self", "ns"), 0o755))
	must(t, os.Mkdir(filepath.Join(proc, "1"), 0o755))
	for _, c := range []struct {
		space, file string
		want        bool
	}{{initialPIDs, "comm", true}, {"pid:[4026532177]", "comm", false}, {initialPIDs, "status", false}} {
		space, file := filepath.Join(proc, "self", "ns", "pid"), filepath.Join(proc, "1", c.file)
		must(t, os.Symlink(c.space, space))
		must(t, os.WriteFile(file, nil, 0o600))
		equal(t, c.space+" with "+c.file, showsAll(proc), c.want)
		must(t, os.Remove(space))
		must(t, os.Remove(file))
	}
}

// The look for a process that has a lock open does not ask the file systems of its other files, which may hang.
func TestOpenLockAmongFiles(t *testing.T) {
	t.Parallel()
	at, lock := t.TempDir(), filepath.Join(t.TempDir(), "index.lock")
	must(t, os.Mkdir(filepath.Join(at, "fd"), 0o755))
	must(t, os.WriteFile(lock, nil, 0o600))
	other := filepath.Join(t.TempDir(), "other") // to ask for it would find the lock
	must(t, os.Link(lock, other))
	info, err := os.Stat(lock)
	must(t, err)
	must(t, os.Symlink(other, filepath.Join(at, "fd", "3")))
	equal(t, "another file", hasOpen(at, info), false)
	must(t, os.Symlink(lock, filepath.Join(at, "fd", "4")))
	equal(t, "the lock", hasOpen(at, info), true)
}

// The lock of a git at work stays, wherever that works, and the lock that another program has open.
func TestLocksOfLiveGit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dir  string // "": the project
		args []string
		env  string
	}{
		"in the project":     {},
		"in a folder of it":  {dir: "d"},
		"in a worktree":      {dir: "../wt"},
		"with -C":            {dir: "/", args: []string{"-C", "PROJECT"}},
		"with --git-dir":     {dir: "/", args: []string{"--git-dir=PROJECT/.git"}},
		"with GIT_DIR":       {dir: "/", env: "GIT_DIR=PROJECT/.git"},
		"with a link to it":  {dir: "../link"},
		"in the bare folder": {dir: ".git/refs", args: []string{"--git-dir", ".."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, o, warned := cutOffRun(t, Worktree)
			must(t, os.Mkdir(filepath.Join(r.dir, "d"), 0o755))
			must(t, os.Symlink(r.dir, filepath.Join(r.dir, "..", "link")))
			r.git("worktree", "add", "-q", "../wt")
			end := heldLock(t, r, c.dir, strings.ReplaceAll(c.env, "PROJECT", r.dir),
				strings.Split(strings.ReplaceAll(strings.Join(c.args, "\n"), "PROJECT", r.dir), "\n"))
			m, err := Open(t.Context(), o)
			must(t, err)
			if _, err := os.Lstat(filepath.Join(r.dir, ".git", "packed-refs.lock")); err != nil {
				t.Error(err)
			}
			if all := strings.Join(*warned, "\n"); !strings.Contains(all, "a git may be at work here") {
				t.Errorf("it says %q", all)
			}
			end()
			must(t, m.Close(t.Context()))
			lock := filepath.Join(r.dir, ".git", "packed-refs.lock")
			must(t, os.WriteFile(lock, nil, 0o600)) // as if that git had been killed
			o.CutOff = time.Time{}
			r.open(o)
			if _, err := os.Lstat(lock); err == nil {
				t.Error("the session after the next one leaves it")
			}
		})
	}
	t.Run("another program", func(t *testing.T) {
		t.Parallel()
		r, o, _ := cutOffRun(t, Worktree)
		link := filepath.Join(r.dir, "..", "link")
		must(t, os.Symlink(r.dir, link))
		o.Project = link
		for _, name := range []string{"index.lock", "shallow.lock"} {
			held, err := os.Create(filepath.Join(r.dir, ".git", name))
			must(t, err)
			defer held.Close()
		}
		r.open(o)
		for _, name := range []string{"index.lock", "shallow.lock"} {
			if _, err := os.Lstat(filepath.Join(r.dir, ".git", name)); err != nil {
				t.Error(err)
			}
		}
	})
}

// heldLock starts a git that holds packed-refs.lock of the repository until end is called, which fails the test if that
// git fails then.
func heldLock(t *testing.T, r *repo, dir, env string, args []string) (end func()) {
	t.Helper()
	hook := filepath.Join(r.dir, ".git", "hooks", "reference-transaction")
	must(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	proctest.Script(t, hook, `#!/bin/sh
[ "$1" = prepared ] && [ -p "$HELD" ] || exit 0
echo held >&2
read -r go <"$HELD" || exit 0
`)
	release := hook + ".go"
	must(t, unix.Mkfifo(release, 0o600))
	if len(args) == 1 && args[0] == "" {
		args = nil
	}
	cmd := exec.Command("git", append(args, "update-ref", "-d", "refs/packed")...)
	if cmd.Dir = dir; !filepath.IsAbs(dir) {
		cmd.Dir = filepath.Join(r.dir, dir)
	}
	cmd.Env = append(append([]string{"HELD=" + release}, r.env...), env)
	to, err := os.OpenFile(release, os.O_RDWR, 0) // opens it before the hook does
	must(t, err)
	stderr, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	said := bufio.NewReader(stderr)
	line, _ := said.ReadString('\n')
	finish := func() {
		t.Helper()
		must(t, os.Remove(release)) // git calls the hook once more
		_, err := to.WriteString("\n")
		must(t, errors.Join(err, to.Close()))
		rest, _ := io.ReadAll(said)
		if err := cmd.Wait(); err != nil || line != "held\n" {
			t.Errorf("git: %v: %s%s", err, line, rest)
		}
	}
	if line != "held\n" {
		finish()
		t.FailNow()
	}
	return finish
}
