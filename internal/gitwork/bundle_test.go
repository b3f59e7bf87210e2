package gitwork

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/internal/loop"
	"wavex/internal/proc/proctest"
	"wavex/runner"
)

// lostRun returns a repository whose run integrated x, verified y, and left half of z, and then its clone, which has
// nothing of the run but .loop.
func lostRun(t *testing.T, clone ...string) (from, to *repo, before string) {
	t.Helper()
	from = newRepo(t, files{"a": "1\n"})
	o := from.options("r1")
	m, err := Open(t.Context(), o)
	must(t, err)
	from.attempt(m, "x", from.edits(files{"x": "1\n"}))
	from.integrate(m, 1, "x: test -e x")
	from.attempt(m, "none", func(string, runner.Request) error { return nil })
	from.attempt(m, "y", from.edits(files{"y": "1\n", "a": "2\n"}))
	from.ask(m, runner.Request{Task: "z", Attempt: 1}, func(dir string, _ runner.Request) error {
		from.write(dir, files{"half": "1\n"})
		return os.ErrInvalid
	})
	must(t, m.Close(t.Context()))
	to = &repo{t: t, dir: filepath.Join(t.TempDir(), "clone"), env: from.env}
	from.git(append(append([]string{"clone", "-q", "--no-local", "--single-branch"}, clone...), "file://"+from.dir,
		to.dir)...)
	copyAll(t, string(loop.In(to.dir)), string(loop.In(from.dir)))
	return from, to, from.git("rev-parse", "wavex/r1")
}

// In a fresh clone the run continues with its integrated work, its verified work, and the files of its worktrees.
func TestBundlesContinueInFreshClone(t *testing.T) {
	t.Parallel()
	from, to, tip := lostRun(t)
	must(t, os.RemoveAll(from.dir))
	m := to.open(to.options("r1"))
	equal(t, "the branch", to.git("rev-parse", "wavex/r1"), tip)
	equal(t, "restored", m.Restored(), true)
	res := to.ask(m, runner.Request{Task: "z", Attempt: 2, Resume: true}, func(dir string, _ runner.Request) error {
		equal(t, "the files of z", to.list(dir), "a half x")
		return nil
	})
	equal(t, "z", res.Outcome, runner.Done)
	// The checks of x are repeated with those of its wave.
	in := to.integrate(m, 1, "none: ", "y: test -e y", "z: test -e half")
	equal(t, "culprits", len(in.Culprits), 0)
	equal(t, "delivery", to.deliver(m, "ff").How, "ff")
	equal(t, "the checkout", to.tree("HEAD"), files{"a": "2\n", "half": "1\n", "x": "1\n", "y": "1\n"})
}

// list returns the names in a worktree.
func (r *repo) list(dir string) string {
	r.t.Helper()
	entries, err := os.ReadDir(dir)
	must(r.t, err)
	var out []string
	for _, e := range entries {
		if e.Name() != ".git" {
			out = append(out, e.Name())
		}
	}
	return strings.Join(out, " ")
}

// A clone that misses the base, or commits of the run, is refused with a way out, and no message of git.
func TestBundlesRefuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		clone  []string
		change func(from, to *repo)
		says   []string
	}{
		"shallow": {[]string{"--depth", "1"}, func(from, to *repo) {
			from.git("commit", "-q", "--allow-empty", "-m", "later")
			to.git("fetch", "-q", "--depth", "1", "origin", "main")
			to.git("reset", "-q", "--hard", "FETCH_HEAD")
			to.git("reflog", "expire", "--expire=now", "--all")
			to.git("update-ref", "refs/remotes/origin/main", "HEAD")
			to.git("gc", "-q", "--prune=now")
		}, []string{"which run r1 began on", "shallow", "fetch-depth: 0"}},
		"another repository": {nil, func(_, to *repo) {
			must(to.t, os.RemoveAll(filepath.Join(to.dir, ".git")))
			to.git("init", "-q")
			to.git("commit", "-q", "--allow-empty", "-m", "other")
		}, []string{"which run r1 began on", "in a clone that has it", "--fresh"}},
		"no bundles": {nil, func(_, to *repo) {
			must(to.t, os.RemoveAll(loop.In(to.dir).Worktree("r1", "bundles")))
		}, []string{"neither in this repository nor in", "branch wavex/r1", "--fresh"}},
		"a broken bundle": {nil, func(_, to *repo) {
			path := loop.In(to.dir).Worktree("r1", "bundles/000001.bundle")
			text, err := os.ReadFile(path)
			must(to.t, err)
			must(to.t, os.WriteFile(path, text[:len(text)-30], 0o600))
		}, []string{"restoring the commits of the run from", "000001.bundle", "--fresh"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to, _ := lostRun(t, c.clone...)
			c.change(from, to)
			_, err := Open(t.Context(), to.options("r1"))
			problem(t, err, NoCommits)
			for _, want := range c.says {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("it does not say %q: %v", want, err)
				}
			}
		})
	}
}

// A clone of the base alone suffices: the history before it is not needed.
func TestBundlesInShallowClone(t *testing.T) {
	t.Parallel()
	_, to, tip := lostRun(t, "--depth", "1")
	to.open(to.options("r1"))
	equal(t, "the branch", to.git("rev-parse", "wavex/r1"), tip)
}

// A repository with an earlier state of the run, as a persistent runner has it, gets the later commits, and one with a
// later state keeps it.
func TestBundlesMeetOtherStates(t *testing.T) {
	t.Parallel()
	from, to, _ := lostRun(t)
	m := to.open(to.options("r1"))
	to.integrate(m, 2, "y: test -e y")
	to.attempt(m, "late", to.edits(files{"late": "1\n"}))
	must(t, m.Close(t.Context()))
	late := to.git("rev-parse", "refs/wavex/r1/late")
	dir := string(loop.In(from.dir))
	must(t, os.RemoveAll(dir))
	copyAll(t, dir, string(loop.In(to.dir)))
	m = from.open(from.options("r1"))
	equal(t, "the branch", from.tree("wavex/r1"), files{"a": "2\n", "x": "1\n", "y": "1\n"})
	equal(t, "the work of late", from.git("rev-parse", "refs/wavex/r1/late"), late)
	must(t, m.Close(t.Context()))
	must(t, os.RemoveAll(loop.In(from.dir).Worktree("r1", "bundles/000003.bundle")))
	m = from.open(from.options("r1"))
	must(t, m.Close(t.Context()))
	equal(t, "later, the work of late", from.git("rev-parse", "refs/wavex/r1/late"), late)
}

// Agents can write to .loop: a bundle moves no ref but the run's.
func TestBundleMovesOnlyRefsOfTheRun(t *testing.T) {
	t.Parallel()
	from, to, _ := lostRun(t)
	from.git("commit", "-q", "--allow-empty", "-m", "other")
	from.git("branch", "other")
	from.git("bundle", "create", "-q", loop.In(to.dir).Worktree("r1", "bundles/000009.bundle"), "main", "other",
		"^HEAD^")
	main := to.git("rev-parse", "main")
	to.open(to.options("r1"))
	equal(t, "main", to.git("rev-parse", "main"), main)
	if out, err := to.tryGit(to.dir, "rev-parse", "--verify", "other"); err == nil {
		t.Errorf("there is a branch other: %s", out)
	}
}

// Bundles are incremental, what an interrupted save left is removed, and nothing new makes no file.
func TestBundlesAreIncremental(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	noise := strings.Repeat(r.git("rev-parse", "HEAD"), 5000)
	r.attempt(m, "x", r.edits(files{"big": noise}))
	r.integrate(m, 1, "x: ")
	dir := loop.In(r.dir).Worktree("r1", "bundles")
	size := func() int64 {
		b, err := openBundles(dir, runPrefix("r1"), "refs/wavex/r1/")
		must(t, err)
		return b.size
	}
	first := size()
	for _, task := range []string{"y", "z"} {
		before := size()
		r.attempt(m, task, r.edits(files{task: "1\n"}))
		r.integrate(m, 2, task+": ")
		if added := size() - before; added > first {
			t.Errorf("the bundles of %s take %d bytes, those of all before it %d", task, added, first)
		}
	}
	names := r.list(dir)
	must(t, os.WriteFile(filepath.Join(dir, "000007.bundle.next"), []byte("half"), 0o600))
	r.integrate(m, 2, "z: ")
	must(t, m.Close(t.Context()))
	r.open(r.options("r1"))
	equal(t, "files", r.list(dir), names)
}

// A run whose commits are too large, or whose bundles cannot be written, goes on, and says it once.
func TestBundleTooLarge(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	o := r.options("r1")
	var told []string
	o.Warn = func(err error) { told = append(told, err.Error()) }
	m := r.open(o)
	m.bundles.size = maxBundles - 10
	r.attempt(m, "x", r.edits(files{"x": "1\n"}))
	r.attempt(m, "y", r.edits(files{"y": "1\n"}))
	equal(t, "integrated", r.integrate(m, 1, "x: ", "y: ").Integrated, []string{"x", "y"})
	if len(told) != 1 || !strings.Contains(told[0], "larger than 128 MB") {
		t.Errorf("it says %q", told)
	}
	if _, err := os.Stat(loop.In(r.dir).Worktree("r1", "bundles")); err == nil {
		t.Error("there is a folder of bundles")
	}
}

// An interrupted save is cut, leaves no file, and is made up for by the next one.
func TestBundleIsCut(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	r.attempt(m, "x", r.edits(files{"x": "1\n"}))
	before := m.g
	ctx, hanging := hangingBundle(t, m.g)
	m.g = hanging
	_, err := m.Integrate(ctx, 1, verifiedTasks("x: "))
	if !errors.Is(err, errStopped) {
		t.Fatalf("the integration ended with %v", err)
	}
	m.g = before
	r.integrate(m, 1, "x: ")
	b, err := openBundles(m.bundles.dir, runPrefix("r1"), "refs/wavex/r1/")
	must(t, err)
	equal(t, "bundles", len(b.files), 2)
	if text, err := os.ReadFile(b.files[1].path); err != nil || !bytes.Contains(text, []byte("wave-")) {
		t.Errorf("the second is %.80q, %v", text, err)
	}
}

// hangingBundle returns a git whose command bundle ignores SIGTERM and never ends, and a context that is cancelled with
// errStopped when the command has begun.
func hangingBundle(t *testing.T, g git) (context.Context, git) {
	t.Helper()
	bin := t.TempDir()
	path, err := exec.LookPath("git")
	must(t, err)
	started := filepath.Join(bin, "started")
	proctest.Script(t, filepath.Join(bin, "git"), "#!/bin/sh\ncase \"$*\" in *bundle*) trap '' TERM; touch "+started+
		"; while :; do sleep 1; done;; esac\nexec "+path+" \"$@\"\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	go cancelAt(ctx, cancel, started)
	g = g.withEnv("PATH=" + bin + ":" + os.Getenv("PATH"))
	g.program = filepath.Join(bin, "git")
	return ctx, g
}

var errStopped = errors.New("stopped")

// cancelAt cancels ctx when a file exists.
func cancelAt(ctx context.Context, cancel context.CancelCauseFunc, file string) {
	for tick := time.NewTicker(5 * time.Millisecond); ctx.Err() == nil; <-tick.C {
		if _, err := os.Stat(file); err == nil {
			cancel(errStopped)
		}
	}
}

// The last attempt at a task decides what a clone has of it, also if it changed nothing.
func TestRestoredTaskWithoutWork(t *testing.T) {
	t.Parallel()
	from := newRepo(t, files{"a": "1\n"})
	m, err := Open(t.Context(), from.options("r1"))
	must(t, err)
	from.attempt(m, "x", from.edits(files{"x": "1\n"}))
	from.attempt(m, "y", from.edits(files{"bad": "1\n"}))
	in := from.integrate(m, 1, "x: test ! -e bad", "y: true")
	equal(t, "culprits", names(in.Culprits), "y red")
	must(t, m.Reopen(t.Context(), "y"))
	from.attempt(m, "y", func(string, runner.Request) error { return nil })
	must(t, m.Close(t.Context()))
	to := &repo{t: t, dir: filepath.Join(t.TempDir(), "clone"), env: from.env}
	from.git("clone", "-q", "--no-local", "--single-branch", "file://"+from.dir, to.dir)
	copyAll(t, string(loop.In(to.dir)), string(loop.In(from.dir)))
	again := to.open(to.options("r1"))
	equal(t, "ref of y", to.git("rev-parse", "refs/wavex/r1/y"), from.git("rev-parse", "refs/wavex/r1/y"))
	to.integrate(again, 2, "y: true")
	equal(t, "tree", to.tree("wavex/r1"), files{"a": "1\n", "x": "1\n"})
}
