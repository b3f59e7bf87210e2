package gitwork

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/e2e/rig"
	"wavex/internal/check"
	"wavex/internal/filetree"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/safefile"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// TestMain is also the process that TestKilled kills: "helper NAME ARG...". Like the command it is
// a subreaper; otherwise the sweep after each git would scan all of /proc.
func TestMain(m *testing.M) {
	_ = proc.Subreaper() // fails except on Linux
	if len(os.Args) > 2 && os.Args[1] == "helper" {
		os.Exit(helper(os.Args[2], os.Args[3:]))
	}
	flag.Parse()
	if rig.Whole() && flag.Lookup("test.run").Value.String() == "" {
		_ = flag.Set("test.run", concurrent) // a flag of package testing
	}
	os.Exit(rig.Run(m, "internal/gitwork", 6)) // most wait for git
}

// concurrent matches the tests for rig.Whole, which is with the race detector: those in which much goes on at once. The
// others start thousands of gits, one after the other.
const concurrent = "^Test(ChecksBeforeTheWorkRunOnce|ChecksBesideAgents|FreeWhileAnotherIsMade|HalfWrittenEdits|" +
	"IntegrationsBesideAttempts|LocksBesideOtherGit|ManyWorktreesAtOnce|PatienceWithChecksBefore|RollbackOfAWave|" +
	"SharedLock|TakenOverWhileItGoesOn|TrashWhileItIsEmptied)$"

// files has the contents of a repository by path.
type files map[string]string

// repo is a user's checkout.
type repo struct {
	t   testing.TB
	dir string
	env []string
}

// testEnv returns an environment with a git configuration of its own.
func testEnv(home string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_GLOBAL=" + filepath.Join(home, "gitconfig"),
		"GIT_CONFIG_NOSYSTEM=1", "LANG=C"}
}

// newRepo makes a repository with one commit, or with none if content is nil.
func newRepo(t testing.TB, content files) *repo {
	t.Helper()
	return newRepoAt(t, filepath.Join(t.TempDir(), "project"), content)
}

func newRepoAt(t testing.TB, dir string, content files) *repo {
	t.Helper()
	home := t.TempDir()
	must(t, os.WriteFile(filepath.Join(home, "gitconfig"),
		[]byte("[user]\n\tname = Some One\n\temail = one@example.com\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[core]\n\tfsync = none\n"), 0o600))
	must(t, os.MkdirAll(dir, 0o755))
	r := &repo{t: t, dir: dir, env: testEnv(home)}
	r.git("init", "-q")
	if content != nil {
		r.write(dir, content)
		r.git("add", "-A")
		r.git("commit", "-q", "-m", "first")
	}
	return r
}

// copyAll copies a directory.
func copyAll(t testing.TB, to, from string) {
	t.Helper()
	must(t, safefile.CopyTree(context.Background(), from, to, nil))
}

func must(t testing.TB, err error) {
	t.Helper()
	testrepo.Must(t, err)
}

func (r *repo) git(args ...string) string { r.t.Helper(); return r.gitIn(r.dir, args...) }

func (r *repo) gitIn(dir string, args ...string) string {
	r.t.Helper()
	out, err := r.tryGit(dir, args...)
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (r *repo) tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, r.env
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

// write makes files; the content "" removes one.
func (r *repo) write(dir string, content files) {
	r.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(content)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if content[name] == "" {
			must(r.t, os.Remove(path))
			continue
		}
		must(r.t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(r.t, os.WriteFile(path, []byte(content[name]), 0o644))
	}
}

// tree returns the files of a commit.
func (r *repo) tree(rev string) files {
	r.t.Helper()
	got := files{}
	for _, name := range splitNUL(r.git("ls-tree", "-r", "-z", "--name-only", rev)) {
		got[name] = r.git("show", rev+":"+name) + "\n"
	}
	return got
}

// options returns the options of a run that uses worktrees.
func (r *repo) options(run string) Options {
	return Options{Project: r.dir, Loop: loop.In(r.dir), Run: run, Mode: Worktree, Width: 4, Env: r.env}
}

func (r *repo) open(o Options) *Manager {
	r.t.Helper()
	m, err := Open(r.t.Context(), o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := m.Close(context.WithoutCancel(r.t.Context())); err != nil {
			r.t.Error("closing:", err)
		}
	})
	return m
}

// userFingerprint returns a fingerprint of everything that is the user's: files, index, HEAD, stash, branches,
// configuration. Two fingerprints are equal if no byte differs.
func (r *repo) userFingerprint() map[string]string {
	r.t.Helper()
	out := map[string]string{}
	must(r.t, filepath.WalkDir(r.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(r.dir, p)
		rel = filepath.ToSlash(rel)
		switch {
		case rel == ".loop", rel == ".git/objects", rel == ".git/worktrees", strings.HasSuffix(rel, "refs/wavex"),
			strings.HasSuffix(rel, "refs/heads/wavex"):
			return fs.SkipDir
		case d.IsDir(), rel == ".git/wavex.lock":
			return nil
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(p)
			out[rel] = "link " + target
			return err
		}
		data, err := os.ReadFile(p)
		sum := sha256.Sum256(data)
		out[rel] = hex.EncodeToString(sum[:8])
		return err
	}))
	return out
}

// untouched fails the test if the user's files or repository differ from before.
func (r *repo) untouched(before map[string]string) {
	r.t.Helper()
	now := r.userFingerprint()
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now[name] != before[name] {
			r.t.Errorf("the user's %s changed", name)
		}
		delete(now, name)
	}
	for name := range now {
		r.t.Errorf("the user has a new file %s", name)
	}
}

// agent plays an attempt in the directory that it is given. Its work is checked as by the real
// runner.
type agent func(dir string, req runner.Request) error

func (a agent) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	res := runner.Result{Outcome: runner.Done, Session: req.Session, Contained: true}
	if hooks.Directory != nil {
		end, err := hooks.Directory.Edit(ctx, func(filetree.Tree) bool { return true })
		if err != nil {
			return runner.Result{Outcome: runner.Interrupted, Reason: err.Error()}
		}
		defer end()
	}
	if err := a(req.Dir, req); err != nil {
		res.Outcome, res.Reason = runner.Wrong, err.Error()
		return res
	}
	for _, f := range req.Files {
		if _, err := os.Lstat(filepath.Join(req.Dir, f.Path)); err == nil && f.Writes() {
			res.Changed = append(res.Changed, f.Path)
		}
	}
	var err error
	at := check.Place{Dir: req.Dir, Env: os.Environ(), Once: true}
	if res.Checks, err = at.Run(ctx, req.Checks); err != nil {
		return runner.Result{Outcome: runner.Interrupted, Reason: err.Error()}
	}
	return res
}

// edits returns an agent that writes files.
func (r *repo) edits(content files) agent {
	return func(dir string, _ runner.Request) error {
		r.write(dir, content)
		return nil
	}
}

// attempt makes one attempt in the project's directory and fails the test unless it is done.
func (r *repo) attempt(m *Manager, task string, a agent) runner.Result {
	r.t.Helper()
	res := r.ask(m, runner.Request{Task: task, Attempt: 1}, a)
	if res.Outcome != runner.Done {
		r.t.Fatalf("task %s is %s: %s\n%s", task, res.Outcome, res.Reason, res.Detail)
	}
	return res
}

func (r *repo) ask(m *Manager, req runner.Request, a agent) runner.Result {
	r.t.Helper()
	req.Run = m.opts.Run
	if req.Dir == "" {
		req.Dir = r.dir
	}
	return attemptIn(r.t.Context(), m, a, req, runner.Hooks{})
}

// attemptIn makes an attempt in its directory.
func attemptIn(ctx context.Context, m *Manager, a runner.Runner, req runner.Request, hooks runner.Hooks) runner.Result {
	leave, res := m.Enter(ctx, &req, &hooks)
	if leave != nil {
		res = a.Attempt(ctx, req, hooks)
		leave(&res)
	}
	return res
}

// integrate integrates tasks with one check each; "" means no check.
func (r *repo) integrate(m *Manager, wave int, checks ...string) Integration {
	r.t.Helper()
	in, err := m.Integrate(r.t.Context(), wave, verifiedTasks(checks...))
	if err != nil {
		r.t.Fatal(err)
	}
	return in
}

// verifiedTasks makes tasks from strings "task: check".
func verifiedTasks(checks ...string) []VerifiedTask {
	var done []VerifiedTask
	for _, c := range checks {
		task, check, _ := strings.Cut(c, ": ")
		d := VerifiedTask{Task: task, Subject: "Do " + task}
		if check != "" {
			d.Checks = []plan.Check{{Run: check}}
		}
		done = append(done, d)
	}
	return done
}

func (r *repo) deliver(m *Manager, how string) Delivery {
	r.t.Helper()
	d, err := m.Deliver(r.t.Context(), how, true)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// acceptHooks makes wavex's git run the hooks of now.
func (r *repo) acceptHooks(m *Manager) {
	r.t.Helper()
	must(r.t, os.RemoveAll(m.frozenPath("hooks")))
	must(r.t, m.freeze(r.t.Context(), r.dir))
}

func names(cs []Culprit) string {
	var out []string
	for _, c := range cs {
		out = append(out, c.Task+" "+c.Kind)
	}
	return strings.Join(out, ", ")
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s is %s, want %s", what, g, w)
	}
}

// TestErrorOnFullDisk shows that a full disk does not hide what git said, on either stream.
func TestErrorOnFullDisk(t *testing.T) {
	t.Parallel()
	for said, e := range map[string]gitError{
		"CONFLICT in a": {stdout: "CONFLICT in a\n"},
		"no such ref":   {stderr: "no such ref\n", stdout: "x"},
		"exit code 1":   {code: 1},
	} {
		e.program, e.args, e.disk = "git", []string{"merge"}, "the disk is full"
		if got, want := e.Error(), "git merge: "+said+"; the disk is full"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
