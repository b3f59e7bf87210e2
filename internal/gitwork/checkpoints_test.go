package gitwork

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

func (r *repo) checkpoints(run string) *Checkpoints {
	r.t.Helper()
	p, err := OpenCheckpoints(r.t.Context(), r.dir, run, r.env)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// findCheckout checks the changes of a rollback, path by path: "remove new.txt".
func (r *repo) findCheckout(p *Checkpoints, t Target, want ...string) *Rollback {
	r.t.Helper()
	b, err := p.PlanRollback(r.t.Context(), t)
	if err != nil {
		r.t.Fatal(err)
	}
	got := []string{}
	for _, c := range b.Changes {
		got = append(got, c.Action+" "+c.Path)
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("rolling back %+v would %q, want %q", t, got, want)
	}
	return b
}

// there returns the files that git would take, and those below ignored/.
func (r *repo) there() files {
	r.t.Helper()
	got := files{}
	must(r.t, filepath.WalkDir(r.dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		rel, _ := filepath.Rel(r.dir, path)
		text, err := os.ReadFile(path)
		if d.Type()&os.ModeSymlink != 0 {
			var to string
			to, err = os.Readlink(path)
			text = []byte("-> " + to)
		}
		got[filepath.ToSlash(rel)] = string(text)
		return err
	}))
	return got
}

// A checkpoint has everything that git does not ignore, and does not change the user's index,
// branches and stash.
func TestCheckpointsLeaveTheUserAlone(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a.txt": "a\n", "gone.txt": "g\n", ".gitignore": "ignored/\n"})
	r.write(r.dir, files{"staged.txt": "s\n"})
	r.git("add", "staged.txt")
	r.write(r.dir, files{"a.txt": "a2\n", "sub/new.txt": "n\n", "ignored/x": "x\n", "gone.txt": ""})
	before := r.userFingerprint()
	p := r.checkpoints("run-1")
	must(t, p.BeforeTask(t.Context(), "T-001"))
	after := r.userFingerprint()
	maps.DeleteFunc(after, func(k, _ string) bool { return strings.Contains(k, "refs/wavex") })
	if !reflect.DeepEqual(before, after) {
		t.Errorf("what is the user's was\n%v\nand is\n%v", before, after)
	}
	want := files{"a.txt": "a2\n", "sub/new.txt": "n\n", "staged.txt": "s\n", ".gitignore": "ignored/\n"}
	if got := r.tree("refs/wavex/run-1.points/task/T-001/before"); !reflect.DeepEqual(got, want) {
		t.Errorf("the checkpoint has %v, want %v", got, want)
	}
}

func TestRollbackOfATask(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a.txt": "a\n", "b.txt": "b\n", "old/c.txt": "c\n", ".gitignore": "*.log\n"})
	p := r.checkpoints("run-1")
	if _, err := p.PlanRollback(t.Context(), Target{Task: "1"}); !errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("without a checkpoint the error is %v", err)
	}
	must(t, p.BeforeTask(t.Context(), "1"))
	r.write(r.dir, files{"a.txt": "a2\n", "new/deep/n.txt": "n\n", "new/deep/x.log": "l\n", "only/o.txt": "o\n",
		"old/c.txt": "", "beside.txt": "other task\n"})
	must(t, p.AfterTask(t.Context(), "1"))
	r.write(r.dir, files{"b.txt": "b2\n"}) // a later task, or a person

	b := r.findCheckout(p, Target{Task: "1", Exclude: []string{"beside.txt"}}, "restore a.txt", "remove new/deep/n.txt",
		"bring back old/c.txt", "remove only/o.txt")
	if len(b.ChangedByOthers) > 0 || b.Unknown != "" || !slices.Equal(b.Skipped, []string{"beside.txt"}) {
		t.Errorf("theirs %q, unknown %q, left %q", b.ChangedByOthers, b.Unknown, b.Skipped)
	}
	must(t, p.Restore(t.Context(), b))
	want := files{"a.txt": "a\n", "b.txt": "b2\n", "old/c.txt": "c\n", ".gitignore": "*.log\n",
		"beside.txt": "other task\n", "new/deep/x.log": "l\n"}
	if got := r.there(); !reflect.DeepEqual(got, want) {
		t.Errorf("there is %v, want %v", got, want)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "only")); err == nil {
		t.Error("an empty directory stayed")
	}
	if got := r.tree(b.Undo)["a.txt"]; got != "a2\n" {
		t.Errorf("what was replaced is kept as %q", got)
	}
	r.findCheckout(p, Target{Task: "1", Exclude: []string{"beside.txt"}}) // done already: no change
	must(t, p.Delete(t.Context(), []string{"1"}, 0))
	if _, err := p.PlanRollback(t.Context(), Target{Task: "1"}); !errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("after it was forgotten the error is %v", err)
	}
}

// The rollback names files that others changed after wavex last recorded the directory, and says so
// if that is unknown.
func TestRollbackNamesChangesByOthers(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a.txt": "a\n", "b.txt": "b\n"})
	p := r.checkpoints("run-1")
	must(t, p.BeforeTask(t.Context(), "1"))
	r.write(r.dir, files{"a.txt": "a2\n", "b.txt": "b2\n"})
	b := r.findCheckout(p, Target{Task: "1"}, "restore a.txt", "restore b.txt")
	if b.Unknown == "" || !slices.Equal(b.ChangedByOthers, []string{"a.txt", "b.txt"}) {
		t.Errorf("cut off: theirs %q, unknown %q", b.ChangedByOthers, b.Unknown)
	}
	must(t, p.AfterTask(t.Context(), "1"))
	r.write(r.dir, files{"a.txt": "mine\n", "b.txt": "b\n"}) // b is unchanged: nothing would be lost
	b = r.findCheckout(p, Target{Task: "1"}, "restore a.txt")
	if b.Unknown != "" || !slices.Equal(b.ChangedByOthers, []string{"a.txt"}) {
		t.Errorf("theirs %q, unknown %q", b.ChangedByOthers, b.Unknown)
	}
}

func TestRollbackOfAWave(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a.txt": "a\n"})
	p := r.checkpoints("run-1")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := p.BeforeWave(t.Context(), 1); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	r.write(r.dir, files{"one.txt": "1\n"})
	must(t, p.BeforeWave(t.Context(), 2))
	r.write(r.dir, files{"two.txt": "2\n", "a.txt": "a2\n"})
	must(t, r.checkpoints("run-1").BeforeWave(t.Context(), 2)) // after a resume the first checkpoint stays
	must(t, p.EndSession(t.Context()))
	r.findCheckout(p, Target{Wave: 1}, "restore a.txt", "remove one.txt", "remove two.txt")
	r.write(r.dir, files{"two.txt": "mine\n", "three.txt": "mine\n"})
	b := r.findCheckout(p, Target{Wave: 2}, "restore a.txt", "remove two.txt")
	if !slices.Equal(b.ChangedByOthers, []string{"two.txt"}) {
		t.Errorf("theirs are %q", b.ChangedByOthers)
	}
	must(t, p.Restore(t.Context(), b))
	if got, want := r.there(), (files{"a.txt": "a\n", "one.txt": "1\n", "three.txt": "mine\n"}); !reflect.DeepEqual(got,
		want) {
		t.Errorf("there is %v, want %v", got, want)
	}
	must(t, p.Delete(t.Context(), nil, 2))
	if _, err := p.PlanRollback(t.Context(), Target{Wave: 2}); !errors.Is(err, ErrNoCheckpoint) {
		t.Errorf("after it was forgotten the error is %v", err)
	}
	r.findCheckout(p, Target{Wave: 1}, "remove one.txt")
}

// Changes that others make between two sessions are not the run's.
func TestRollbackKnowsChangesBetweenSessions(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a.txt": "a\n"})
	p := r.checkpoints("run-1")
	must(t, p.StartSession(t.Context()))
	must(t, p.BeforeWave(t.Context(), 1))
	r.write(r.dir, files{"one.txt": "1\n"})
	must(t, p.EndSession(t.Context()))
	r.write(r.dir, files{"mine.txt": "mine\n", "both.txt": "mine\n", "a.txt": "mine\n"})
	p = r.checkpoints("run-1")
	must(t, p.StartSession(t.Context()))
	if b := r.findCheckout(p, Target{Wave: 1}, "remove one.txt"); b.Unknown == "" {
		t.Error("a session without an end is taken for one with an end")
	}
	must(t, p.BeforeWave(t.Context(), 2))
	r.write(r.dir, files{"two.txt": "2\n", "both.txt": "ours\n"})
	must(t, p.EndSession(t.Context()))
	b := r.findCheckout(p, Target{Wave: 1}, "remove both.txt", "remove one.txt", "remove two.txt")
	if !slices.Equal(b.ChangedByOthers, []string{"both.txt"}) {
		t.Errorf("theirs are %q", b.ChangedByOthers)
	}
	if b = r.findCheckout(p, Target{Wave: 2}, "restore both.txt", "remove two.txt"); len(b.ChangedByOthers) > 0 {
		t.Errorf("theirs are %q", b.ChangedByOthers)
	}
	must(t, p.Restore(t.Context(), b))
	if b = r.findCheckout(p, Target{Wave: 1},
		"remove one.txt"); len(b.ChangedByOthers) > 0 { // both.txt is as its other author left it
		t.Errorf("after a rollback theirs are %q", b.ChangedByOthers)
	}
	if got, want := r.there(), (files{"a.txt": "mine\n", "one.txt": "1\n", "both.txt": "mine\n",
		"mine.txt": "mine\n"}); !reflect.DeepEqual(got, want) {
		t.Errorf("there is %v, want %v", got, want)
	}
}

// Rollbacks restore links, modes, and files in the place of directories and the reverse.
func TestRollbackOfKinds(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"run.sh": "#!/bin/sh\n", "dir/f.txt": "f\n", "file": "x\n", "to.txt": "t\n"})
	must(t, os.Chmod(filepath.Join(r.dir, "run.sh"), 0o755))
	must(t, os.Symlink("to.txt", filepath.Join(r.dir, "link")))
	p := r.checkpoints("run-1")
	must(t, p.BeforeTask(t.Context(), "1"))
	was := r.there()
	for _, name := range []string{"dir", "file", "link"} {
		must(t, os.RemoveAll(filepath.Join(r.dir, name)))
	}
	must(t, os.Chmod(filepath.Join(r.dir, "run.sh"), 0o644))
	r.write(r.dir, files{"dir": "a file now\n", "file/in/it.txt": "i\n", "link": "no link\n"})
	must(t, p.AfterTask(t.Context(), "1"))
	b, err := p.PlanRollback(t.Context(), Target{Task: "1"})
	must(t, err)
	must(t, p.Restore(t.Context(), b))
	if got := r.there(); !reflect.DeepEqual(got, was) {
		t.Errorf("there is %v, was %v", got, was)
	}
	if info, err := os.Stat(filepath.Join(r.dir, "run.sh")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("run.sh is %v, %v", info.Mode(), err)
	}
}

// A repository without a commit has checkpoints; a folder without a repository has none.
func TestCheckpointsWithoutACommit(t *testing.T) {
	t.Parallel()
	r := newRepo(t, nil)
	r.write(r.dir, files{"a.txt": "a\n"})
	p := r.checkpoints("run-1")
	must(t, p.SetRanHere(t.Context()))
	must(t, p.BeforeWave(t.Context(), 1))
	if here, err := p.RanHere(t.Context()); !here || err != nil {
		t.Errorf("the run is not known to have worked here: %v", err)
	}
	must(t, p.BeforeTask(t.Context(), "1"))
	r.write(r.dir, files{"b.txt": "b\n"})
	must(t, p.AfterTask(t.Context(), "1"))
	b := r.findCheckout(p, Target{Task: "1"}, "remove b.txt")
	must(t, p.Restore(t.Context(), b))

	var none *Error
	if _, err := OpenCheckpoints(t.Context(), t.TempDir(), "run-1", r.env); !errors.As(err, &none) ||
		none.Problem != NoRepo {
		t.Errorf("outside of a repository the error is %v", err)
	}
}

// For any changes of a task, a rollback restores every byte and leaves later changes elsewhere.
func TestRollbackIsExact(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "d/c", "d/e/f", "g h", "ü", "-x", "$y"}
	contents := []string{"1\n", "2\r\n", "\x00bin\xff", "same\n"}
	r := newRepo(t, files{"keep": "k\n"})
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 1))
		edit := func() {
			for range rng.IntN(5) {
				path := filepath.Join(r.dir, names[rng.IntN(len(names))])
				if rng.IntN(4) == 0 {
					_ = os.Remove(path) // it may not exist
					continue
				}
				must(t, os.MkdirAll(filepath.Dir(path), 0o755))
				must(t, os.WriteFile(path, []byte(contents[rng.IntN(len(contents))]), 0o644))
			}
		}
		p := r.checkpoints(fmt.Sprintf("run-%d", seed))
		edit()
		want := r.there()
		must(t, p.BeforeTask(t.Context(), "1"))
		edit()
		must(t, p.AfterTask(t.Context(), "1"))
		later := []string{"later", "d/later"}[rng.IntN(2)]
		want[later] = fmt.Sprint(seed)
		r.write(r.dir, files{later: want[later]})
		b, err := p.PlanRollback(t.Context(), Target{Task: "1"})
		must(t, err)
		if len(b.ChangedByOthers) > 0 {
			t.Fatalf("seed %d: %q are somebody else's", seed, b.ChangedByOthers)
		}
		must(t, p.Restore(t.Context(), b))
		if got := r.there(); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: there is %q, was %q", seed, got, want)
		}
	}
}

// changedSince returns the files that changed and the new ones since the checkpoint from before a run.
func (r *repo) changedSince(run string) string {
	r.t.Helper()
	env, has, done, err := r.checkpoints(run).BeforeRun(r.t.Context())
	must(r.t, err)
	defer done()
	if !has {
		return "unknown"
	}
	s := &repo{t: r.t, dir: r.dir, env: slices.Clone(r.env)}
	for k, v := range env {
		s.env = append(s.env, k+"="+v)
	}
	changed := strings.Fields(s.git("--no-optional-locks", "diff", "--name-only"))
	for _, f := range splitNUL(s.git("--no-optional-locks", "ls-files", "-z", "--others", "--exclude-standard")) {
		changed = append(changed, "new:"+f)
	}
	return strings.Join(changed, " ")
}

// Uncommitted files of every kind (staged, unstaged, untracked, conflicted, deleted) are those from before the run, and
// later changes are found.
func TestBeforeRun(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]files{
		"a repository":  {"a.txt": "a\n", "b.txt": "b\n", "gone.txt": "g\n", ".gitignore": "ignored/\n"},
		"no commit yet": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepoAt(t, filepath.Join(t.TempDir(), "with: a blank"), content)
			if content != nil {
				r.write(r.dir, files{"a.txt": "a2\n", "gone.txt": ""})
				r.git("update-index", "--force-remove", "b.txt")
				r.git("-c", "alias.conflict=!printf '100644 "+r.git("hash-object", "-w", "a.txt")+
					" 2\\tb.txt\\n' | git update-index --index-info", "conflict")
			}
			r.write(r.dir, files{"staged.txt": "s\n", "sub/odd *[x].txt": "n\n", "ignored/x": "x\n"})
			r.git("add", "staged.txt")
			r.git("init", "-q", "nested")
			r.gitIn(filepath.Join(r.dir, "nested"), "commit", "-q", "--allow-empty", "-m", "x")
			equal(t, "without a checkpoint", r.changedSince("r1"), "unknown")
			must(t, r.checkpoints("r1").BeforeWave(t.Context(), 1))
			before := r.userFingerprint()
			equal(t, "changed at once", r.changedSince("r1"), "")
			if after := r.userFingerprint(); !maps.Equal(after, before) {
				t.Errorf("the comparison changed the repository: %v, before: %v", after, before)
			}
			r.write(r.dir, files{"staged.txt": "s2\n", "sub/odd *[x].txt": "n2\n", "new.txt": "n\n"})
			r.git("add", "new.txt")
			equal(t, "changed", r.changedSince("r1"), "staged.txt sub/odd *[x].txt new:new.txt")
		})
	}
}
