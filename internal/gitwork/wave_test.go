package gitwork

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/runner"
)

func TestWave(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n", "b": "1\n", "sub/c": "1\n"})
	before := r.userFingerprint()
	m := r.open(r.options("r1"))
	r.attempt(m, "x", r.edits(files{"a": "2\n", "new": "n\n"}))
	r.attempt(m, "y", r.edits(files{"b": "", "sub/c": "2\n"}))
	r.untouched(before)
	in := r.integrate(m, 1, "x: test -f new", "y: test ! -e b")
	equal(t, "integrated", in.Integrated, []string{"x", "y"})
	equal(t, "culprits", names(in.Culprits), "")
	want := files{"a": "2\n", "new": "n\n", "sub/c": "2\n"}
	equal(t, "wavex/r1", r.tree("wavex/r1"), want)
	equal(t, "log", r.git(
		"log", "--format=%s|%(trailers:key=Wavex-Run,valueonly,separator=)|%(trailers:key=Wavex-Task,valueonly,separator=)",
		"main..wavex/r1"),
		"Do y|r1|y\nDo x|r1|x")
	r.untouched(before)

	// The next wave begins on the integrated work.
	r.attempt(m, "z", func(dir string, _ runner.Request) error {
		if data, _ := os.ReadFile(filepath.Join(dir, "new")); string(data) != "n\n" {
			t.Errorf("new has %q", data)
		}
		r.write(dir, files{"z": "z\n"})
		return nil
	})
	r.integrate(m, 2, "z: ")
	d := r.deliver(m, "auto")
	equal(t, "delivery", d.How, "ff")
	want["z"] = "z\n"
	equal(t, "main", r.tree("HEAD"), want)
	equal(t, "branch", r.git("symbolic-ref", "HEAD"), "refs/heads/main")
	equal(t, "status", r.git("status", "--porcelain"), "")
	equal(t, "again", r.deliver(m, "auto").How, "ff")
}

func TestAuto(t *testing.T) {
	t.Parallel()
	clean := files{"a": "1\n"}
	for name, c := range map[string]struct {
		content files
		prepare func(r *repo, o *Options)
		mode    string
		why     string
	}{
		"wide and clean": {clean, func(*repo, *Options) {}, Worktree, "4 tasks"},
		"narrow":         {clean, func(_ *repo, o *Options) { o.Width = 1 }, Shared, "no wave"},
		"narrow, protected": {clean, func(_ *repo, o *Options) { o.Width, o.Protect = 1, []string{"ma*"} }, Worktree,
			"protected"},
		"changed": {clean, func(r *repo, _ *Options) { r.write(r.dir, files{"a": "2\n"}) }, Shared,
			"uncommitted changes, which worktrees do not have: a"},
		"untracked": {clean, func(r *repo, _ *Options) { r.write(r.dir, files{"n/b": "2\n"}) }, Shared, "n/"},
		"the plan untracked": {clean, func(r *repo, o *Options) {
			r.write(r.dir, files{"p/plan.yaml": "x\n"})
			o.Own = []string{filepath.Join(r.dir, "p/plan.yaml")}
		}, Worktree, ""},
		"no commit": {nil, func(*repo, *Options) {}, Shared, "nothing is committed"},
		"no repository": {clean, func(r *repo, _ *Options) { must(r.t, os.RemoveAll(filepath.Join(r.dir, ".git"))) }, Shared,
			"no git checkout"},
		"no git": {clean, func(_ *repo, o *Options) { o.Env = []string{"PATH=/nowhere"} }, Shared, "not installed"},
		"a merge under way": {clean, func(r *repo, _ *Options) {
			must(r.t, os.WriteFile(filepath.Join(r.dir, ".git/MERGE_HEAD"), nil, 0o600))
		}, Shared, "merge is under way"},
		"an ignored project": {files{".gitignore": "out\n"}, func(r *repo, o *Options) {
			o.Project = filepath.Join(r.dir, "out", "p")
			must(r.t, os.MkdirAll(o.Project, 0o755))
		}, Shared, "git ignores the project's directory"},
		"ignored work": {files{".gitignore": "out\n", "sub/a": "1\n"}, func(r *repo, o *Options) {
			o.Project, o.Writes = filepath.Join(r.dir, "sub"), []string{"b", "out/c"}
		}, Shared, "git ignores what tasks are to write: sub/out/c"},
		"work that is not ignored": {files{".gitignore": "out\n"},
			func(_ *repo, o *Options) { o.Writes = []string{"b", "c/out2"} }, Worktree, ""},
		"ignored, but tracked": {files{".gitignore": "out\n"}, func(r *repo, o *Options) {
			r.write(r.dir, files{"out/a": "1\n"})
			r.git("add", "-f", "out/a")
			r.git("commit", "-qm", "forced")
			o.Writes = []string{"out/a"}
		}, Worktree, ""},
		"node_modules": {files{".gitignore": "node_modules/\n"}, func(r *repo, _ *Options) {
			r.write(r.dir,
				files{"node_modules/a": "1\n"})
		}, Shared, "lack what git ignores: node_modules (see share and setup"},
		"node_modules shared": {files{".gitignore": "node_modules/\n"}, func(r *repo, o *Options) {
			r.write(r.dir, files{"node_modules/a": "1\n"})
			o.Share = []string{"node_modules"}
		}, Worktree, ""},
		"asked for": {clean, func(_ *repo, o *Options) { o.Mode = Shared }, Shared, "asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, c.content)
			o := r.options("r1")
			o.Mode = Auto
			c.prepare(r, &o)
			before := r.userFingerprint()
			m := r.open(o)
			if m.Mode() != c.mode || !strings.Contains(m.ModeReason(), c.why) {
				t.Errorf("mode %s, because %s; want %s, %q", m.Mode(), m.ModeReason(), c.mode, c.why)
			}
			commit := ""
			looked := o.Mode != Shared && name != "narrow" // else a mode is chosen without the checkout
			if !strings.HasPrefix(name, "no ") && looked {
				commit = strings.TrimSpace(r.git("rev-parse", "HEAD"))
			}
			if head, known := m.Head(); head != commit || known != looked {
				t.Errorf("at commit %q, known: %v; want %q", head, known, commit)
			}
			r.untouched(before)
		})
	}
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content files
		prepare func(r *repo, o *Options)
		problem string
	}{
		"no commit": {nil, func(*repo, *Options) {}, NoCommit},
		"no repository": {files{"a": "1\n"}, func(r *repo,
			_ *Options) {
			must(r.t, os.RemoveAll(filepath.Join(r.dir, ".git")))
		}, NoRepo},
		"no git":         {files{"a": "1\n"}, func(_ *repo, o *Options) { o.Env = []string{"PATH=/nowhere"} }, NoGit},
		"no such mode":   {files{"a": "1\n"}, func(_ *repo, o *Options) { o.Mode = "both" }, BadMode},
		"share in git":   {files{"a": "1\n"}, func(_ *repo, o *Options) { o.Share = []string{"a"} }, BadShare},
		"share missing":  {files{"a": "1\n"}, func(_ *repo, o *Options) { o.Share = []string{"b"} }, BadShare},
		"share outside":  {files{"a": "1\n"}, func(_ *repo, o *Options) { o.Share = []string{"copy:../b"} }, BadShare},
		"run as a path":  {files{"a": "1\n"}, func(_ *repo, o *Options) { o.Run = "../x" }, BadRun},
		"run like tasks": {files{"a": "1\n"}, func(_ *repo, o *Options) { o.Run = "x.tasks" }, BadRun},
		"twice":          {files{"a": "1\n"}, func(r *repo, o *Options) { r.open(*o) }, InUse},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, c.content)
			o := r.options("r1")
			c.prepare(r, &o)
			_, err := Open(t.Context(), o)
			problem(t, err, c.problem)
		})
	}
}

func problem(t *testing.T, err error, want string) {
	t.Helper()
	e := asProblem(err)
	if e == nil || e.Problem != want {
		t.Errorf("the error is %v, want the problem %s", err, want)
	}
}

func TestProjectInSubdirectory(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"sub/dir/a": "1\n", "b": "1\n"})
	o := r.options("r1")
	o.Project = filepath.Join(r.dir, "sub")
	o.Loop = loop.In(o.Project)
	m := r.open(o)
	var got runner.Request
	res := r.ask(m, runner.Request{Task: "x", Dir: filepath.Join(o.Project, "dir"),
		Baseline: o.Loop.Path("base.json"), Slot: 3, Env: map[string]string{"TOLD": "1"},
		Files:  []plan.File{{Path: filepath.Join(o.Project, "dir", "a")}, {Path: "../../b"}, {Path: "/elsewhere/f"}},
		Checks: []plan.Check{{File: filepath.Join(r.dir, "b")}}}, func(dir string, req runner.Request) error {
		got = req
		r.write(dir, files{"a": "2\n"})
		return nil
	})
	equal(t, "outcome", res.Outcome, runner.Done)
	equal(t, "dir", got.Dir, o.Loop.Path("worktrees", "r1.1", "sub", "dir"))
	equal(t, "files", []string{got.Files[0].Path, got.Files[1].Path, got.Files[2].Path},
		[]string{"a", "../../b", "/elsewhere/f"})
	equal(t, "check", got.Checks[0].File, "../../b")
	equal(t, "slot", got.Env["WAVEX_SLOT"], "3")
	equal(t, "what it was told", got.Env["TOLD"], "1")
	if got.Baseline == o.Loop.Path("base.json") || filepath.Dir(got.Baseline) != string(o.Loop) {
		t.Errorf("the base is %s", got.Baseline)
	}
	in, err := m.Integrate(t.Context(), 1, []VerifiedTask{{Task: "x", Dir: filepath.Join(o.Project, "dir"),
		Checks: []plan.Check{{Run: "grep 2 a"}, {File: filepath.Join(r.dir, "b")}}}})
	must(t, err)
	equal(t, "integrated", in.Integrated, []string{"x"})

	res = r.ask(m, runner.Request{Task: "out", Dir: t.TempDir()}, r.edits(files{"q": "1\n"}))
	if res.Outcome != runner.Broken || !strings.Contains(res.Reason, "--isolation shared") {
		t.Errorf("outside the repository it is %s: %s", res.Outcome, res.Reason)
	}
}

func asProblem(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// The plan's criteria hold for combined trees, even if each task alone meets them. A criterion that
// was false before is not blamed on a task.
func TestPlanChecks(t *testing.T) {
	t.Parallel()
	run := func(command string) []plan.Check { return []plan.Check{{Run: command}} }
	for name, c := range map[string]struct {
		criteria, mustNot []plan.Check
		culprit, says     string
	}{
		"nothing":      {},
		"held by both": {criteria: run("test -e a"), mustNot: run("test -e c")},
		"not both": {mustNot: run("test -e x && test -e y"), culprit: "y",
			says: "what must not be is true on the combined tree: must not be: test -e x && test -e y: it is true; together with x"},
		"one breaks a criterion": {criteria: run("! test -e x"), culprit: "x",
			says: "a criterion of the plan failed on the combined tree: ! test -e x: exit code 1"},
		"both break a criterion": {criteria: run("! test -e x || ! test -e y"), culprit: "y",
			says: "a criterion of the plan failed on the combined tree: ! test -e x || ! test -e y: exit code 1; together with x"},
		"not true before either":     {criteria: run("test -e z")},
		"true before, though it not": {mustNot: run("test -e a")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a": "1\n"})
			m := r.open(r.options("r1"))
			r.attempt(m, "x", r.edits(files{"x": "1\n"}))
			r.attempt(m, "y", r.edits(files{"y": "1\n"}))
			m.SetPlanChecks(c.criteria, c.mustNot)
			in, err := m.Integrate(t.Context(), 1, []VerifiedTask{{Task: "x", Checks: run("test -e x")},
				{Task: "y", Checks: run("test -e y")}})
			must(t, err)
			if c.culprit == "" {
				equal(t, "integrated", in.Integrated, []string{"x", "y"})
				equal(t, "note", in.Note, "")
				return
			}
			if len(in.Culprits) != 1 || in.Culprits[0].Task != c.culprit || in.Culprits[0].Reason != c.says {
				t.Errorf("culprits are %+v", in.Culprits)
			}
		})
	}
}

// The reason names the task whose check another task breaks.
func TestCulpritNamesWhoseCheck(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	r.attempt(m, "x", r.edits(files{"x": "1\n"}))
	r.attempt(m, "y", r.edits(files{"a": "2\n"}))
	in, err := m.Integrate(t.Context(), 1, []VerifiedTask{{Task: "x", Checks: []plan.Check{{Run: "grep 1 a"}}},
		{Task: "y", Checks: []plan.Check{{Run: "grep 2 a"}}}})
	must(t, err)
	if len(in.Culprits) != 1 || in.Culprits[0].Task != "y" || !strings.HasPrefix(in.Culprits[0].Reason,
		"a check of x failed on the combined tree: grep 1 a: exit code 1") {
		t.Errorf("culprits are %+v", in.Culprits)
	}
}
