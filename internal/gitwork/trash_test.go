package gitwork

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/loop"
	"wavex/runner"
)

// worktreeFolders returns the names of a run's worktrees on the disk.
func (r *repo) worktreeFolders(run string) (names []string) {
	r.t.Helper()
	found, err := filepath.Glob(loop.In(r.dir).Worktree(run, "[0-9]*"))
	must(r.t, err)
	for _, path := range found {
		names = append(names, filepath.Base(path))
	}
	return names
}

// Worktrees that no task needs are removed beside the run, and tasks that come later get new ones.
func TestRemoveSurplus(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	outer := func(dir string, _ runner.Request) error {
		r.attempt(m, "2", r.edits(files{"two": "2\n"}))
		r.write(dir, files{"one": "1\n"})
		return nil
	}
	r.attempt(m, "1", outer)
	r.integrate(m, 1, "1: test -e one", "2")
	equal(t, "worktrees", r.worktreeFolders("r1"), "[r1.1 r1.2]")
	for _, step := range []struct {
		need int
		want string
	}{{2, "[r1.1 r1.2]"}, {1, "[r1.2]"}, {0, "[r1.2]"}} {
		must(t, m.RemoveSurplus(t.Context(), step.need))
		equal(t, fmt.Sprint("worktrees for ", step.need), r.worktreeFolders("r1"), step.want)
	}
	registered := splitLines(r.git("worktree", "list"))
	equal(t, "registered", len(registered), 2)
	r.attempt(m, "3", r.edits(files{"three": "3\n"}))
	must(t, m.RemoveSurplus(t.Context(), 0))
	equal(t, "worktrees beside work", r.worktreeFolders("r1"), "[r1.2]")
	r.integrate(m, 2, "3")
	must(t, m.Close(t.Context()))
	equal(t, "worktrees at the end", r.worktreeFolders("r1"), "[]")
	equal(t, "registered at the end", len(splitLines(r.git("worktree", "list"))), 1)
	equal(t, "undeleted", m.Undeleted(), len(m.trash.names()))
	equal(t, "the work", r.tree("wavex/r1"), files{"a": "1\n", "one": "1\n", "two": "2\n", "three": "3\n"})
}

// The next session deletes the rest of an earlier one, and so does Clean.
func TestTrash(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	left := trashOf(loop.In(r.dir))
	litter := func() {
		t.Helper()
		dir := filepath.Join(left.dir, "old.1-1")
		must(t, os.MkdirAll(filepath.Join(dir, "d", "e"), 0o755))
		r.write(dir, files{"d/e/f": "1\n", "d/g": "1\n"})
		must(t, os.Symlink(r.dir, filepath.Join(dir, "d", "link")))
		must(t, os.Symlink(string(loop.In(r.dir)), filepath.Join(left.dir, "link")))
		must(t, os.Chmod(filepath.Join(dir, "d", "e"), 0o500))
	}
	gone := func(what string) {
		t.Helper()
		if _, err := os.Lstat(left.dir); !os.IsNotExist(err) {
			t.Errorf("%s: the trash is there (%v)", what, err)
		}
	}
	litter()
	before := r.userFingerprint()
	m := r.open(r.options("r1"))
	m.trash.worker.Close()
	gone("the next session")
	must(t, m.Close(t.Context()))

	litter()
	items, err := Clean(t.Context(), r.dir, "", true)
	must(t, err)
	equal(t, "of a dry run", items[len(items)-1], CleanupItem{Kind: "folder", Name: left.dir, Removed: true})
	equal(t, "after a dry run", len(left.names()), 2)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := left.empty(stopped); err == nil || len(left.names()) != 2 {
		t.Errorf("stopped, it deletes: %v, %v", left.names(), err)
	}
	_, err = Clean(t.Context(), r.dir, "", false)
	must(t, err)
	gone("clean")
	r.untouched(before)
}

// A folder that comes into the trash while that is being emptied, and removed, leaves its place.
func TestTrashWhileItIsEmptied(t *testing.T) {
	t.Parallel()
	project := loop.In(t.TempDir())
	must(t, os.Mkdir(string(project), 0o755))
	in := trashOf(project)
	done := make(chan struct{})
	emptied := make(chan error)
	go func() {
		for {
			select {
			case <-done:
				emptied <- in.empty(context.Background())
				return
			default:
				_ = in.empty(context.Background()) // its error may be that of a folder which was added meanwhile
			}
		}
	}()
	dir := filepath.Join(t.TempDir(), "tree")
	for range 300 {
		must(t, os.Mkdir(dir, 0o755))
		must(t, in.add(dir))
		if _, err := os.Lstat(dir); err == nil {
			t.Error("a folder stays")
			break
		}
	}
	close(done)
	must(t, <-emptied)
}
