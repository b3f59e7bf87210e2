package gitwork

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"wavex/internal/loop"
	"wavex/runner"
)

// newHalfRun returns a run whose task z was cut off in a repository, with the record of its journal.
func newHalfRun(t *testing.T, r *repo) cutRun {
	t.Helper()
	c := cutRun{repo: r, record: Record{Began: time.Now().Add(-time.Minute), Base: r.git("rev-parse", "HEAD")}}
	o := c.options()
	o.Record = nil // it is new
	m, err := Open(t.Context(), o)
	must(t, err)
	r.ask(m, runner.Request{Task: "z", Attempt: 1}, func(dir string, _ runner.Request) error {
		r.write(dir, files{"in/half": "1\n"})
		return os.ErrInvalid
	})
	must(t, m.Close(t.Context()))
	return c
}

// mustAddHalf continues z, whose commit has its file and no other change.
func (c cutRun) mustAddHalf(m *Manager) {
	c.t.Helper()
	res := c.ask(m, runner.Request{Task: "z", Attempt: 2, Resume: true}, c.edits(nil))
	equal(c.t, "z", res.Outcome, runner.Done)
	equal(c.t, "its work", c.git("diff", "--no-renames", "--name-status", c.record.Base, "refs/wavex/r1/z"), "A\tin/half")
}

// sparseFiles are the files of a repository whose checkout is that of the folder in. Git ignores one that it has.
var sparseFiles = files{".gitignore": "kept\n", "in/kept": "1\n", "in/a": "1\n", "out/b": "1\n"}

// A task whose index is made again deletes no file that it did not touch.
func TestMendsIndexOfWorktree(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"whole", "sparse"} {
		for _, file := range []string{"index", "HEAD"} {
			for how, damage := range kindsOfDamage {
				t.Run(kind+" "+file+" "+how, func(t *testing.T) {
					t.Parallel()
					r := newRepo(t, files{"a": "1\n"})
					r.write(r.dir, sparseFiles)
					r.git("add", "-f", ".")
					r.git("commit", "-q", "-m", "second")
					if kind == "sparse" {
						r.git("sparse-checkout", "set", "in")
					}
					c := newHalfRun(t, r)
					for _, path := range c.find(".git/worktrees/*/" + file) {
						must(t, damage(path))
					}
					c.mustAddHalf(c.open(c.options()))
				})
			}
		}
	}
}

// The repair of a partial clone asks no remote, reads no missing file, and keeps the staged files.
func TestMendsPartialClone(t *testing.T) {
	t.Parallel()
	from := newRepo(t, files{"in/a": "1\n", "out/b": "not fetched\n"})
	from.git("config", "uploadpack.allowFilter", "true")
	to := &repo{t: t, dir: filepath.Join(t.TempDir(), "clone"), env: from.env}
	from.git("clone", "-q", "--filter=blob:none", "--sparse", "file://"+from.dir, to.dir)
	to.git("sparse-checkout", "set", "in")
	c := newHalfRun(t, to)
	c.write(c.dir, files{"in/staged": "1\n"})
	c.git("add", "in/staged")
	must(t, os.RemoveAll(from.dir))
	for _, path := range c.find(".git/worktrees/*/index") {
		must(t, os.Remove(path))
	}
	must(t, os.RemoveAll(loop.In(c.dir).Worktree("r1", "bundles")))
	m := c.open(c.options())
	equal(t, "the status", c.git("status", "--porcelain", "--untracked-files=no"), "A  in/staged")
	c.mustAddHalf(m)
}
