package gitwork

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// undeliver undoes the delivery of a run and returns its changes.
func (r *repo) undeliver(m *Manager) string {
	r.t.Helper()
	u, err := m.PlanUndelivery(r.t.Context())
	must(r.t, err)
	must(r.t, m.Undeliver(r.t.Context(), u))
	return fmt.Sprint(u.Changes)
}

// Undoing a delivery moves the branch, the index and the checkout back to the commit before it, and nothing else.
func TestUndeliver(t *testing.T) {
	t.Parallel()
	r, m := delivery(t, nil)
	before := r.userFingerprint()
	head, refs := r.git("rev-parse", "HEAD"), r.git("for-each-ref")
	equal(t, "delivery", r.deliver(m, "").How, "ff")
	tip := r.git("rev-parse", "HEAD")
	equal(t, "changes", r.undeliver(m), "[{a restore} {n remove}]")
	after := r.userFingerprint()
	for _, m := range []map[string]string{before, after} { // reflogs grow, the index has new times
		maps.DeleteFunc(m, func(k, _ string) bool {
			return strings.HasPrefix(k, ".git/logs/") || k == ".git/index" || k == ".git/ORIG_HEAD"
		})
	}
	if !maps.Equal(before, after) {
		t.Errorf("the user had\n%v\nand has\n%v", before, after)
	}
	equal(t, "HEAD", r.git("rev-parse", "HEAD"), head)
	equal(t, "status", r.git("status", "--porcelain"), "")
	equal(t, "refs", strings.ReplaceAll(r.git("for-each-ref", "--format=%(objectname) commit\t%(refname)"), "\n", ";"),
		strings.ReplaceAll(strings.TrimSpace(refs), "\n", ";"))
	equal(t, "work", r.git("rev-parse", "wavex/r1"), tip)
	if _, err := m.PlanUndelivery(t.Context()); err == nil {
		t.Error("it is undone twice")
	}
	equal(t, "delivery again", r.deliver(m, "ff").How, "ff")
	equal(t, "changes again", r.undeliver(m), "[{a restore} {n remove}]")
}

// A delivery that other work builds on is not undone, and the reason is named.
func TestUndeliverRefused(t *testing.T) {
	t.Parallel()
	commit := func(r *repo) {
		r.write(r.dir, files{"b": "1\n"})
		r.git("add", "b")
		r.git("commit", "-qm", "mine")
	}
	for why, change := range map[string]func(r *repo){
		"main has moved since the delivery; git revert": commit,
		"not committed: a; commit or stash":             func(r *repo) { r.write(r.dir, files{"a": "mine\n"}) },
		"not committed: new":                            func(r *repo) { r.write(r.dir, files{"new": "mine\n"}) },
		"is on other now":                               func(r *repo) { r.git("switch", "-qc", "other") },
		"on no branch": func(r *repo) {
			r.git("checkout", "-q", "--detach")
		},
		"also in other; git revert": func(r *repo) {
			r.git("switch", "-qc", "other")
			commit(r)
			r.git("switch", "-q", "main")
		},
		"also in origin/main": func(r *repo) { r.git("update-ref", "refs/remotes/origin/main", "HEAD") },
		"a merge is under way": func(r *repo) {
			must(r.t, os.WriteFile(filepath.Join(r.dir, ".git/MERGE_HEAD"), []byte(r.git("rev-parse", "HEAD")+"\n"), 0o600))
		},
		"before the delivery already": func(r *repo) { r.git("reset", "-q", "--hard", "HEAD^") },
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			r, m := delivery(t, nil)
			equal(t, "delivery", r.deliver(m, "").How, "ff")
			change(r)
			before := r.userFingerprint()
			_, err := m.PlanUndelivery(t.Context())
			problem(t, err, BuiltOn)
			if err != nil && !strings.Contains(err.Error(), why) {
				t.Errorf("it says %v", err)
			}
			r.untouched(before)
		})
	}
	r, m := delivery(t, nil)
	if _, err := m.PlanUndelivery(t.Context()); err == nil || !strings.Contains(err.Error(), "wavex/r1") {
		t.Errorf("without a delivery: %v", err)
	}
	// A branch or tag at the delivered commit itself builds nothing on it, and a pushed branch of the run neither.
	equal(t, "delivery", r.deliver(m, "").How, "ff")
	r.git("branch", "keep")
	r.git("tag", "-m", "v1", "v1")
	r.git("update-ref", "refs/remotes/origin/wavex/r1", "HEAD")
	r.undeliver(m)
}

// Undoing overwrites no file that git ignores, and goes on after it was cut off.
func TestUndeliverCut(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n", "old": "1\n"})
	m := r.open(r.options("r1"))
	r.attempt(m, "x", r.edits(files{"a": "2\n", "old": "", ".gitignore": "old\n"}))
	r.integrate(m, 1, "x: ")
	equal(t, "delivery", r.deliver(m, "").How, "ff")
	r.write(r.dir, files{"old": "mine\n"}) // ignored now, and in the way
	_, err := m.PlanUndelivery(t.Context())
	problem(t, err, BuiltOn)
	must(t, os.Remove(filepath.Join(r.dir, "old")))
	u, err := m.PlanUndelivery(t.Context())
	must(t, err)
	r.git("read-tree", "-m", "-u", u.From, u.To) // then it was killed
	r.undeliver(m)
	equal(t, "HEAD", r.git("rev-parse", "HEAD"), u.To)
	if !slices.Equal(strings.Fields(r.git("status", "--porcelain")), nil) {
		t.Errorf("status %q", r.git("status", "--porcelain"))
	}
}
