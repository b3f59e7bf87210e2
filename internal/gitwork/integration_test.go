package gitwork

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"wavex/internal/check"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/proc/proctest"
	"wavex/runner"
)

func TestConflict(t *testing.T) {
	t.Parallel()
	for name, version := range map[string][2]int{"in memory": {2, 39}, "old git": {2, 30}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a": "1\n", "b": "1\n"})
			before := r.userFingerprint()
			m := r.open(r.options("r1"))
			m.checkout.version = version
			r.attempt(m, "x", r.edits(files{"a": "x\n"}))
			r.attempt(m, "y", r.edits(files{"a": "y\n", "b": "y\n"}))
			r.attempt(m, "z", r.edits(files{"c": "z\n"}))
			lost := r.git("rev-parse", "refs/wavex/r1/y")
			in := r.integrate(m, 1, "x: ", "y: ", "z: ")
			equal(t, "integrated", in.Integrated, []string{"x", "z"})
			equal(t, "culprits", names(in.Culprits), "y conflict")
			c := in.Culprits[0]
			if !strings.Contains(c.Reason, "conflicts in a with what is integrated of x") ||
				!strings.Contains(c.Detail, "git show "+shortID(lost)) {
				t.Errorf("the reason is %q, the detail %q", c.Reason, c.Detail)
			}
			equal(t, "wavex/r1", r.tree("wavex/r1"), files{"a": "x\n", "b": "1\n", "c": "z\n"})

			// The culprit begins again on the integrated work, even in its old session.
			must(t, m.Reopen(t.Context(), "y"))
			res := r.ask(m, runner.Request{Task: "y", Attempt: 2, Resume: true}, func(dir string, _ runner.Request) error {
				if data, _ := os.ReadFile(filepath.Join(dir, "a")); string(data) != "x\n" {
					t.Errorf("a has %q", data)
				}
				r.write(dir, files{"a": "x and y\n"})
				return nil
			})
			equal(t, "outcome", res.Outcome, runner.Done)
			equal(t, "again", r.integrate(m, 1, "y: ").Integrated, []string{"y"})
			equal(t, "wavex/r1", r.tree("wavex/r1"), files{"a": "x and y\n", "b": "1\n", "c": "z\n"})
			if got := r.git("for-each-ref", "--contains", lost, "refs/wavex/"); got == "" {
				t.Error("the work of the first attempt is kept by no ref")
			}
			r.untouched(before)
		})
	}
}

func TestPassAloneFailTogether(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"limit": "10\n"})
	m := r.open(r.options("r1"))
	// Both a and c add six lines, within the limit of ten; together they are not.
	check := `test "$(cat part-* | wc -l)" -le "$(cat limit)"`
	part := "1\n2\n3\n4\n5\n6\n"
	for _, task := range []string{"a", "b", "c"} {
		content := files{"part-" + task: part}
		if task == "b" {
			content = files{"other": "b\n"}
		}
		r.attempt(m, task, r.edits(content))
	}
	in := r.integrate(m, 1, "a: "+check, "b: test -f other", "c: "+check)
	equal(t, "integrated", in.Integrated, []string{"a", "b"})
	equal(t, "culprits", names(in.Culprits), "c red")
	if c := in.Culprits[0]; !strings.Contains(c.Reason, "together with a") || !strings.Contains(c.Reason, "exit code 1") {
		t.Errorf("the reason is %q", c.Reason)
	}
	equal(t, "delivery", r.deliver(m, "auto").How, "ff")
	equal(t, "main", r.tree("main"), files{"limit": "10\n", "part-a": part, "other": "b\n"})
}

// A reopened culprit must not break the integrated tasks of its wave.
func TestChecksOfEarlierTasksStay(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	r.attempt(m, "x", r.edits(files{"x": "1\n"}))
	equal(t, "first", r.integrate(m, 1, "x: grep 1 x").Integrated, []string{"x"})
	r.attempt(m, "y", r.edits(files{"x": "2\n", "y": "1\n"}))
	equal(t, "culprits", names(r.integrate(m, 1, "y: grep 1 y").Culprits), "y red")
}

func TestFlaky(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	r.attempt(m, "x", r.edits(files{"x": "1\n"}))
	once := filepath.Join(t.TempDir(), "once")
	in := r.integrate(m, 1, "x: test -e "+once+" || { touch "+once+"; exit 1; }")
	equal(t, "integrated", in.Integrated, []string{"x"})
	if !strings.Contains(in.Note, "flaky") {
		t.Errorf("the note is %q", in.Note)
	}
}

// A file that only the task's own directory has is not delivered, so it does not count.
func TestTaskNeedsIgnoredFile(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{".gitignore": "out/\n", "a": "1\n"})
	m := r.open(r.options("r1"))
	r.attempt(m, "x", r.edits(files{"a": "2\n", "out/f": "1\n"}))
	in := r.integrate(m, 1, "x: test -f out/f")
	equal(t, "culprits", names(in.Culprits), "x red")
	if !strings.Contains(in.Culprits[0].Reason, "not in git") {
		t.Errorf("the reason is %q", in.Culprits[0].Reason)
	}
	res := r.ask(m, runner.Request{Task: "y", Files: []plan.File{{Path: "out/g"}}}, r.edits(files{"out/g": "1\n"}))
	if res.Outcome != runner.Wrong || !strings.Contains(res.Reason, "git ignores out/g") {
		t.Errorf("it is %s: %s", res.Outcome, res.Reason)
	}
	res = r.ask(m, runner.Request{Task: "y", Resume: true, Files: []plan.File{{Path: "out/g"}}},
		func(dir string, _ runner.Request) error {
			r.gitIn(dir, "add", "-f", "out/g")
			return nil
		})
	equal(t, "forced in it", res.Outcome, runner.Done)
}

func TestUndeclaredDeletions(t *testing.T) {
	t.Parallel()
	content := files{}
	for _, c := range "abcdefghijklmno" {
		content["gone/"+string(c)] = "1\n"
		content["stay/"+string(c)] = "1\n"
	}
	r := newRepo(t, content)
	m := r.open(r.options("r1"))
	sweep := func(dir string, _ runner.Request) error { return os.RemoveAll(filepath.Join(dir, "gone")) }
	r.attempt(m, "x", sweep)
	r.attempt(m, "y", r.edits(files{"y": "1\n"}))
	in := r.integrate(m, 1, "x: ", "y: ")
	equal(t, "integrated", in.Integrated, []string{"y"})
	equal(t, "held", names(in.Withheld), "x deletes")
	in, err := m.Integrate(t.Context(), 1, []VerifiedTask{{Task: "x",
		Files: []plan.File{{Path: "gone", Action: "delete"}}}})
	must(t, err)
	equal(t, "declared", in.Integrated, []string{"x"})
}

func TestNothingToCommit(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	r.attempt(m, "look", r.edits(nil))
	r.attempt(m, "back", func(dir string, _ runner.Request) error { // a change and its reversal
		r.write(dir, files{"a": "2\n"})
		r.gitIn(dir, "commit", "-qam", "there")
		r.write(dir, files{"a": "1\n"})
		return nil
	})
	in := r.integrate(m, 1, "look: ", "back: grep 1 a")
	equal(t, "integrated", in.Integrated, []string{"look", "back"})
	equal(t, "commit", in.Commit, r.git("rev-parse", "main"))
	equal(t, "delivery", r.deliver(m, "auto").How, "none")
}

// Agents may do anything to git: their work is delivered, their commits are kept, and the user's
// repository is unchanged.
func TestAgentsThatDamageTheirWorktree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		play  func(r *repo, dir string)
		wrong string // the expected reason, unless the attempt is done
		extra string // a file besides "mine" in the work, or empty
	}{
		"commits": {play: func(r *repo, dir string) { r.gitIn(dir, "add", "-A"); r.gitIn(dir, "commit", "-qm", "by me") }},
		"commits some of it": {play: func(r *repo, dir string) {
			r.write(dir, files{"more": "1\n"})
			r.gitIn(dir, "add", "more")
			r.gitIn(dir, "commit", "-qm", "by me")
		}, extra: "more"},
		"switches branches": {play: func(r *repo, dir string) {
			r.gitIn(dir, "switch", "-qc", "wavex/side")
			r.gitIn(dir, "add", "-A")
			r.gitIn(dir, "commit", "-qm", "by me")
		}},
		"goes off branches": {play: func(r *repo, dir string) {
			r.gitIn(dir, "checkout", "-q", "--detach")
			r.gitIn(dir, "add", "-A")
			r.gitIn(dir, "commit", "-qm", "by me")
		}},
		"cleans up": {play: func(r *repo, dir string) {
			r.gitIn(dir, "add", "mine")
			r.gitIn(dir, "clean", "-fdx")
			r.gitIn(dir, "worktree", "prune")
		}},
		"amends what was there": {play: func(r *repo, dir string) {
			r.gitIn(dir, "add", "-A")
			r.gitIn(dir, "commit", "-q", "--amend", "-m", "mine now")
		}},
		"leaves a merge": {play: func(r *repo, dir string) {
			r.gitIn(dir, "add", "-A")
			r.gitIn(dir, "commit", "-qm", "1")
			r.gitIn(dir, "checkout", "-q", "--detach", "HEAD~1")
			r.write(dir, files{"mine": "other\n"})
			r.gitIn(dir, "add", "-A")
			r.gitIn(dir, "commit", "-qm", "2")
			_, _ = r.tryGit(dir, "merge", "-q", branchName(taskBranch("r1", "x")))
			r.write(dir, files{"mine": "work\n"})
		}},
		"leaves a rebase": {play: func(r *repo, dir string) {
			r.gitIn(dir, "add", "-A")
			r.gitIn(dir, "commit", "-qm", "1")
			_, _ = r.tryGit(dir, "rebase", "-q", "--exec", "false", "HEAD~1")
		}},
		"stashes": {play: func(r *repo, dir string) {
			if said, err := r.tryGit(dir, "stash", "-qu"); err == nil || !strings.Contains(said, "share the stash") {
				t.Errorf("a stash is not refused: %s, %v", said, err)
			}
			if said, err := r.tryGit(dir, "stash", "clear"); err == nil {
				t.Error("the stash was cleared:", said)
			}
		}},
		"removes .git": {play: func(_ *repo, dir string) { must(t, os.Remove(filepath.Join(dir, ".git"))) }},
		"makes .git its own": {play: func(r *repo, dir string) {
			must(t, os.Remove(filepath.Join(dir, ".git")))
			r.gitIn(dir, "init", "-q")
			r.gitIn(dir, "add", "-A")
			r.gitIn(dir, "commit", "-qm", "by me")
		}},
		"unregisters its worktree": {play: func(r *repo, dir string) {
			dot := filepath.Join(dir, ".git")
			must(t, os.Rename(dot, dot+".away"))
			r.git("worktree", "unlock", dir)
			r.git("worktree", "prune")
			must(t, os.Rename(dot+".away", dot))
		}},
		"leaves a lock": {play: func(r *repo, dir string) {
			must(t, os.WriteFile(r.gitIn(dir, "rev-parse", "--absolute-git-dir")+"/index.lock", nil, 0o600))
		}},
		"makes its branch a link to the user's": {play: func(r *repo, dir string) {
			r.gitIn(dir, "checkout", "-q", "--detach")
			r.git("symbolic-ref", taskBranch("r1", "x"), "refs/heads/main")
		}},
		"moves the tip": {play: func(r *repo, dir string) {
			r.gitIn(dir, "commit", "-q", "--allow-empty", "-m", "mine")
			r.gitIn(dir, "update-ref", tipRef("r1"), "HEAD")
		}},
		"moves its ref": {play: func(r *repo, dir string) {
			r.gitIn(dir, "commit", "-q", "--allow-empty", "-m", "mine")
			r.gitIn(dir, "update-ref", taskRef("r1", "x"), "HEAD")
		}},
		"removes its directory": {play: func(_ *repo, dir string) {
			must(t, os.RemoveAll(dir))
		}, wrong: "is gone"},
		"makes a repository": {play: func(r *repo, dir string) {
			r.gitIn(dir, "init", "-q", "inner")
			r.write(dir, files{"inner/f": "1\n"})
			r.gitIn(dir+"/inner", "add", "-A")
			r.gitIn(dir+"/inner", "commit", "-qm", "inner")
		}, wrong: "inner is a git repository of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a": "1\n"})
			r.write(r.dir, files{"a": "stashed\n"})
			r.git("stash", "-q") // the user has a stash
			before := r.userFingerprint()
			m := r.open(r.options("r1"))
			var head string
			act := agent(func(dir string, req runner.Request) error {
				r.write(dir, files{"mine": "work\n"})
				own := *r
				own.env = append(slices.Clone(r.env), "GIT_CONFIG_PARAMETERS="+req.Env["GIT_CONFIG_PARAMETERS"])
				c.play(&own, dir)
				head, _ = r.tryGit(dir, "rev-parse", "HEAD")
				return nil
			})
			res := r.ask(m, runner.Request{Task: "x", Attempt: 1}, act)
			if c.wrong != "" {
				if res.Outcome != runner.Wrong || !strings.Contains(res.Reason, c.wrong) {
					t.Fatalf("it is %s: %s", res.Outcome, res.Reason)
				}
				// In every case the next try begins in a usable worktree.
				r.attempt(m, "x", r.edits(files{"mine": "work\n"}))
			} else if res.Outcome != runner.Done {
				t.Fatalf("it is %s: %s", res.Outcome, res.Reason)
			}
			equal(t, "integrated", r.integrate(m, 1, "x: grep work mine").Integrated, []string{"x"})
			want := files{"a": "1\n", "mine": "work\n"}
			if c.extra != "" {
				want[c.extra] = "1\n"
			}
			equal(t, "wavex/r1", r.tree("wavex/r1"), want)
			if _, err := r.tryGit(r.dir, "cat-file", "-e", head); err == nil && r.git("for-each-ref", "--contains", head) == "" {
				t.Errorf("the agent's commit %s is reachable from no ref", head)
			}
			if name == "switches branches" { // the branch that an agent made stays
				r.git("update-ref", "-d", "refs/heads/wavex/side")
			}
			r.untouched(before)
		})
	}
}

// The run puts back the entries that the stash has lost, and names what a task has stashed all the same.
func TestChangedStashIsTold(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	for _, content := range []string{"2\n", "3\n", "4\n"} {
		r.write(r.dir, files{"a": content})
		r.git("stash", "-q")
	}
	ids := strings.Fields(r.git("rev-parse", "stash@{0}", "stash@{1}", "stash@{2}"))
	var said []string
	o := r.options("r1")
	o.Warn = func(err error) { said = append(said, err.Error()) }
	m := r.open(o)
	r.attempt(m, "x", func(dir string, _ runner.Request) error {
		r.gitIn(dir, "stash", "clear")
		r.write(dir, files{"a": "5\n"})
		r.gitIn(dir, "stash", "-q")
		return nil
	})
	must(t, m.tellStash(t.Context()))
	all := strings.Join(said, "\n")
	if !strings.Contains(all, "were put back: WIP on main") || !strings.Contains(all, "WIP on wavex/r1.tasks/x") {
		t.Errorf("the run says %q", all)
	}
	equal(t, "put back", r.git("rev-parse", "stash@{0}", "stash@{1}", "stash@{2}"), strings.Join(ids, "\n"))
}

// A failed attempt's work is kept when the next attempt begins afresh, and stays in the worktree
// when the next attempt continues.
func TestRetries(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	fail := agent(func(dir string, _ runner.Request) error {
		r.write(dir, files{"half": "1\n"})
		return errors.New("not yet")
	})
	r.ask(m, runner.Request{Task: "x", Attempt: 1}, fail)
	r.ask(m, runner.Request{Task: "x", Attempt: 2, Resume: true}, func(dir string, _ runner.Request) error {
		if _, err := os.Stat(filepath.Join(dir, "half")); err != nil {
			t.Error("the continued attempt does not find its work:", err)
		}
		return errors.New("not yet")
	})
	r.attempt(m, "x", func(dir string, _ runner.Request) error {
		if _, err := os.Stat(filepath.Join(dir, "half")); err == nil {
			t.Error("the fresh attempt finds the work of the one before")
		}
		r.write(dir, files{"whole": "1\n"})
		return nil
	})
	kept := splitLines(r.git("for-each-ref", "--format=%(refname)", "refs/wavex/r1.kept/x/"))
	if len(kept) != 1 || r.tree(kept[0])["half"] != "1\n" {
		t.Errorf("kept is %v", kept)
	}
	r.integrate(m, 1, "x: ")
	equal(t, "wavex/r1", r.tree("wavex/r1"), files{"a": "1\n", "whole": "1\n"})
}

func TestHooks(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	hook := filepath.Join(r.dir, ".git/hooks/pre-commit")
	proctest.Script(t, hook, "#!/bin/sh\nif git diff --cached | grep -q SECRET; then echo no secrets; exit 1; fi\ntr a-z A-Z <a >b && git add b\n")
	m := r.open(r.options("r1"))
	res := r.ask(m, runner.Request{Task: "x", Attempt: 1}, r.edits(files{"a": "SECRET\n"}))
	if res.Outcome != runner.Wrong || !strings.Contains(res.Reason+res.Detail, "no secrets") {
		t.Fatalf("it is %s: %s, %s", res.Outcome, res.Reason, res.Detail)
	}
	r.attempt(m, "x", r.edits(files{"a": "word\n"}))
	r.integrate(m, 1, "x: grep WORD b")
	equal(t, "wavex/r1", r.tree("wavex/r1"), files{"a": "word\n", "b": "WORD\n"})

	o := r.options("r2")
	o.NoVerify = true
	m = r.open(o)
	r.attempt(m, "x", r.edits(files{"a": "SECRET\n"}))
	r.integrate(m, 1, "x: ")
	equal(t, "wavex/r2", r.tree("wavex/r2"), files{"a": "SECRET\n"})
}

func TestShares(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{".gitignore": "/node_modules/\n.env\n", "a": "1\n"})
	r.write(r.dir, files{".env": "KEY=1\n", "node_modules/m/index.js": "x\n"})
	before := r.userFingerprint()
	o := r.options("r1")
	o.Share = []string{"copy:.env", "node_modules"}
	o.Setup.Run = "echo run >> .setup-log && mkdir -p built && cat a > built/a && printf 'built/\\n.setup-log\\n' >> " +
		filepath.Join(r.dir, ".git/info/exclude")
	must(t, os.MkdirAll(filepath.Join(r.dir, ".git/info"), 0o755))
	must(t, os.WriteFile(filepath.Join(r.dir, ".git/info/exclude"), nil, 0o600))
	m := r.open(o)
	r.attempt(m, "x", func(dir string, _ runner.Request) error {
		for name, want := range (files{".env": "KEY=1\n", "node_modules/m/index.js": "x\n", "built/a": "1\n"}) {
			if data, err := os.ReadFile(filepath.Join(dir, name)); string(data) != want {
				t.Errorf("%s has %q, %v", name, data, err)
			}
		}
		r.write(dir, files{".env": "KEY=2\n", "a": "2\n"})
		r.gitIn(dir, "add", "-f", "node_modules") // as a careless agent might
		return nil
	})
	r.integrate(m, 1, "x: grep KEY=1 .env && test -f node_modules/m/index.js && grep 2 built/a")
	equal(t, "wavex/r1", r.tree("wavex/r1"), files{".gitignore": "/node_modules/\n.env\n", "a": "2\n"})
	must(t, os.WriteFile(filepath.Join(r.dir, ".git/info/exclude"), nil, 0o600))
	delete(before, ".git/info/exclude")
	now := r.userFingerprint()
	for name := range before {
		if now[name] != before[name] {
			t.Errorf("the user's %s changed", name)
		}
	}

	o = r.options("r2")
	o.Setup.Run = "echo it broke; exit 3"
	res := r.ask(r.open(o), runner.Request{Task: "x"}, r.edits(nil))
	if res.Outcome != runner.Broken || !strings.Contains(res.Reason, "exit code 3") ||
		!strings.Contains(res.Reason, "it broke") {
		t.Errorf("it is %s: %s", res.Outcome, res.Reason)
	}
}

// The checks of a turn are made in the worktree with its work. If that is gone, nothing is checked, and
// the next attempt has a new turn.
func TestChecksNeedTheWorktree(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	stopped := func(dir string, _ runner.Request) error {
		r.write(dir, files{"b": "2\n"})
		return errors.New("stopped during its checks")
	}
	r.ask(m, runner.Request{Task: "x", Attempt: 1}, stopped)
	turn := &runner.Turn{Result: runner.Result{Outcome: runner.Done}}
	seen := ""
	checks := func(dir string, _ runner.Request) error {
		seen = dir
		_, err := os.Stat(filepath.Join(dir, "b"))
		return err
	}
	if res := r.ask(m, runner.Request{Task: "x", Attempt: 2, Turn: turn}, checks); res.Outcome != runner.Done {
		t.Fatalf("in its worktree it is %s: %s", res.Outcome, res.Reason)
	}
	seen = ""
	res := r.ask(m, runner.Request{Task: "y", Attempt: 2, Turn: turn}, checks)
	if res.Outcome != runner.Truncated || seen != "" {
		t.Errorf("without a worktree it is %s: %s, in %q", res.Outcome, res.Reason, seen)
	}
}

// A worktree that a task keeps is set up again if the plan has another setup, also on the same commit.
func TestAnotherSetup(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{".gitignore": "log\n", "a": "1\n"})
	for n, setup := range []string{"echo 1 >> log", "echo 1 >> log", "echo 2 >> log"} {
		o := r.options("r1")
		o.Setup.Run = setup
		m := r.open(o)
		r.ask(m, runner.Request{Task: "x", Attempt: n + 1}, agent(func(dir string, _ runner.Request) error {
			data, err := os.ReadFile(filepath.Join(dir, "log"))
			equal(t, "the log", string(data), []string{"1\n", "1\n", "1\n2\n"}[n])
			return cmp.Or(err, errors.New("not yet"))
		}))
		must(t, m.Close(t.Context()))
	}
}

// Checks that fail once on any tree acquit no task that has broken one of them, and convict no other.
func TestFlakesAcquitNobody(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	r.attempt(m, "a", r.edits(files{"a1": "1\n"}))
	r.integrate(m, 1, "a: ")
	for _, task := range []string{"b", "c", "d"} {
		r.attempt(m, task, r.edits(files{task: map[string]string{"c": "broken\n"}[task] + "1\n"}))
	}
	cs, _, err := m.loadCandidates(t.Context(), 1, verifiedTasks("b: true", "c: true", "d: true"))
	must(t, err)
	m.picks = map[pick]string{}
	broken := map[string]bool{} // by tree
	for seed := range uint64(100) {
		flaky := rand.New(rand.NewPCG(seed, 0))
		failed := map[*check.Result]bool{}
		v := &verifier{m: m, rec: &savedIntegration{From: m.tip()}, earlier: verifiedTasks("a: suite")}
		m.checks = check.Places{}
		v.run = func(_ context.Context, tree string, _ func() (*tree, error), d requiredCheck) (check.Evidence, error) {
			if _, known := broken[tree]; !known {
				broken[tree] = strings.Contains(r.git("ls-tree", "--name-only", tree), "c")
			}
			red := broken[tree] && d.check.Run == "suite" || !failed[d.result(m, tree)] && flaky.IntN(2) == 0
			failed[d.result(m, tree)] = red
			return check.Evidence{Check: d.check.Run, Passed: !red}, nil
		}
		red, err := v.verify(t.Context(), cs, nil)
		must(t, err)
		culprits, err := v.findCulprits(t.Context(), cs, red)
		must(t, err)
		if len(culprits) != 1 || cs[culprits[0].task].Task != "c" {
			t.Errorf("seed %d: the culprits are %v; notes: %v", seed, culprits, v.notes)
		}
	}
}

// An integration whose tree is that of the attempt runs no check again, unless ignored files may have helped there.
func TestCheckRunsOnceOnATree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content files
		runs    string
	}{
		"the same tree": {files{"x": "1\n"}, "ax"}, "with ignored files": {files{"x": "1\n", "out/f": "1\n"}, "axx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{".gitignore": "out/\n"})
			m := r.open(r.options("r1"))
			log := filepath.Join(t.TempDir(), "log")
			must(t, os.WriteFile(log, []byte("a"), 0o600))
			run := plan.Check{Run: "printf x >> " + log}
			res := r.ask(m, runner.Request{Task: "x", Attempt: 1, Checks: []plan.Check{run}}, r.edits(c.content))
			equal(t, "outcome", res.Outcome, runner.Done)
			r.integrate(m, 1, "x: "+run.Run)
			data, err := os.ReadFile(log)
			must(t, err)
			equal(t, "runs", string(data), c.runs)
		})
	}
}

// Equal checks of tasks that begin on the same files run once before the work, unless other files may matter.
func TestChecksBeforeTheWorkRunOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup, check string
		runs         int
	}{
		"worktrees":            {"", "test -e f", 1 + 4},
		"with a setup":         {"true", "test -e f", 4 + 4},
		"it makes files":       {"", "echo >made; test -e f", 4 + 4},
		"it belongs to a task": {"", "test -e f # $WAVEX_TASK", 4 + 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a": "1\n", ".gitignore": "out/\n"})
			o := r.options("r1")
			o.Setup.Run = c.setup
			m := r.open(o)
			logs := t.TempDir()
			with := &runner.Local{Host: runner.Host{Env: proc.Inherit(r.env, nil)}}
			var all sync.WaitGroup
			for n := range 4 {
				dir := filepath.Join(logs, strconv.Itoa(n))
				must(t, os.MkdirAll(dir, 0o700))
				all.Go(func() {
					res := attemptIn(t.Context(), m, with, runner.Request{Run: "r1", Task: filepath.Base(dir), Attempt: 1, Slot: n,
						Dir: r.dir, LogDir: dir, Baseline: filepath.Join(dir, "base.json"), Command: "echo >f",
						Checks: []plan.Check{{Run: "echo >>" + filepath.Join(logs, "n") + "; " + c.check}}}, runner.Hooks{})
					equal(t, "outcome", res.Outcome, runner.Done)
					equal(t, "vacuous", res.Vacuous, false)
				})
			}
			all.Wait()
			data, err := os.ReadFile(filepath.Join(logs, "n"))
			must(t, err)
			equal(t, "runs", len(data), c.runs)
		})
	}
}
