package gitwork

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wavex/internal/loop"
	"wavex/internal/proc/proctest"
	"wavex/runner"
)

// delivery returns a run with one integrated task, ready for its delivery.
func delivery(t *testing.T, change func(o *Options)) (*repo, *Manager) {
	t.Helper()
	r := newRepo(t, files{"a": "1\n2\n3\n"})
	o := r.options("r1")
	if change != nil {
		change(&o)
	}
	m := r.open(o)
	r.attempt(m, "x", r.edits(files{"a": "1\n2\nthree\n", "n": "1\n"}))
	r.integrate(m, 1, "x: ")
	return r, m
}

// Untracked files that the work does not touch do not prevent a delivery.
func TestDeliveryBesideUntrackedFiles(t *testing.T) {
	t.Parallel()
	r, m := delivery(t, nil)
	r.write(r.dir, files{"note": "mine\n", "notes/n": "mine\n"})
	equal(t, "delivery", r.deliver(m, "").How, "ff")
	equal(t, "the status", r.git("status", "--porcelain"), "?? note\n?? notes/")
	equal(t, "main", r.tree("main"), files{"a": "1\n2\nthree\n", "n": "1\n"})
}

func TestDeliveryLeavesTheCheckoutAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(r *repo)
		why     string
		command string
	}{
		"from changed files": {func(r *repo) { r.write(r.dir, files{"a": "mine\n"}) }, "not committed: a",
			"git merge --ff-only wavex/r1"},
		"from new files": {func(r *repo) { r.write(r.dir, files{"n": "mine\n"}) }, "not committed: n",
			"git merge --ff-only wavex/r1"},
		"from staged files": {func(r *repo) { r.write(r.dir, files{"b": "mine\n"}); r.git("add", "b") },
			"not committed: b", "git merge --ff-only wavex/r1"},
		"from a new folder": {func(r *repo) { r.write(r.dir, files{"n/mine": "1\n"}) }, "not committed: n/",
			"git merge --ff-only wavex/r1"},
		"from another branch": {func(r *repo) { r.git("switch", "-qc", "other") },
			"is on other now, and the run began on main", "git merge --ff-only wavex/r1"},
		"from a moved branch": {func(r *repo) {
			r.write(r.dir, files{"b": "1\n"})
			r.git("add", "b")
			r.git("commit", "-qm",
				"mine")
		}, "main has moved", "git rebase main wavex/r1 && git switch main && git merge --ff-only wavex/r1"},
		"from a detached HEAD": {func(r *repo) { r.git("checkout", "-q", "--detach") }, "on no branch",
			"git merge --ff-only wavex/r1"},
		"from a merge underway": {func(r *repo) {
			must(r.t, os.WriteFile(filepath.Join(r.dir, ".git/MERGE_HEAD"), []byte(r.git("rev-parse", "HEAD")+"\n"), 0o600))
		}, "merge is under way", "git merge --ff-only wavex/r1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, m := delivery(t, nil)
			c.change(r)
			before := r.userFingerprint()
			d := r.deliver(m, "")
			equal(t, "delivery", d.How, "branch")
			equal(t, "ref", d.Ref, "wavex/r1")
			equal(t, "command", d.Command, c.command)
			if !strings.Contains(d.Why, c.why) {
				t.Errorf("it says %q", d.Why)
			}
			_, err := m.Deliver(t.Context(), "ff", true)
			if e := asProblem(err); e == nil || !strings.Contains(e.Error(), c.command) {
				t.Errorf("asked for, it says %v", err)
			}
			r.untouched(before)
			if name == "from a moved branch" { // the suggested command must work
				for _, args := range strings.Split(d.Command, " && git ") {
					r.git(strings.Fields(strings.TrimPrefix(args, "git "))...)
				}
				equal(t, "main", r.tree("main"), files{"a": "1\n2\nthree\n", "b": "1\n", "n": "1\n"})
			}
		})
	}
}

// Git writes files before it moves the branch. If it cannot write all of them, as on a full disk, the checkout is as
// before.
func TestDeliveryCutOff(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	r.attempt(m, "x", r.edits(files{"a": "2\n", "b": "1\n", "n": "1\n"})) // git writes n last
	r.integrate(m, 1, "x: ")
	r.git("config", "filter.fails.smudge", "false")
	r.git("config", "filter.fails.required", "true")
	must(t, os.WriteFile(filepath.Join(r.dir, ".git/info/attributes"), []byte("n filter=fails\n"), 0o600))
	head := r.git("rev-parse", "main")
	d := r.deliver(m, "auto")
	if d.How != "branch" || !strings.Contains(d.Why, "smudge filter fails failed") {
		t.Errorf("the delivery is %s: %s", d.How, d.Why)
	}
	equal(t, "main", r.git("rev-parse", "main"), head)
	equal(t, "changes", r.git("status", "--porcelain"), "")
	r.git("config", "filter.fails.smudge", "cat") // the way is free
	equal(t, "once more", r.deliver(m, "auto").How, "ff")
}

// The files that a person writes into the checkout while git fails stay.
func TestDeliveryCutOffBesideAPerson(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n", "b": "1\n", "c": "1\n", "gone": "1\n", "plan.json": "{}\n"})
	o := r.options("r1")
	o.Own = []string{filepath.Join(r.dir, "plan.json")}
	m := r.open(o)
	r.attempt(m, "x", r.edits(files{"a": "2\n", "b": "2\n", "d/new": "1\n", "gone": "", "n": "1\n"})) // git writes n last
	r.integrate(m, 1, "x: ")
	r.write(r.dir, files{"plan.json": "{ }\n"})
	r.git("config", "filter.fails.smudge", "cd '"+r.dir+"' && echo mine | tee b c u >/dev/null; false")
	r.git("config", "filter.fails.required", "true")
	must(t, os.WriteFile(filepath.Join(r.dir, ".git/info/attributes"), []byte("n filter=fails\n"), 0o600))
	if d := r.deliver(m, "auto"); d.How != "branch" || !strings.Contains(d.Why, "smudge filter fails failed") {
		t.Errorf("the delivery is %s: %s", d.How, d.Why)
	}
	want := files{"a": "1\n", "b": "mine\n", "c": "mine\n", "u": "mine\n", "gone": "1\n", "plan.json": "{ }\n"}
	got := r.there()
	maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasPrefix(name, ".loop/") })
	if !reflect.DeepEqual(got, want) {
		t.Errorf("there is %v, want %v", got, want)
	}
}

func TestDeliveryOfAnIncompleteRun(t *testing.T) {
	t.Parallel()
	r, m := delivery(t, nil)
	before := r.userFingerprint()
	d, err := m.Deliver(t.Context(), "auto", false)
	must(t, err)
	if d.How != "branch" || !strings.Contains(d.Why, "not complete") {
		t.Errorf("the delivery is %s: %s", d.How, d.Why)
	}
	r.untouched(before)
	d, err = m.Deliver(t.Context(), "ff", false)
	must(t, err)
	equal(t, "asked for", d.How, "ff")
}

func TestProtectedBranch(t *testing.T) {
	t.Parallel()
	r, m := delivery(t, func(o *Options) { o.Protect = []string{"release/*", "main"} })
	before := r.userFingerprint()
	d := r.deliver(m, "auto")
	if d.How != "branch" || !strings.Contains(d.Why, "main is protected") {
		t.Errorf("the delivery is %s: %s", d.How, d.Why)
	}
	_, err := m.Deliver(t.Context(), "ff", true)
	problem(t, err, Protected)
	r.untouched(before)
	_, err = m.Deliver(t.Context(), "mail", true)
	problem(t, err, BadMode)
	_, err = m.Deliver(t.Context(), "pr", true)
	problem(t, err, NoRemote)
}

func TestPullRequest(t *testing.T) {
	t.Parallel()
	bin, remote := t.TempDir(), filepath.Join(t.TempDir(), "remote.git")
	log := filepath.Join(bin, "log")
	// This gh knows no pull request until it has made one.
	proctest.Script(t, filepath.Join(bin, "gh"), "#!/bin/sh\necho \"$GH_TOKEN|$*\" >>"+log+
		"\nif [ $2 = view ]; then test -e "+log+".made || exit 1; else touch "+log+
		".made; echo creating; fi\necho https://example.com/pull/7\n")
	r, m := delivery(t, func(o *Options) {
		o.Env = append([]string{"GH_TOKEN=t", "PATH=" + bin + ":" + os.Getenv("PATH")}, o.Env[1:]...)
		o.Title = "The work"
	})
	before := r.userFingerprint()
	r.git("init", "-q", "--bare", remote)
	r.git("remote", "add", "origin", remote)
	delete(before, ".git/config")
	d := r.deliver(m, "pr")
	equal(t, "delivery", d.How+" "+d.Ref, "pr https://example.com/pull/7")
	equal(t, "pushed", r.gitIn(remote, "for-each-ref", "--format=%(objectname) %(refname)"),
		d.Commit+" refs/heads/wavex/r1")
	d = r.deliver(m, "pr")
	equal(t, "again", d.How+" "+d.Ref, "pr https://example.com/pull/7")
	data, err := os.ReadFile(log)
	must(t, err)
	if !strings.Contains(string(data), "t|pr create --head wavex/r1 --title The work --base main --body") ||
		strings.Count(string(data), "create") != 1 {
		t.Errorf("gh was asked %s", data)
	}
}

// A push is cut when the run is stopped, without a warning, and made by the next call.
func TestPushIsCut(t *testing.T) {
	t.Parallel()
	remote := filepath.Join(t.TempDir(), "remote.git")
	var told []error
	r, m := delivery(t, func(o *Options) { o.Warn = func(err error) { told = append(told, err) } })
	r.git("init", "-q", "--bare", remote)
	r.git("remote", "add", "origin", remote)
	started := filepath.Join(t.TempDir(), "started")
	hook := filepath.Join(r.dir, ".git", "hooks", "pre-push")
	proctest.Script(t, hook, "#!/bin/sh\ntouch "+started+"\nexec sleep 1000\n")
	r.acceptHooks(m)
	ctx, cancel := context.WithCancelCause(t.Context())
	go cancelAt(ctx, cancel, started)
	m.Push(ctx)
	if context.Cause(ctx) == nil || len(told) != 0 {
		t.Errorf("the push ended with %v, and the warnings %v", context.Cause(ctx), told)
	}
	must(t, os.Remove(hook))
	r.acceptHooks(m)
	m.Push(t.Context())
	equal(t, "pushed", r.gitIn(remote, "rev-parse", "wavex/r1"), r.git("rev-parse", "wavex/r1"))
}

// The user works on the run's branch: wavex leaves it alone, and nothing is lost.
func TestBranchChangedByOthers(t *testing.T) {
	t.Parallel()
	r, m := delivery(t, nil)
	r.git("switch", "-q", "wavex/r1")
	r.attempt(m, "y", r.edits(files{"y": "1\n"}))
	before := r.userFingerprint()
	r.integrate(m, 2, "y: ")
	r.untouched(before)
	d := r.deliver(m, "auto")
	equal(t, "ref", d.Ref, "refs/wavex/r1.run/tip")
	if d.How != "branch" || !strings.Contains(d.Why, "checked out") {
		t.Errorf("the delivery is %s: %s", d.How, d.Why)
	}
	r.write(r.dir, files{"own": "1\n"})
	r.git("add", "own")
	r.git("commit", "-qm", "mine")
	r.git("switch", "-q", "main")
	if d = r.deliver(m, "branch"); !strings.Contains(d.Why, "somebody else") {
		t.Errorf("it says %q", d.Why)
	}
	equal(t, "the tip", r.tree(d.Ref), files{"a": "1\n2\nthree\n", "n": "1\n", "y": "1\n"})
}

func TestClean(t *testing.T) {
	t.Parallel()
	r, m := delivery(t, nil)
	r.ask(m, runner.Request{Task: "half", Attempt: 1}, r.edits(files{"half": "1\n"}))
	r.ask(m, runner.Request{Task: "failed", Attempt: 1}, func(dir string, _ runner.Request) error {
		r.write(dir, files{"left": "1\n"})
		return os.ErrInvalid
	})
	items, err := Clean(t.Context(), r.dir, "", false)
	must(t, err)
	if len(items) != 1 || items[0].Removed {
		t.Fatalf("of a run under way it cleaned %v", items)
	}
	must(t, m.Close(t.Context()))
	before, refs := r.userFingerprint(), r.git("for-each-ref")
	wouldBe, err := Clean(t.Context(), r.dir, "", true)
	must(t, err)
	equal(t, "refs after a dry run", r.git("for-each-ref"), refs)
	items, err = Clean(t.Context(), r.dir, "r1", false)
	must(t, err)
	equal(t, "items", len(items), len(wouldBe))
	for i, it := range items {
		equal(t, it.Name, it.Removed, wouldBe[i].Removed)
	}
	r.untouched(before)
	equal(t, "branches", r.git("for-each-ref", "--format=%(refname)", "refs/heads"),
		"refs/heads/main\nrefs/heads/wavex/r1")
	bundles := func() bool {
		_, err := os.Stat(filepath.Join(r.dir, ".loop", "worktrees", "r1.bundles"))
		return err == nil
	}
	equal(t, "bundles beside the branch", bundles(), true)
	equal(t, "worktrees", len(splitLines(r.git("worktree", "list"))), 1)
	left := splitLines(r.git("for-each-ref", "--format=%(refname)", "refs/wavex/r1.kept/failed/"))
	if len(left) != 1 || r.tree(left[0])["left"] != "1\n" {
		t.Errorf("of the failed task is kept %v", left)
	}
	// The work can still be delivered later, and then the branch may be removed.
	m = r.open(r.options("r1"))
	equal(t, "delivery", r.deliver(m, "ff").How, "ff")
	must(t, m.Close(t.Context()))
	_, err = Clean(t.Context(), r.dir, "r1", true)
	must(t, err)
	equal(t, "bundles after a dry run", bundles(), true)
	broken := filepath.Join(r.dir, ".loop", "worktrees", "r1.bundles", "9.bundle")
	must(t, os.WriteFile(broken, nil, 0o600))
	items, err = Clean(t.Context(), r.dir, "r1", false)
	must(t, err)
	equal(t, "bundles of which one cannot be read", bundles(), true)
	if last := items[len(items)-1]; last.Removed || last.Why != broken+" cannot be read" {
		t.Errorf("%+v", last)
	}
	must(t, os.Remove(broken))
	_, err = Clean(t.Context(), r.dir, "r1", false)
	must(t, err)
	equal(t, "branches", r.git("for-each-ref", "--format=%(refname)", "refs/heads"), "refs/heads/main")
	equal(t, "bundles after the delivery", bundles(), false)
}

// A state that cannot be read is named, and keeps no other run from being cleaned.
func TestCleanBesideDamage(t *testing.T) {
	t.Parallel()
	r, m := delivery(t, nil)
	must(t, m.Close(t.Context()))
	damaged := loop.In(r.dir).Worktree("r0", "json")
	must(t, os.WriteFile(damaged, []byte("{"), 0o600))
	items, err := Clean(t.Context(), r.dir, "", false)
	must(t, err)
	if first := items[0]; first.Name != damaged || first.Removed || !strings.Contains(first.Why, "reading "+damaged) {
		t.Errorf("%+v", first)
	}
	equal(t, "branches", r.git("for-each-ref", "--format=%(refname)", "refs/heads"),
		"refs/heads/main\nrefs/heads/wavex/r1")
}

// What a killed run has left is removed, too, when its .loop was moved aside.
func TestCleanOfBackup(t *testing.T) {
	t.Parallel()
	r, m := delivery(t, nil)
	r.attempt(m, "y", r.edits(files{"y": "1\n"}))
	r.attempt(m, "z", r.edits(files{"z": "1\n"}))
	r.integrate(m, 2, "y: test -e y", "z: test -e z")
	in := loop.In(r.dir)
	backup := in + ".bak-1"
	must(t, os.Rename(string(in), string(backup)))
	t.Cleanup(func() { must(t, os.Rename(string(backup), string(in))) })
	must(t, os.Remove(backup.Worktree("r1", "lock"))) // the system releases the lock of a dead process
	items, err := CleanIn(t.Context(), r.dir, backup, "", false)
	must(t, err)
	var removed []string
	for _, it := range items {
		if it.Kind == "worktree" && it.Removed {
			removed = append(removed, filepath.Base(it.Name))
		}
	}
	if !slices.Contains(removed, "r1.1") {
		t.Errorf("removed are %v", removed)
	}
	equal(t, "worktrees", len(splitLines(r.git("worktree", "list"))), 1)
}

// The checkout has delivered work also after a rebase and a squash, and not before.
func TestContains(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(r *repo)
		want   bool
	}{
		"undelivered": {func(*repo) {}, false},
		"fast-forwarded": {func(r *repo) {
			r.git("merge", "-q", "--ff-only", "wavex/r1")
			r.write(r.dir, files{"a": "other\n"})
			r.git("commit", "-qam", "mine")
		}, true},
		"squashed, and other files changed": {func(r *repo) {
			r.git("merge", "-q", "--squash", "wavex/r1")
			r.write(r.dir, files{"b": "mine\n"})
			r.git("add", "-A")
			r.git("commit", "-qm", "all of it")
		}, true},
		"one half of it": {func(r *repo) {
			r.git("checkout", "-q", "wavex/r1", "--", "n")
			r.git("commit", "-qm", "half")
		}, false},
		"a conflict": {func(r *repo) {
			r.write(r.dir, files{"a": "1\n2\nfour\n"})
			r.git("commit", "-qam", "mine")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, m := delivery(t, nil)
			tip := r.deliver(m, "branch").Commit
			c.change(r)
			for commit, want := range map[string]bool{tip: c.want, strings.Repeat("1", 40): false} {
				has, err := Contains(t.Context(), r.dir, commit, os.Environ())
				must(t, err)
				equal(t, "has "+commit, has, want)
			}
		})
	}
}
