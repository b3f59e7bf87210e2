package gitwork

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"

	"wavex/internal/loop"
	"wavex/runner"
)

// largeFiles are those of a repository whose checkout takes long.
func largeFiles(more files) files {
	for i := range 1500 {
		more[fmt.Sprintf("d%d/a-file-of-many-%d", i/100, i)] = fmt.Sprint(i, "\n")
	}
	return more
}

// The next run of a project gets the worktrees of the last one, without files that git ignores and with a setup of its
// own, but not those of a run that is under way, nor after git makes files in another way. Clean removes them.
func TestKeptForTheNextRun(t *testing.T) {
	t.Parallel()
	r := newRepo(t, largeFiles(files{".gitignore": "made\n", "a": "1\n"}))
	inode := map[string]os.FileInfo{}
	session := func(run string) *Manager {
		o := r.options(run)
		o.Setup.Run = "pwd >>made"
		m := r.open(o)
		for _, task := range []string{"x", "y"} {
			r.attempt(m, task, func(dir string, _ runner.Request) error {
				equal(t, "the files in "+run, r.content(dir)["made"]+r.content(dir)["left"], dir+"\n")
				r.write(dir, files{task: "1\n"})
				var err error
				inode[run], err = os.Stat(filepath.Join(dir, "d3", "a-file-of-many-300"))
				return err
			})
			must(t, m.Release(t.Context(), task))
		}
		return m
	}
	first := session("r1")
	other := session("r2") // beside the first one, which has its worktree
	must(t, first.Close(t.Context()))
	equal(t, "kept of r1", r.worktreeFolders("r1"), "[r1.1]")
	third := session("r3")
	equal(t, "left of r1", r.worktreeFolders("r1"), "[]")
	equal(t, "the file is that of r1, of r2", []bool{os.SameFile(inode["r1"], inode["r3"]),
		os.SameFile(inode["r2"], inode["r3"])}, []bool{true, false})
	must(t, third.Close(t.Context()))
	must(t, other.Close(t.Context()))
	equal(t, "kept of all and of others than r3", []int{Kept(loop.In(r.dir), ""), Kept(loop.In(r.dir), "r3")}, []int{2, 1})
	// An agent makes git blind for a file.
	at := filepath.Join(loop.In(r.dir).Worktree("r3", "1"))
	r.gitIn(at, "update-index", "--skip-worktree", "a")
	r.write(at, files{"a": "evil\n"})
	blind := r.open(r.options("blind"))
	r.attempt(blind, "x", func(dir string, _ runner.Request) error {
		equal(t, "a after a blind run", r.content(dir)["a"], "1\n")
		r.write(dir, files{"b": "1\n"})
		return nil
	})
	must(t, blind.Close(t.Context()))
	r.git("config", "core.autocrlf", "input")
	must(t, session("r4").Close(t.Context()))
	equal(t, "left of r3", r.worktreeFolders("r3"), "[]")

	_, err := Clean(t.Context(), r.dir, "", false)
	must(t, err)
	equal(t, "registered after clean", len(splitLines(r.git("worktree", "list"))), 1)
	left, err := filepath.Glob(loop.In(r.dir).Worktree("*", "[0-9]*"))
	must(t, err)
	equal(t, "left after clean", left, "[]")
}

// While the worktree of a task is made in a large repository, the next task gets one that becomes free.
func TestFreeWhileAnotherIsMade(t *testing.T) {
	t.Parallel()
	r := newRepo(t, largeFiles(files{".gitattributes": "slow filter=wait\n", "slow": "1\n"}))
	open := filepath.Join(t.TempDir(), "open")
	r.git("config", "filter.wait.smudge", "until test -e '"+open+"'; do sleep 0.01; done; cat")
	must(t, os.WriteFile(open, nil, 0o600))
	m := r.open(r.options("r1"))
	var all errgroup.Group
	attempt := func(task string, a agent) {
		all.Go(func() error {
			if res := r.ask(m, runner.Request{Task: task, Attempt: 1}, a); res.Outcome != runner.Done {
				return fmt.Errorf("task %s is %s: %s", task, res.Outcome, res.Reason)
			}
			return nil
		})
	}
	at := ""
	r.attempt(m, "a", func(dir string, _ runner.Request) error {
		at = dir
		must(t, os.Remove(open))
		attempt("b", r.edits(files{"b": "1\n"}))
		for making := false; !making; {
			m.mu.Lock()
			making = m.making != nil
			m.mu.Unlock()
		}
		attempt("c", func(dir string, _ runner.Request) error {
			equal(t, "the worktree of c", dir, at)
			return os.WriteFile(open, nil, 0o600)
		})
		return nil
	})
	must(t, all.Wait())
	equal(t, "worktrees", r.worktreeFolders("r1"), "[r1.1 r1.2]")
	must(t, m.Close(t.Context()))
	equal(t, "kept", r.worktreeFolders("r1"), "[r1.1 r1.2]")
}
