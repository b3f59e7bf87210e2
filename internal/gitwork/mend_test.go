package gitwork

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wavex/internal/loop"
	"wavex/runner"
)

// This file damages the files of a run as a power cut does, all of a kind in each way, and continues the run.

// cutRun is a run that lostRun has made, with the record of its journal.
type cutRun struct {
	*repo
	record Record
	tip    string
	old    []string // objects of the user
}

func newCutRun(t *testing.T) cutRun {
	t.Helper()
	r, _, tip := lostRun(t)
	c := cutRun{repo: r, tip: tip, old: strings.Fields(r.git("rev-list", "--objects", "--no-object-names", "main"))}
	c.record = Record{Began: time.Now().Add(-time.Minute), Base: r.git("rev-parse", "main")}
	return c
}

// options returns the options of the next session.
func (c cutRun) options() Options {
	o := c.repo.options("r1")
	o.Record, o.Tasks = &c.record, []string{"none", "x", "y", "z"}
	return o
}

// find returns the files of the project that match a pattern, without the objects of the user.
func (c cutRun) find(pattern string) (paths []string) {
	c.t.Helper()
	found, err := filepath.Glob(filepath.Join(c.dir, filepath.FromSlash(pattern)))
	must(c.t, err)
	for _, path := range found {
		info, err := os.Lstat(path)
		must(c.t, err)
		if info.Mode().IsRegular() && !slices.Contains(c.old, filepath.Base(filepath.Dir(path))+filepath.Base(path)) {
			paths = append(paths, path)
		}
	}
	return paths
}

// kindsOfDamage are the ways in which a power cut damages a file.
var kindsOfDamage = map[string]func(path string) error{
	"empty":   func(path string) error { return os.Truncate(path, 0) },
	"removed": os.Remove,
	"cut": func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()*2/3)
	},
}

// partsOfRun are files of a run in its repository and in .loop that are not on disk when they are on record, or that
// agents may have written: objects, which the bundles of the run have.
var partsOfRun = map[string][]string{
	"objects": {".git/objects/??/*"},
	"worktrees": {".git/worktrees/*/HEAD", ".git/worktrees/*/commondir", ".git/worktrees/*/gitdir",
		".git/worktrees/*/index"},
	"dots":     {".loop/worktrees/r1.*/.git"},
	"logs":     {".git/logs/HEAD", ".git/logs/refs/heads/*", ".git/logs/refs/heads/*/*", ".git/worktrees/*/logs/*"},
	"checkout": {".git/index", ".git/ORIG_HEAD"},
}

// Whatever part of a run is damaged, its next session has all of its work on record.
func TestMendsEachPart(t *testing.T) {
	t.Parallel()
	for _, parts := range []string{"objects", "worktrees dots", "logs", "objects checkout"} {
		for how, damage := range kindsOfDamage {
			t.Run(strings.ReplaceAll(parts, " ", "+")+" "+how, func(t *testing.T) {
				t.Parallel()
				c := newCutRun(t)
				for _, part := range strings.Fields(parts) {
					for _, pattern := range partsOfRun[part] {
						for _, path := range c.find(pattern) {
							must(t, os.Chmod(path, 0o600))
							must(t, damage(path))
						}
					}
				}
				c.mustContinue()
			})
		}
	}
}

// Refs of the run that are gone are set again.
func TestMendsRefs(t *testing.T) {
	t.Parallel()
	c := newCutRun(t)
	for _, ref := range strings.Fields(c.git("for-each-ref", "--format=%(refname)", "refs/wavex", "refs/heads/wavex/r1")) {
		c.git("update-ref", "-d", ref)
	}
	c.mustContinue()
}

// mustContinue opens the run, whose work must be there, and completes it. An unfinished attempt finds its files.
func (c cutRun) mustContinue() {
	t := c.t
	t.Helper()
	m := c.open(c.options())
	equal(t, "the branch", c.git("rev-parse", "wavex/r1"), c.tip)
	res := c.ask(m, runner.Request{Task: "z", Attempt: 2, Resume: true}, func(dir string, _ runner.Request) error {
		equal(t, "the files of z", c.list(dir), "a half x")
		c.write(dir, files{"half": "1\n"})
		return nil
	})
	equal(t, "z", res.Outcome, runner.Done)
	in := c.integrate(m, 1, "none: ", "y: test -e y", "z: test -e half")
	equal(t, "culprits", names(in.Culprits), "")
	equal(t, "delivery", c.deliver(m, "ff").How, "ff")
	equal(t, "the checkout", c.tree("HEAD"), files{"a": "2\n", "half": "1\n", "x": "1\n", "y": "1\n"})
	equal(t, "the status", c.git("status", "--porcelain", "--untracked-files=no"), "")
	c.git("fsck", "--connectivity-only")
}

// Work that is damaged in git and in .loop is named, with a way out: also where its commit is there, and not its files.
func TestLostWork(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"refs/wavex/r1/y", "refs/wavex/r1/y^{tree}"} {
		c := newCutRun(t)
		y := c.git("rev-parse", "refs/wavex/r1/y")
		id := c.git("rev-parse", pattern)
		must(t, os.Remove(filepath.Join(c.dir, ".git/objects", id[:2], id[2:])))
		for _, path := range c.find(".loop/worktrees/r1.bundles/*") {
			must(t, os.Remove(path))
		}
		_, err := Open(t.Context(), c.options())
		problem(t, err, NoCommits)
		if err == nil || !strings.Contains(err.Error(), shortID(y)) || !strings.Contains(err.Error(), "--fresh") {
			t.Errorf("without %s the error is %v", pattern, err)
		}
	}
}

// The work of an earlier attempt does not take the place of a later one, though bundles have it and git does not.
func TestEarlierWorkStaysBehind(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m, err := Open(t.Context(), r.options("r1"))
	must(t, err)
	for _, text := range []string{"1\n", "2\n"} {
		r.attempt(m, "x", r.edits(files{"x": text}))
		r.attempt(m, "y", r.edits(files{"y": text}))
		if text == "1\n" {
			must(t, errors.Join(m.Reopen(t.Context(), "x"), m.Reopen(t.Context(), "y")))
		}
	}
	must(t, m.Reopen(t.Context(), "y"))
	r.attempt(m, "y", r.edits(nil))
	r.integrate(m, 1, "y: ")
	must(t, m.Close(t.Context()))
	second := r.git("rev-parse", "refs/wavex/r1/x")
	kept := r.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/wavex/r1.kept")
	for _, line := range splitLines(kept) {
		ref, id, _ := strings.Cut(line, " ")
		if r.git("update-ref", "-d", ref); id != r.git("rev-parse", "main") {
			must(t, os.Remove(filepath.Join(r.dir, ".git/objects", id[:2], id[2:])))
		}
	}
	r.git("update-ref", "-d", "refs/wavex/r1/y")
	m = r.open(r.options("r1"))
	equal(t, "x", r.git("rev-parse", "refs/wavex/r1/x"), second)
	in := r.integrate(m, 2, "x: ", "y: ")
	equal(t, "the files", r.tree(in.Commit), files{"a": "1\n", "x": "2\n"})
}

// In a fresh clone, an integrated task that was done again has its later work.
func TestLaterWorkInAClone(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m, err := Open(t.Context(), r.options("r1"))
	must(t, err)
	r.attempt(m, "x", r.edits(files{"x": "1\n"}))
	r.integrate(m, 1, "x: ")
	r.attempt(m, "x", r.edits(files{"x": "2\n"}))
	must(t, m.Close(t.Context()))
	to := &repo{t: t, dir: filepath.Join(t.TempDir(), "clone"), env: r.env}
	r.git("clone", "-q", "--no-local", "--single-branch", "file://"+r.dir, to.dir)
	copyAll(t, string(loop.In(to.dir)), string(loop.In(r.dir)))
	in := to.integrate(to.open(to.options("r1")), 2, "x: ")
	equal(t, "the files", to.tree(in.Commit), files{"a": "1\n", "x": "2\n"})
}

// A run whose state is lost does not begin again on the user's branch.
func TestLostState(t *testing.T) {
	t.Parallel()
	for how, damage := range kindsOfDamage {
		c := newCutRun(t)
		must(t, damage(filepath.Join(c.dir, ".loop/worktrees/r1.json")))
		o := c.options()
		o.Mode = Worktree
		_, err := Open(t.Context(), o)
		problem(t, err, NoCommits)
		if err == nil || !strings.Contains(err.Error(), "wavex/r1") || !strings.Contains(err.Error(), "--fresh") {
			t.Errorf("%s: the error is %v", how, err)
		}
	}
}

// A branch that the user has renamed to one below it does not stop the run.
func TestRenamedBranch(t *testing.T) {
	t.Parallel()
	for _, packed := range []bool{false, true} {
		c := newCutRun(t)
		c.git("branch", "-m", "main", "main/x")
		if packed {
			c.git("pack-refs", "--all")
		}
		c.open(c.options())
	}
}

// Damage of objects that are not of the run is told: with a way out if the run needs them.
func TestTellsDamageOfUser(t *testing.T) {
	t.Parallel()
	c := newCutRun(t)
	var warned []string
	o := c.options()
	o.Warn = func(err error) { warned = append(warned, err.Error()) }
	c.write(c.dir, files{"mine": "of the user\n"})
	mine := c.git("hash-object", "-w", "mine")
	damage := func(id string) {
		path := filepath.Join(c.dir, ".git/objects", id[:2], id[2:])
		must(t, os.Chmod(path, 0o600))
		must(t, os.Truncate(path, 4))
	}
	damage(mine)
	m, err := Open(t.Context(), o)
	must(t, err)
	must(t, m.Close(t.Context()))
	text := strings.Join(warned, "\n")
	if !strings.Contains(text, mine) || !strings.Contains(text, "no commit of the run needs") {
		t.Errorf("it warns: %s", text)
	}
	equal(t, "its rest", len(c.find(".git/wavex-damaged/*")), 1)
	damage(c.git("rev-parse", "main^{tree}"))
	_, err = Open(t.Context(), o)
	problem(t, err, NoCommits)
	if err == nil || !strings.Contains(err.Error(), "git fetch") {
		t.Errorf("the error is %v", err)
	}
}

// A power cut may leave zeros at the end of a pack. Only the index of a checkout may have them in place of its digest.
func TestEndsWithDigest(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("\x00", 20)
	digest := func(s string) string {
		sum := newHash(20)
		_, err := sum.Write([]byte(s))
		must(t, err)
		return string(sum.Sum(nil))
	}
	for text, want := range map[string]bool{"DIRC1" + zeros: true, "PACK1" + zeros: false, zeros + zeros: false,
		"PACK1" + digest("PACK1"): true, "PACK2" + digest("PACK1"): false, "DI": false, "": false} {
		equal(t, strconv.Quote(text), endsWithDigest(strings.NewReader(text), int64(len(text)), 20), want)
	}
}
