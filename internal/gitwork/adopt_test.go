package gitwork

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/loop"
)

// pushedRun returns a repository whose run integrated x, a copy of its .loop then, and a remote to which the run
// pushed y and z after that. The records of the latter are lost.
func pushedRun(t *testing.T) (r *repo, o Options, remote string) {
	t.Helper()
	r = newRepo(t, files{"a": "1\n"})
	remote = filepath.Join(t.TempDir(), "remote.git")
	r.git("init", "-q", "--bare", remote)
	r.git("remote", "add", "origin", remote)
	o = r.options("r1")
	o.Push = true
	m, err := Open(t.Context(), o)
	must(t, err)
	r.attempt(m, "x", r.edits(files{"x": "1\n"}))
	r.integrate(m, 1, "x: ")
	m.Push(t.Context())
	must(t, m.Close(t.Context()))
	old := t.TempDir()
	copyAll(t, old, string(o.Loop))
	m, err = Open(t.Context(), o)
	must(t, err)
	for _, task := range []string{"y", "z"} {
		r.attempt(m, task, r.edits(files{task: "1\n"}))
		r.integrate(m, 2, task+": ")
	}
	m.Push(t.Context())
	must(t, m.Close(t.Context()))
	must(t, os.RemoveAll(string(loop.In(r.dir))))
	copyAll(t, string(o.Loop), old)
	for _, ref := range strings.Fields(r.git("for-each-ref", "--format=%(refname)", "refs/wavex", "refs/heads/wavex")) {
		r.git("update-ref", "-d", ref)
	}
	r.git("worktree", "prune")
	return r, o, remote
}

// A run whose later sessions are lost goes on from the work that they pushed, and can push again.
func TestAdoptPushed(t *testing.T) {
	t.Parallel()
	r, o, remote := pushedRun(t)
	tip := r.git("ls-remote", remote, "refs/heads/wavex/r1")[:40]
	for range 2 { // the second time it has the work already
		m, err := Open(t.Context(), o)
		must(t, err)
		equal(t, "the branch", r.git("rev-parse", "wavex/r1"), tip)
		if got := m.Adopted(); len(got) != 2 || got["y"] != r.git("rev-parse", tip+"^") || got["z"] != tip {
			t.Errorf("adopted %v", got)
		}
		must(t, m.Close(t.Context()))
	}
	m := r.open(o)
	r.attempt(m, "late", r.edits(files{"late": "1\n"}))
	r.integrate(m, 2, "late: ")
	m.Push(t.Context())
	equal(t, "pushed", r.git("ls-remote", remote, "refs/heads/wavex/r1")[:40], r.git("rev-parse", "wavex/r1"))
	equal(t, "the work", r.tree("wavex/r1"), files{"a": "1\n", "late": "1\n", "x": "1\n", "y": "1\n", "z": "1\n"})
}

// A branch with commits of others is left alone, a remote that does not answer is shown, and a run that is not pushed
// asks no remote.
func TestAdoptNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(r *repo, o *Options, remote string)
		warns  bool
	}{
		"commits of others": {func(r *repo, _ *Options, remote string) {
			r.git("fetch", "-q", remote, "wavex/r1")
			id := r.git("commit-tree", "-p", "FETCH_HEAD", "-m", "mine", "FETCH_HEAD^{tree}")
			r.git("push", "-q", remote, id+":refs/heads/wavex/r1")
		}, false},
		"another branch": {func(r *repo, _ *Options, remote string) {
			r.git("push", "-q", "--force", remote, "main:refs/heads/wavex/r1")
		}, false},
		"no branch": {func(r *repo, _ *Options, remote string) {
			r.git("push", "-q", remote, ":refs/heads/wavex/r1")
		}, false},
		"no answer":  {func(_ *repo, _ *Options, remote string) { must(t, os.RemoveAll(remote)) }, true},
		"not pushed": {func(_ *repo, o *Options, _ string) { o.Push = false }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, o, remote := pushedRun(t)
			c.change(r, &o, remote)
			var told []string
			o.Warn = func(err error) { told = append(told, err.Error()) }
			m := r.open(o)
			equal(t, "adopted", fmt.Sprint(m.Adopted()), "map[]")
			equal(t, "the work", r.tree("wavex/r1"), files{"a": "1\n", "x": "1\n"})
			if (len(told) > 0) != c.warns {
				t.Errorf("it says %q", told)
			}
		})
	}
}
