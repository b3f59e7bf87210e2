package gitwork

import (
	"errors"
	"os"
	"os/exec"
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
	c.record = Record{Began: time.Now().Add(-time.Minute), Base: r.git("rev-parse", "main"),
		Work: map[string]string{"none": "", "x": r.git("rev-parse", "refs/wavex/r1/x"),
			"y": r.git("rev-parse", "refs/wavex/r1/y")},
		Integrations: []RecordedIntegration{{Wave: 1, Commit: tip, Commits: map[string]string{"x": tip},
			Done: verifiedTasks("x: test -e x")}}}
	c.record.Integrations[0].Done[0].Dir = r.dir
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

// partsOfRun are the files of a run in its repository and in .loop.
var partsOfRun = map[string][]string{
	"objects": {".git/objects/??/*"},
	"refs":    {".git/refs/wavex/*/*", ".git/refs/wavex/*/*/*", ".git/refs/heads/wavex/*", ".git/refs/heads/wavex/*/*"},
	"state":   {".loop/worktrees/r1.json"},
	"bundles": {".loop/worktrees/r1.bundles/*"},
	"worktrees": {".git/worktrees/*/HEAD", ".git/worktrees/*/commondir", ".git/worktrees/*/gitdir",
		".git/worktrees/*/index"},
	"dots":     {".loop/worktrees/r1.*/.git"},
	"logs":     {".git/logs/HEAD", ".git/logs/refs/heads/*", ".git/logs/refs/heads/*/*", ".git/worktrees/*/logs/*"},
	"checkout": {".git/index", ".git/refs/heads/main"},
}

// Whatever part of a run is damaged, its next session has all of its work on record.
func TestMendsEachPart(t *testing.T) {
	t.Parallel()
	for _, parts := range []string{"objects", "refs", "state", "bundles", "worktrees", "dots", "logs", "checkout",
		"objects refs", "objects state", "refs state", "objects worktrees", "bundles state", "objects checkout"} {
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
				c.mustContinue(parts != "refs state") // the state alone has the task of a worktree on no branch
			})
		}
	}
}

// mustContinue opens the run, whose work must be there, and completes it. keepsFiles tells that an unfinished attempt
// finds its files.
func (c cutRun) mustContinue(keepsFiles bool) {
	t := c.t
	t.Helper()
	m := c.open(c.options())
	equal(t, "lost", m.Lost(), []string(nil))
	equal(t, "the branch", c.git("rev-parse", "wavex/r1"), c.tip)
	res := c.ask(m, runner.Request{Task: "z", Attempt: 2, Resume: true}, func(dir string, _ runner.Request) error {
		want := "a half x"
		if !keepsFiles {
			want = "a x"
		}
		equal(t, "the files of z", c.list(dir), want)
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

// Objects in a pack come back as well.
func TestMendsPack(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"pack", "idx"} {
		for how, damage := range kindsOfDamage {
			t.Run(file+" "+how, func(t *testing.T) {
				t.Parallel()
				c := newCutRun(t)
				pack := exec.Command("git", "pack-objects", "-q", "--revs", ".git/objects/pack/pack")
				pack.Dir, pack.Env, pack.Stdin = c.dir, c.env, strings.NewReader(
					c.git("for-each-ref", "--format=%(objectname)", "refs/wavex")+"\n^main\n")
				must(t, pack.Run())
				c.git("prune-packed", "-q")
				equal(t, "packs", len(c.find(".git/objects/pack/*.idx")), 1)
				for _, path := range c.find(".git/objects/pack/*." + file) {
					must(t, os.Chmod(path, 0o600))
					must(t, damage(path))
				}
				c.mustContinue(true)
			})
		}
	}
}

// Work that is damaged in git and in .loop is given up, and the other work stays.
func TestGivesUpLostWork(t *testing.T) {
	t.Parallel()
	c := newCutRun(t)
	for _, id := range strings.Fields(c.git("rev-list", "--objects", "--no-object-names", c.record.Work["y"], "^"+c.tip)) {
		must(t, os.Remove(filepath.Join(c.dir, ".git/objects", id[:2], id[2:])))
	}
	for _, path := range c.find(".loop/worktrees/r1.bundles/*") {
		must(t, os.Remove(path))
	}
	m := c.open(c.options())
	equal(t, "lost", m.Lost(), []string{"y"})
	equal(t, "the branch", c.git("rev-parse", "wavex/r1"), c.tip)
	c.git("fsck", "--connectivity-only", "--no-reflogs")
	c.attempt(m, "y", c.edits(files{"y": "1\n"}))
	in := c.integrate(m, 1, "y: test -e y")
	equal(t, "culprits", names(in.Culprits), "")
	// The commits are saved anew.
	must(t, m.Close(t.Context()))
	to := &repo{t: t, dir: filepath.Join(t.TempDir(), "clone"), env: c.env}
	c.git("clone", "-q", "--no-local", "--single-branch", "file://"+c.dir, to.dir)
	copyAll(t, string(loop.In(to.dir)), string(loop.In(c.dir)))
	to.open(to.options("r1"))
	equal(t, "the branch of the clone", to.git("rev-parse", "wavex/r1"), in.Commit)
}

// An integrated task whose own commit is lost stays integrated.
func TestLostWorkOfIntegratedTask(t *testing.T) {
	t.Parallel()
	c := newCutRun(t)
	c.record.Work["x"] = strings.Repeat("1", len(c.tip))
	c.mustContinue(true)
}

// The work that a session gave up is lost for the next one as well, until the journal says so.
func TestLostWorkIsTold(t *testing.T) {
	t.Parallel()
	c := newCutRun(t)
	c.record.Integrations = append(c.record.Integrations, RecordedIntegration{Wave: 2, Commit: c.tip,
		Done: verifiedTasks("late: ")})
	c.record.Work["late"] = ""
	for range 2 {
		m, err := Open(t.Context(), c.options())
		must(t, err)
		equal(t, "lost", m.Lost(), []string{"late"})
		must(t, m.Close(t.Context()))
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
		equal(t, "lost", c.open(c.options()).Lost(), []string(nil))
	}
}

// A branch whose log is gone too is set to the last commit that the run saw there, and that is told. It may be in the
// middle of a delivery, whose files are in the checkout then.
func TestDamagedBranchWithoutLog(t *testing.T) {
	t.Parallel()
	for how, damage := range kindsOfDamage {
		for _, delivered := range []string{"", "before", "cut off", "cut off, no state"} {
			t.Run(how+" "+delivered, func(t *testing.T) {
				t.Parallel()
				c := newCutRun(t)
				base := c.git("rev-parse", "main")
				if delivered != "" {
					c.git("merge", "-q", "--ff-only", c.tip)
					c.record.Delivering = delivered != "before"
				}
				if delivered == "before" {
					c.record.Delivered, base = c.tip, c.tip
				}
				if delivered == "cut off, no state" {
					must(t, os.Remove(filepath.Join(c.dir, ".loop/worktrees/r1.json")))
				}
				must(t, damage(filepath.Join(c.dir, ".git/refs/heads/main")))
				must(t, os.RemoveAll(filepath.Join(c.dir, ".git/logs")))
				var warned []string
				o := c.options()
				o.Warn = func(err error) { warned = append(warned, err.Error()) }
				m, err := Open(t.Context(), o)
				must(t, err)
				must(t, m.Close(t.Context()))
				equal(t, "the branch", c.git("rev-parse", "main"), base)
				text := strings.Join(warned, "\n")
				if !strings.Contains(text, shortID(base)) || !strings.Contains(text, "git fsck --lost-found") {
					t.Errorf("it warns: %s", text)
				}
				c.mustContinue(true)
			})
		}
	}
}

// A branch that the run has not seen is not guessed.
func TestOtherDamagedBranchWithoutLog(t *testing.T) {
	t.Parallel()
	c := newCutRun(t)
	c.git("switch", "-q", "-c", "other")
	must(t, os.Truncate(filepath.Join(c.dir, ".git/refs/heads/other"), 0))
	must(t, os.Remove(filepath.Join(c.dir, ".git/logs/refs/heads/other")))
	_, err := Open(t.Context(), c.options())
	var told *Error
	if !errors.As(err, &told) || !strings.Contains(told.Fix, "git update-ref refs/heads/other COMMIT") {
		t.Errorf("the error is %v", err)
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
