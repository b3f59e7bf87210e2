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

// The next run of a project gets the worktrees of the last one with what setup made there, also after new commits, and
// not those of a run that is under way. Clean removes them.
func TestKeptForTheNextRun(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{".gitignore": "made\n", "a": "1\n"})
	before := r.userFingerprint()
	begin := func(run string) *Manager {
		o := r.options(run)
		o.Setup.Run = "echo . >>made"
		return r.open(o)
	}
	pair := func(m *Manager, made string) {
		t.Helper()
		task := m.opts.Run
		see := func(dir string) {
			equal(t, "made in "+dir, r.content(dir)["made"], made)
			equal(t, "left of other tasks", r.content(dir)["left"], "")
			r.write(dir, files{"left": task, "made": ""})
			r.write(dir, files{"made": made})
		}
		r.ask(m, runner.Request{Task: "x", Attempt: 1}, func(dir string, _ runner.Request) error {
			r.ask(m, runner.Request{Task: "y", Attempt: 1}, func(dir string, _ runner.Request) error {
				see(dir)
				return nil
			})
			see(dir)
			return nil
		})
		r.integrate(m, 1, "x", "y: test -e left")
	}
	first := begin("r1")
	pair(first, ".\n")
	other := begin("r2") // beside the first one, which has its worktrees
	pair(other, ".\n")
	must(t, first.Close(t.Context()))
	equal(t, "kept of r1", r.worktreeFolders("r1"), "[r1.1 r1.2 r1.3]")

	third := begin("r3")
	pair(third, ".\n")
	equal(t, "left of r1", r.worktreeFolders("r1"), "[]")
	equal(t, "worktrees of r3", r.worktreeFolders("r3"), "[r3.1 r3.2 r3.3]")
	must(t, third.Close(t.Context()))
	must(t, other.Close(t.Context()))
	equal(t, "registered", len(splitLines(r.git("worktree", "list"))), 7)

	_, err := Clean(t.Context(), r.dir, "", false)
	must(t, err)
	equal(t, "registered after clean", len(splitLines(r.git("worktree", "list"))), 1)
	left, err := filepath.Glob(loop.In(r.dir).Worktree("*", "[0-9]*"))
	must(t, err)
	equal(t, "left after clean", left, "[]")
	r.untouched(before)
}

// While the worktree of a task is made in a large repository, the next task gets one that becomes free.
func TestFreeWhileAnotherIsMade(t *testing.T) {
	t.Parallel()
	large := files{".gitattributes": "slow filter=wait\n", "slow": "1\n"}
	for i := range 1500 {
		large[fmt.Sprintf("d%d/a-file-of-many-%d", i/100, i)] = fmt.Sprint(i, "\n")
	}
	r := newRepo(t, large)
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
