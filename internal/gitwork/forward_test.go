package gitwork

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/runner"
)

// cutOff is a delivery that is on record and of which git has done nothing. The session that began it is over.
type cutOff struct {
	*repo
	o        Options
	from, to string
}

func newCutOff(t *testing.T) cutOff {
	r := newRepo(t, files{"a": "1\n", "b": "1\n", "c": "1\n", "file": "1\n", "dir/f": "1\n", "gone": "1\n", "mine": "1\n",
		"plan.json": "{}\n", ".gitignore": "/.loop/\n"})
	must(t, os.Symlink("a", filepath.Join(r.dir, "link")))
	r.git("add", "-A")
	r.git("commit", "-qm", "links")
	o := r.options("r1")
	m, err := Open(t.Context(), o)
	must(t, err)
	o.Own = []string{"plan.json"}
	r.attempt(m, "x", func(dir string, _ runner.Request) error {
		r.write(dir, files{"a": "1\n2\n3\n", "b": "2\n", "gone": "", "file": "", "dir/f": "", "new/n": "1\n2\n"})
		must(t, os.Remove(filepath.Join(dir, "dir")))
		r.write(dir, files{"file/f": "1\n", "dir": "1\n"})
		must(t, os.Remove(filepath.Join(dir, "link")))
		return os.Symlink("b", filepath.Join(dir, "link"))
	})
	r.integrate(m, 1, "x: ")
	r.write(r.dir, files{"plan.json": "{ }\n"})
	c := cutOff{r, o, r.git("rev-parse", "main"), m.tip()}
	must(t, m.beginForward(forward{From: c.from, To: c.to, Began: time.Now().Add(-time.Second)}))
	must(t, m.Close(t.Context()))
	return c
}

// in returns a copy.
func (c cutOff) in(t *testing.T) cutOff {
	dir := filepath.Join(t.TempDir(), "project")
	copyAll(t, dir, c.dir)
	r := *c.repo
	r.t, r.dir = t, dir
	c.repo = &r
	own := []string{filepath.Join(dir, c.o.Own[0])}
	c.o = r.options("r1")
	c.o.Own, c.o.Warn = own, func(err error) { t.Error(err) }
	return c
}

// steps returns the steps of git merge, each of which changes a checkout: git removes files, unlinks, makes and writes
// the others one by one, then replaces the index and moves the branch.
func (c cutOff) steps() (all []func(cutOff)) {
	remove := func(name string) func(cutOff) {
		return func(c cutOff) {
			must(c.t, os.Remove(filepath.Join(c.dir, name)))
			if dir := filepath.Dir(name); dir != "." {
				_ = os.Remove(filepath.Join(c.dir, dir)) // git removes a folder with its last file
			}
		}
	}
	for _, name := range []string{"dir/f", "file", "gone", "a"} {
		all = append(all, remove(name))
	}
	for _, name := range []string{"a", "b", "dir", "file/f", "new/n"} {
		content := c.git("show", c.to+":"+name) + "\n"
		if name == "b" {
			all = append(all, remove(name))
		}
		for _, part := range []string{"", content[:len(content)/2], content} {
			all = append(all, func(c cutOff) {
				path := filepath.Join(c.dir, name)
				must(c.t, os.MkdirAll(filepath.Dir(path), 0o755))
				must(c.t, os.WriteFile(path, []byte(part), 0o644))
			})
		}
	}
	return append(all, remove("link"),
		func(c cutOff) { must(c.t, os.Symlink("b", filepath.Join(c.dir, "link"))) },
		func(c cutOff) { c.git("read-tree", c.to) },
		func(c cutOff) { c.git("update-ref", "HEAD", c.to) })
}

// A delivery that was killed within git merge, after any of its steps, is made when the run goes on.
func TestDeliveryKilledWithinMerge(t *testing.T) {
	t.Parallel()
	c := newCutOff(t)
	steps := c.steps()
	for n := range len(steps) + 1 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			c := c.in(t)
			for _, step := range steps[:n] {
				step(c)
			}
			m := c.open(c.o)
			d := c.deliver(m, "auto")
			if equal(t, "delivery", d.How, "ff"); t.Failed() {
				t.Error(d.Why)
			}
			equal(t, "main", c.git("rev-parse", "main"), c.to)
			equal(t, "the checkout", c.git("status", "--porcelain"), " M plan.json")
			equal(t, "its record", m.state.Forward, (*forward)(nil))
		})
	}
}

// The record of a delivery that was killed within git merge stays while its files are on another branch, and when the
// run is cleaned.
func TestDeliveryKilledWithinMergeIsKept(t *testing.T) {
	t.Parallel()
	c := newCutOff(t).in(t)
	for _, step := range c.steps()[:10] {
		step(c)
	}
	_, err := Clean(t.Context(), c.dir, "", false)
	must(t, err)
	c.git("switch", "-q", "-c", "rescue")
	m, err := Open(t.Context(), c.o)
	must(t, err)
	equal(t, "on another branch the delivery", c.deliver(m, "auto").How, "branch")
	must(t, m.Close(t.Context()))
	c.git("switch", "-q", "main")
	equal(t, "delivery", c.deliver(c.open(c.o), "auto").How, "ff")
	equal(t, "the checkout", c.git("status", "--porcelain"), " M plan.json")
}

// In a sparse checkout nothing outside of it appears, whether git was killed before or after it wrote the index.
func TestDeliveryKilledWithinSparseMerge(t *testing.T) {
	t.Parallel()
	whole := newCutOff(t)
	for name, written := range map[string]bool{"files": false, "index": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := whole.in(t)
			c.git("status") // the files of the copy are as in its index
			c.git("sparse-checkout", "set", "--no-cone", "/*", "!/b", "!/gone")
			if written {
				c.git("merge", "-q", "--ff-only", c.to)
				c.git("update-ref", "HEAD", c.from)
			} else {
				c.write(c.dir, files{"a": "1\n2\n3\n"})
			}
			c.write(c.dir, files{"mine": "2\n"})
			equal(t, "delivery", c.deliver(c.open(c.o), "auto").How, "branch")
			equal(t, "the checkout", c.git("status", "--porcelain"), " M mine\n M plan.json")
			for _, name := range []string{"b", "gone"} {
				if _, err := os.Lstat(filepath.Join(c.dir, name)); err == nil {
					t.Errorf("%s appears", name)
				}
			}
			equal(t, "outside", c.git("ls-files", "-t", "b", "gone"), "S b\nS gone")
		})
	}
}

// A delivery that was killed between sessions, as in wavex deliver, is made although its git left a lock.
func TestDeliveryKilledBetweenSessions(t *testing.T) {
	t.Parallel()
	c := newCutOff(t).in(t)
	c.git("stash", "-q") // plan.json
	c.write(c.dir, files{"a": "1\n2\n"})
	must(t, os.WriteFile(filepath.Join(c.dir, ".git/index.lock"), nil, 0o600))
	c.o.lockWait, c.o.Warn = noWait, nil
	m := c.open(c.o)
	if _, err := os.Lstat(filepath.Join(c.dir, ".git/index.lock")); err == nil {
		t.Fatal("the lock stays")
	}
	equal(t, "delivery", c.deliver(m, "auto").How, "ff")
}

// After the branch has moved, a lock of the index is not of the delivery.
func TestIndexLockAfterDelivery(t *testing.T) {
	t.Parallel()
	c := newCutOff(t).in(t)
	c.git("stash", "-q") // plan.json
	c.git("merge", "-q", "--ff-only", c.to)
	lock := filepath.Join(c.dir, ".git/index.lock")
	must(t, os.WriteFile(lock, nil, 0o600))
	c.o.lockWait, c.o.Warn = noWait, nil
	c.open(c.o)
	if _, err := os.Lstat(lock); err != nil {
		t.Error(err)
	}
}

// Changes of a person before the run goes on stay, after any of the steps, and the delivery names them.
func TestDeliveryKilledWithinMergeBesideAPerson(t *testing.T) {
	t.Parallel()
	c := newCutOff(t)
	steps := c.steps()
	for _, n := range []int{0, 4, 6, 15, len(steps) - 2, len(steps) - 1} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			c := c.in(t)
			for _, step := range steps[:n] {
				step(c)
			}
			edits := files{"a": "1\n2\nthree\n", "mine": "2\n", "u": "1\n", "new/u": "1\n"}
			c.write(c.dir, edits)
			c.git("add", "u")
			m := c.open(c.o)
			d := c.deliver(m, "auto")
			if d.How != "branch" || !strings.Contains(d.Why, "not committed: a, mine, ") {
				t.Errorf("the delivery is %s: %s", d.How, d.Why)
			}
			equal(t, "main", c.git("rev-parse", "main"), c.from)
			equal(t, "changes", c.git("status", "--porcelain", "-uall"), " M a\n M mine\n M plan.json\nA  u\n?? new/u")
			for name, content := range edits {
				equal(t, name, c.content(c.dir)[name], content)
			}
			c.git("stash", "-q", "-u")
			if d = c.deliver(m, "auto"); d.How != "ff" {
				t.Errorf("once the checkout is clean, the delivery is %s: %s", d.How, d.Why)
			}
		})
	}
}

// A file that git has written in part is replaced, but not lost: a person may have shortened it.
func TestDeliveryKeepsPartOfAFile(t *testing.T) {
	t.Parallel()
	c := newCutOff(t).in(t)
	m := c.open(c.o)
	c.write(c.dir, files{"a": "1\n2\n"})
	equal(t, "delivery", c.deliver(m, "auto").How, "ff")
	kept := c.git("for-each-ref", "--format=%(objectname)", "refs/wavex/r1.kept/checkout/")
	want := c.tree(c.from)
	want["a"] = "1\n2\n"
	equal(t, "kept", fmt.Sprint(c.tree(kept)), fmt.Sprint(want))
}

// A delivery is on record before git begins it.
func TestDeliveryIsOnRecord(t *testing.T) {
	t.Parallel()
	r, m := delivery(t, nil)
	r.git("config", "filter.seen.smudge", "cat '"+m.opts.Loop.Worktree("r1", "json")+"' >'"+r.dir+"/.git/seen'; cat")
	must(t, os.WriteFile(filepath.Join(r.dir, ".git/info/attributes"), []byte("n filter=seen\n"), 0o600))
	from := r.git("rev-parse", "main")
	equal(t, "delivery", r.deliver(m, "auto").How, "ff")
	s, err := readState(filepath.Join(r.dir, ".git/seen"))
	must(t, err)
	equal(t, "on record", s.Forward.From+" "+s.Forward.To, from+" "+m.tip())
}
