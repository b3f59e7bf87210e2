package gitwork

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/runner"
)

// machines are the machine of a run and another one, which has no commit of its own. Commits travel by fetching.
type machines struct {
	home, away   *repo
	run, workers *Manager
	requests     []runner.Request // as the other machine got them
	dirs         []string         // in which the agent worked
	agent        runner.Runner
	change       func(*runner.Result) // of a result on its way
}

func newMachines(t *testing.T, content files) *machines {
	t.Helper()
	x := &machines{home: newRepo(t, content), away: newRepo(t, nil), change: func(*runner.Result) {}}
	x.away.git("commit", "-q", "--allow-empty", "-m", "empty")
	x.open()
	return x
}

// open begins a session on the machine of the run.
func (x *machines) open() {
	o := x.home.options("r1")
	o.Elsewhere = true
	x.run = x.home.open(o)
}

// Attempt makes an attempt on the other machine.
func (x *machines) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	x.requests = append(x.requests, req)
	for _, id := range []string{req.Commit, req.WIP} {
		if id != "" {
			x.home.git("update-ref", "refs/wavex/r1.sent/"+id, id)
			x.away.git("fetch", "-q", "--no-write-fetch-head", x.home.dir, "refs/wavex/r1.sent/"+id)
		}
	}
	if x.workers == nil {
		o := x.away.options("r1")
		o.Loop, o.Base, o.Mark = loop.In(x.away.t.TempDir()), req.Commit, "worker@w.1/r1"
		x.workers = x.away.open(o)
	}
	fetch := func(id string) {
		if id != "" {
			x.away.git("update-ref", "refs/wavex/r1.sent/"+id, id)
			x.home.git("fetch", "-q", "--no-write-fetch-head", x.away.dir, "refs/wavex/r1.sent/"+id)
		}
	}
	if ended := hooks.TurnEnded; ended != nil {
		hooks.TurnEnded = func(turn runner.Turn) error {
			fetch(turn.Result.WIP)
			return ended(turn)
		}
	}
	req.Dir = filepath.Join(x.away.dir, filepath.FromSlash(req.Dir))
	res := attemptIn(ctx, x.workers, runnerFunc(func(ctx context.Context, req runner.Request,
		hooks runner.Hooks) runner.Result {
		x.dirs = append(x.dirs, req.Dir)
		if req.Run != "worker@w.1/r1" || req.Env["TMPDIR"] == "" {
			x.home.t.Errorf("the attempt is marked %q, with %v", req.Run, req.Env)
		}
		return x.agent.Attempt(ctx, req, hooks)
	}), req, hooks)
	fetch(res.Commit)
	fetch(res.WIP)
	x.change(&res)
	return res
}

type runnerFunc func(context.Context, runner.Request, runner.Hooks) runner.Result

func (f runnerFunc) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	return f(ctx, req, hooks)
}

func (x *machines) attempt(req runner.Request, a agent) runner.Result {
	x.home.t.Helper()
	x.agent = a
	req.Run = "r1"
	if req.Dir == "" {
		req.Dir = x.home.dir
	}
	return attemptIn(x.home.t.Context(), x.run, x, req, runner.Hooks{})
}

func TestElsewhere(t *testing.T) {
	t.Parallel()
	x := newMachines(t, files{"f": "1\n", "sub/g": "1\n"})
	before := x.home.userFingerprint()
	res := x.attempt(runner.Request{Task: "a", Attempt: 1, Dir: filepath.Join(x.home.dir, "sub"),
		Settings: plan.Settings{MCPConfig: filepath.Join(x.home.dir, "f")},
		Files:    []plan.File{{Path: filepath.Join(x.home.dir, "f"), Action: "modify"}}}, x.away.edits(files{"new": "a\n"}))
	if res.Outcome != runner.Done || res.Commit == "" || res.WIP != "" {
		t.Fatalf("a: %+v", res)
	}
	equal(t, "the directory", x.requests[0].Dir, "sub")
	equal(t, "the file", x.requests[0].Files[0].Path, "../f")
	equal(t, "the file of servers", x.requests[0].Settings.MCPConfig, "../f")
	equal(t, "the commit of a", x.home.git("rev-parse", "refs/wavex/r1/a"), res.Commit)
	equal(t, "no work", x.attempt(runner.Request{Task: "b", Attempt: 1}, x.away.edits(nil)).Commit, "")
	in := x.home.integrate(x.run, 1, "a: test -e sub/new", "b")
	equal(t, "integrated", in.Integrated, []string{"a", "b"})
	equal(t, "the integrated files", x.home.tree("wavex/r1"), files{"f": "1\n", "sub/g": "1\n", "sub/new": "a\n"})

	res = x.attempt(runner.Request{Task: "c", Attempt: 1}, x.away.edits(files{"c": "c\n"}))
	equal(t, "c begins on the tip", x.requests[2].Commit, in.Commit)
	equal(t, "its parent", x.home.git("rev-parse", res.Commit+"^"), in.Commit)
	x.home.untouched(before)
}

// A panel sees the files that an attempt left elsewhere. A continued attempt begins with them, in the same directory of
// the other machine, and one that begins anew does not.
func TestElsewhereGoesOn(t *testing.T) {
	t.Parallel()
	x := newMachines(t, files{"f": "1\n"})
	fail := func(content files) agent {
		return func(dir string, _ runner.Request) error {
			x.away.write(dir, content)
			return errors.New("not yet")
		}
	}
	res := x.attempt(runner.Request{Task: "a", Attempt: 1}, fail(files{"half": "1\n"}))
	if res.Outcome != runner.Wrong || res.WIP == "" {
		t.Fatalf("first: %+v", res)
	}
	dir, base, done := x.run.AttemptDir(t.Context(), "a", x.home.dir)
	equal(t, "what a panel sees", x.home.content(dir), files{"f": "1\n", "half": "1\n"})
	equal(t, "its base", base, x.requests[0].Commit)
	done()
	res = x.attempt(runner.Request{Task: "a", Attempt: 2, Resume: true}, func(dir string, _ runner.Request) error {
		equal(t, "what the second attempt finds", x.away.content(dir), files{"f": "1\n", "half": "1\n"})
		x.away.write(dir, files{"more": "1\n"})
		return errors.New("not yet")
	})
	equal(t, "its files", x.home.tree(res.WIP), files{"f": "1\n", "half": "1\n", "more": "1\n"})
	res = x.attempt(runner.Request{Task: "a", Attempt: 3}, func(dir string, _ runner.Request) error {
		equal(t, "what a fresh attempt finds", x.away.content(dir), files{"f": "1\n"})
		x.away.write(dir, files{"g": "1\n"})
		return nil
	})
	equal(t, "the work", x.home.tree(res.Commit), files{"f": "1\n", "g": "1\n"})
	equal(t, "the directories", x.dirs, []string{x.dirs[0], x.dirs[0], x.dirs[0]})
	must(t, x.run.Reopen(t.Context(), "a"))
	x.attempt(runner.Request{Task: "a", Attempt: 4, Resume: true}, fail(nil))
	equal(t, "after a reopening", x.requests[3].WIP, "")
}

// The work of a turn is on the machine of the run before its end is on record, so another machine can check it.
func TestElsewhereKeepsTurns(t *testing.T) {
	t.Parallel()
	x := newMachines(t, files{"f": "1\n"})
	var turn runner.Turn
	x.agent = runnerFunc(func(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
		x.away.write(req.Dir, files{"new": "1\n"})
		res := runner.Result{Outcome: runner.Interrupted, Contained: true}
		if err := hooks.TurnEnded(runner.Turn{Result: runner.Result{Outcome: runner.Done}}); err == nil {
			t.Error("the end of the run is not told")
		}
		return res
	})
	req := runner.Request{Run: "r1", Task: "a", Attempt: 1, Dir: x.home.dir}
	attemptIn(t.Context(), x.run, x, req, runner.Hooks{TurnEnded: func(t runner.Turn) error {
		turn = t
		return errors.New("killed")
	}})
	equal(t, "the work of the turn", x.home.tree(turn.Result.WIP), files{"f": "1\n", "new": "1\n"})
	must(t, x.run.Close(t.Context()))
	x.open()
	res := x.attempt(runner.Request{Task: "a", Attempt: 2, Turn: &turn}, func(dir string, _ runner.Request) error {
		equal(t, "the files to check", x.away.content(dir), files{"f": "1\n", "new": "1\n"})
		return nil
	})
	equal(t, "the work", x.home.tree(res.Commit), files{"f": "1\n", "new": "1\n"})
	if res = x.attempt(runner.Request{Task: "b", Attempt: 2, Turn: &turn}, nil); res.Outcome != runner.Truncated {
		t.Errorf("without the work of the turn: %+v", res)
	}
}

// Work that does not begin where it should is wrong, and changes no ref.
func TestElsewhereRefusesForeignWork(t *testing.T) {
	t.Parallel()
	x := newMachines(t, files{"f": "1\n"})
	x.change = func(res *runner.Result) {
		tree := x.home.git("rev-parse", "HEAD^{tree}")
		res.Commit = x.home.git("commit-tree", "-m", "foreign", tree)
	}
	res := x.attempt(runner.Request{Task: "a", Attempt: 1}, x.away.edits(files{"g": "1\n"}))
	if res.Outcome != runner.Wrong || !strings.Contains(res.Reason, "is not on") || res.Signature == "" ||
		res.Commit != "" {
		t.Errorf("foreign work: %+v", res)
	}
	if ref, err := x.home.tryGit(x.home.dir, "rev-parse", "--verify", "-q", "refs/wavex/r1/a"); err == nil {
		t.Errorf("the task has the commit %s", ref)
	}
	x.change = func(res *runner.Result) { res.Outcome, res.WIP = runner.Wrong, res.Commit[:20] }
	res = x.attempt(runner.Request{Task: "b", Attempt: 1}, x.away.edits(files{"g": "1\n"}))
	if res.Outcome != runner.Wrong {
		t.Errorf("a WIP that is no commit: %+v", res)
	}
	if res = x.attempt(runner.Request{Task: "c", Attempt: 1, Dir: os.TempDir()}, nil); res.Outcome != runner.Broken {
		t.Errorf("outside of the repository: %+v", res)
	}
}

// An attempt that outlives its session began on a tip that is the tip no more. Its work is taken over all the same.
func TestElsewhereOnAFormerTip(t *testing.T) {
	t.Parallel()
	x := newMachines(t, files{"f": "1\n"})
	done := x.attempt(runner.Request{Task: "a", Attempt: 1}, x.away.edits(files{"a": "1\n"}))
	left := x.attempt(runner.Request{Task: "b", Attempt: 1}, func(dir string, _ runner.Request) error {
		x.away.write(dir, files{"b": "1\n"})
		return errors.New("not yet")
	})
	x.attempt(runner.Request{Task: "c", Attempt: 1}, x.away.edits(files{"c": "1\n"}))
	x.home.integrate(x.run, 1, "c")
	ended := func(res runner.Result) runner.Runner {
		return runnerFunc(func(context.Context, runner.Request, runner.Hooks) runner.Result { return res })
	}
	again := func(task string, res runner.Result) runner.Result {
		req := runner.Request{Run: "r1", Task: task, Attempt: 1, Dir: x.home.dir}
		return attemptIn(t.Context(), x.run, ended(res), req, runner.Hooks{})
	}
	if res := again("a", done); res.Outcome != runner.Done || res.Commit != done.Commit {
		t.Errorf("done: %+v", res)
	}
	again("b", left)
	x.attempt(runner.Request{Task: "b", Attempt: 2, Resume: true}, func(dir string, _ runner.Request) error {
		equal(t, "the files of b", x.away.content(dir), files{"f": "1\n", "b": "1\n"})
		return nil
	})
	in := x.home.integrate(x.run, 2, "a", "b")
	equal(t, "integrated", in.Integrated, []string{"a", "b"})
	equal(t, "the files", x.home.tree("wavex/r1"), files{"f": "1\n", "a": "1\n", "b": "1\n", "c": "1\n"})
}
