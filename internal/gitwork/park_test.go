package gitwork

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/errgroup"

	"wavex/runner"
)

// For any order in which tasks begin, fail, go on, are committed, looked at, integrated and given up, with restarts
// between: there are at most as many worktrees as attempts, and that of integrations; each attempt begins on the files
// that it must find, and a continued one at its path; and no work is lost.
func TestHandOn(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, 2, 3, 4, rand.Uint64()} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			(&handOn{t: t, rand: rand.New(rand.NewPCG(seed, 1)), tasks: map[string]*handedTask{},
				all: map[string]bool{}}).live()
		})
	}
}

// handOn is one random run, and handedTask is a task of it. Attempts nest: while an agent works, others begin and end.
type handOn struct {
	t      *testing.T
	rand   *rand.Rand
	r      *repo
	m      *Manager
	tasks  map[string]*handedTask
	all    map[string]bool // the contents of all files that attempts left
	tip    files           // the integrated work
	serial int
	width  int // attempts and panels at a time
}

type handedTask struct {
	running, integrated bool
	committed           bool
	mayContinue         bool   // the files of the last attempt are those to go on with
	dir                 string // of the last attempt
	base, files         files  // what the last attempt began on, and left
}

func (l *handOn) live() {
	t := l.t
	l.tip = files{"f": "1\n", "d/g": "1\n", ".gitignore": "ignored\n"}
	l.r = newRepo(t, l.tip)
	o := l.r.options("r1")
	l.width = 1 + l.rand.IntN(3)
	l.m = l.r.open(o)
	for range 14 {
		l.step(0)
		if l.rand.IntN(5) == 0 {
			must(t, l.m.Close(t.Context()))
			l.m = l.r.open(o)
		}
	}
	for _, task := range slices.Sorted(maps.Keys(l.tasks)) {
		if !l.tasks[task].committed && !l.tasks[task].integrated {
			must(t, l.m.Release(t.Context(), task))
		}
	}
	l.integrate()
	equal(t, "wavex/r1", l.r.tree("wavex/r1"), l.tip)
	equal(t, "parked", len(l.m.state.Parked), 0)
	equal(t, "branches of tasks", l.r.git("branch", "--list", "wavex/r1.tasks/*"), "")
	reachable := l.r.git("rev-list", "--objects", "--all")
	for content := range l.all {
		if id := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(content), content))); !strings.Contains(
			reachable, id) {
			t.Errorf("no ref reaches the content %q", content)
		}
	}
}

// step does something while depth attempts are at work.
func (l *handOn) step(depth int) {
	if l.t.Failed() {
		return
	}
	defer l.countTrees()
	task := fmt.Sprintf("t%d", l.rand.IntN(6))
	s := l.tasks[task]
	if s == nil {
		s = &handedTask{}
		l.tasks[task] = s
	}
	switch n := l.rand.IntN(10); {
	case n == 0:
		l.integrate()
	case s.running || s.integrated || depth == l.width: // nothing may begin
	case n == 1 && !s.committed:
		must(l.t, l.m.Release(l.t.Context(), task))
		s.mayContinue = false
	case n == 2 && s.committed: // as if it were a culprit
		must(l.t, l.m.Reopen(l.t.Context(), task))
		s.committed, s.mayContinue = false, false
	case n == 3 && (s.mayContinue || s.committed):
		in, _, done := l.m.AttemptDir(l.t.Context(), task, l.r.dir)
		s.running = true
		equal(l.t, "what a panel sees of "+task, l.r.content(in), s.files)
		l.step(depth + 1)
		equal(l.t, "what it sees later", l.r.content(in), s.files)
		s.running = false
		done()
	default:
		l.attempt(task, s, depth)
	}
}

// attempt makes an attempt, within which others are made.
func (l *handOn) attempt(task string, s *handedTask, depth int) {
	req := runner.Request{Task: task, Attempt: 1, Resume: !s.committed && l.rand.IntN(3) > 0}
	if s.committed || l.rand.IntN(5) == 0 { // as after a kill before the end was recorded
		req.Turn = &runner.Turn{}
	}
	goesOn := s.mayContinue && (req.Resume || req.Turn != nil)
	if req.Turn != nil && !s.mayContinue {
		return
	}
	s.running, s.committed = true, false
	fails := l.rand.IntN(3) == 0
	res := l.r.ask(l.m, req, func(dir string, _ runner.Request) error {
		if !goesOn {
			s.base = maps.Clone(l.tip)
			s.files = maps.Clone(l.tip)
		} else if req.Resume && dir != s.dir {
			l.t.Errorf("%s goes on in %s, its session is in %s", task, dir, s.dir)
		}
		s.dir = dir
		equal(l.t, "the files of "+task, l.r.content(dir), s.files)
		for range 1 + l.rand.IntN(3) {
			l.serial++
			name, text := fmt.Sprintf("%s/%d", task, l.serial), fmt.Sprintf("line %d\n", l.serial)
			l.r.write(dir, files{name: text, "ignored": "x\n"})
			s.files[name], l.all[text] = text, true
		}
		if l.rand.IntN(4) == 0 {
			l.r.gitIn(dir, "add", "-A")
			l.r.gitIn(dir, "commit", "-q", "-m", "by the agent")
		}
		l.step(depth + 1)
		equal(l.t, "the files of "+task+" beside others", l.r.content(dir), s.files)
		if fails {
			return errors.New("not yet")
		}
		return nil
	})
	s.running, s.mayContinue = false, true
	if want := map[bool]runner.Outcome{true: runner.Wrong, false: runner.Done}[fails]; res.Outcome != want {
		l.t.Errorf("%s is %s: %s", task, res.Outcome, res.Reason)
	}
	s.committed = !fails
}

func (l *handOn) integrate() {
	var done []string
	for _, task := range slices.Sorted(maps.Keys(l.tasks)) {
		if s := l.tasks[task]; s.committed && !s.running {
			done = append(done, task+": ")
			s.integrated, s.committed = true, false
			for name, text := range s.files {
				l.tip[name] = text
			}
		}
	}
	if len(done) > 0 {
		in := l.r.integrate(l.m, 1, done...)
		equal(l.t, "integrated", len(in.Integrated), len(done))
	}
}

// countTrees fails the test if there are more worktrees than attempts may run, and that of integrations.
func (l *handOn) countTrees() {
	list := l.r.git("worktree", "list", "--porcelain")
	n := strings.Count(list, "/.loop/worktrees/")
	at, _ := filepath.Glob(filepath.Join(l.r.dir, ".loop/worktrees/r1.[0-9]*"))
	if n > l.width+1 || len(at) > n {
		l.t.Errorf("%d worktrees for %d attempts, in %s", n, l.width, at)
	}
}

// content returns the files below dir, without those that the test's repository ignores.
func (r *repo) content(dir string) files {
	r.t.Helper()
	got := files{}
	must(r.t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".git" || d.Name() == "ignored" {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		must(r.t, err)
		data, err := os.ReadFile(path)
		got[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return got
}

// A session that is stopped before a worktree is ready leaves the work of the sessions before it, and nothing of a task
// that had none.
func TestStoppedBeforeAWorktreeIsReady(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	o := r.options("r1")
	session := func(do func(m *Manager)) {
		m, err := Open(t.Context(), o)
		must(t, err)
		do(m)
		must(t, m.Close(t.Context()))
	}
	session(func(m *Manager) {
		r.ask(m, runner.Request{Task: "x", Attempt: 1}, func(dir string, _ runner.Request) error {
			r.write(dir, files{"half": "1\n"})
			return os.ErrInvalid
		})
	})
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for range 2 {
		session(func(m *Manager) {
			for _, task := range []string{"x", "y"} {
				req := runner.Request{Run: "r1", Task: task, Attempt: 2, Resume: true, Dir: r.dir}
				res := attemptIn(stopped, m, r.edits(nil), req, runner.Hooks{})
				equal(t, "outcome", res.Outcome, runner.Interrupted)
			}
		})
	}
	session(func(m *Manager) {
		for task, want := range map[string]files{"x": {"a": "1\n", "half": "1\n"}, "y": {"a": "1\n"}} {
			r.ask(m, runner.Request{Task: task, Attempt: 2, Resume: true}, func(dir string, _ runner.Request) error {
				equal(t, "the files of "+task, r.content(dir), want)
				return nil
			})
		}
	})
}

// A task whose worktree moves to another path, because another task has it, gets its path back only after the move.
// Another task's worktree is not made at the path before.
func TestTakenOverWhileItGoesOn(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	for i := range 5 {
		x, y := fmt.Sprint("x", i), fmt.Sprint("y", i)
		dir := ""
		r.ask(m, runner.Request{Task: x, Attempt: 1}, func(in string, _ runner.Request) error {
			dir = in
			r.write(in, files{"half": "1\n"})
			return os.ErrInvalid
		})
		m.mu.Lock()
		to := m.treePathOf(&tree{ID: m.unusedID()})
		m.mu.Unlock()
		must(t, os.Mkdir(to, 0o700)) // of a move that was interrupted: the next one takes longer
		var both errgroup.Group
		both.Go(func() error { return useBriefly(t, m, y, false) })
		for taken := false; !taken; runtime.Gosched() {
			m.mu.Lock()
			taken = m.parkedTree(x) != nil
			m.mu.Unlock()
		}
		both.Go(func() error { return useBriefly(t, m, x, true) })
		must(t, both.Wait())
		r.ask(m, runner.Request{Task: x, Attempt: 2, Resume: true}, func(in string, _ runner.Request) error {
			equal(t, "its directory", in, dir)
			equal(t, "its files", r.content(in), files{"a": "1\n", "half": "1\n"})
			return os.ErrInvalid
		})
		must(t, m.Release(t.Context(), x))
		must(t, m.Release(t.Context(), y))
		must(t, m.RemoveSurplus(t.Context(), 1))
	}
}

// useBriefly takes the worktree of a task and gives it back.
func useBriefly(t *testing.T, m *Manager, task string, goOn bool) error {
	own, _, err := m.acquireTree(t.Context(), task, goOn)
	if err == nil {
		err = m.releaseTree(own, "")
	}
	if err != nil {
		return fmt.Errorf("task %s: %w", task, err)
	}
	return nil
}

// A worktree that is handed on moves from its old path even if the branch of its former task cannot be deleted: other
// tasks wait for the path.
func TestHandOnWithoutDelete(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	fails := func(string, runner.Request) error { return errors.New("fails") }
	res := r.ask(m, runner.Request{Task: "x", Attempt: 1}, fails)
	equal(t, "attempt", res.Outcome, runner.Wrong)
	r.git("update-ref", "refs/wavex/r1.kept/x", "HEAD") // in the way of the branch's commit
	held := m.lastTree("x")
	held.settled = true
	own := *held
	if err := m.takeOver(t.Context(), held, &own, "y"); err == nil {
		t.Error("there is no error")
	}
	equal(t, "paths to wait for", len(m.left), 0)
	if _, err := os.Lstat(m.treePathOf(held)); err != nil || own.ID != held.ID {
		t.Errorf("worktree %d, which was %d: %v", held.ID, own.ID, err)
	}
}

// A task does not get its worktree while another one takes that over.
func TestWaitsForTheEndOfATakeOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newManager(Options{})
		own := &tree{ID: 1, Task: "x", Admin: "a", inUse: true}
		m.state.Trees = []*tree{own}
		got := make(chan *tree, 1)
		go func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			idle, _ := m.awaitIdle(t.Context(), "x")
			got <- idle
		}()
		synctest.Wait()
		equal(t, "worktrees that it got meanwhile", len(got), 0)
		m.mu.Lock()
		own.Task, own.inUse = "y", false
		m.freed.Broadcast()
		m.mu.Unlock()
		equal(t, "its worktree", <-got, own)
	})
}
