package gitwork

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wavex/runner"
)

// wave runs two tasks in parallel and integrates them; each writes its own file.
func (r *repo) wave(m *Manager, project string) Integration {
	r.t.Helper()
	var group sync.WaitGroup
	for _, task := range []string{"x", "y"} {
		group.Go(func() {
			res := r.ask(m, runner.Request{Task: task, Attempt: 1, Dir: project}, r.edits(files{"by " + task: task + "\n"}))
			equal(r.t, task, res.Outcome, runner.Done)
		})
	}
	group.Wait()
	in := r.integrate(m, 1, "x: test -f 'by x'", "y: test -f 'by y'")
	equal(r.t, "culprits", in.Culprits, []Culprit{})
	return in
}

func TestPathWithSpaces(t *testing.T) {
	t.Parallel()
	r := newRepoAt(t, filepath.Join(t.TempDir(), "my own [project] ü'"), files{"a b/c d": "1\n"})
	lock := ".git/" + runBranch("r1") + ".lock"
	r.write(r.dir, files{lock: "\n"})
	m := r.open(r.options("r1"))
	if _, err := os.Lstat(filepath.Join(r.dir, lock)); err == nil {
		t.Fatal("the lock of a killed git stays")
	}
	r.wave(m, r.dir)
	equal(t, "delivery", r.deliver(m, "auto").How, "ff")
	equal(t, "main", r.tree("main"), files{"a b/c d": "1\n", "by x": "x\n", "by y": "y\n"})
	must(t, m.Close(t.Context()))
	items, err := Clean(t.Context(), r.dir, "", false)
	must(t, err)
	if len(items) == 0 || r.git("for-each-ref", "refs/heads/wavex") != "" {
		t.Errorf("cleaned %v, left %s", items, r.git("for-each-ref", "refs/heads/wavex"))
	}
}

// The checkout is a worktree of a bare repository, with a mirror as its remote.
func TestBareAndMirror(t *testing.T) {
	t.Parallel()
	first := newRepo(t, files{"a": "1\n"})
	root := t.TempDir()
	bare, mirror := filepath.Join(root, "bare.git"), filepath.Join(root, "mirror.git")
	first.git("clone", "-q", "--bare", ".", bare)
	first.git("clone", "-q", "--mirror", ".", mirror)
	first.gitIn(bare, "remote", "set-url", "origin", mirror)
	first.gitIn(bare, "config", "branch.autoSetupMerge", "always")
	r := &repo{t: t, dir: filepath.Join(root, "checkout"), env: first.env}
	r.gitIn(bare, "worktree", "add", "-q", r.dir, "main")
	config := r.gitIn(bare, "config", "--list", "--local")
	refs := r.gitIn(mirror, "for-each-ref")
	m := r.open(r.options("r1"))
	r.wave(m, r.dir)
	equal(t, "delivery", r.deliver(m, "auto").How, "ff")
	equal(t, "main", r.tree("main"), files{"a": "1\n", "by x": "x\n", "by y": "y\n"})
	equal(t, "config", r.gitIn(bare, "config", "--list", "--local"), config)
	equal(t, "refs of the mirror", r.gitIn(mirror, "for-each-ref"), refs)
}

// Many worktrees are made at once, by several runs, while a person uses git.
func TestManyWorktreesAtOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	var ms []*Manager
	for i := range 4 {
		ms = append(ms, r.open(r.options(fmt.Sprintf("run-%d", i))))
	}
	var group sync.WaitGroup
	for i := range 40 {
		m := ms[i%4]
		group.Go(func() {
			task := fmt.Sprintf("t%d", i)
			res := r.ask(m, runner.Request{Task: task, Attempt: 1, Slot: i}, r.edits(files{task: "1\n"}))
			if res.Outcome != runner.Done {
				t.Errorf("%s is %s: %s", task, res.Outcome, res.Reason)
			}
		})
	}
	// A git that reads the worktrees while another adds one can see it half made. wavex does not
	// run the person's git, so the test runs it again.
	person := func(args ...string) {
		for {
			out, err := r.tryGit(r.dir, args...)
			if err == nil || !strings.Contains(out, "commondir") {
				if err != nil {
					t.Errorf("the person's git: %v %s", err, out)
				}
				return
			}
		}
	}
	group.Go(func() {
		for i := range 10 {
			dir := filepath.Join(t.TempDir(), fmt.Sprint("w", i))
			person("worktree", "add", "-q", "--detach", dir)
			person("worktree", "remove", dir)
		}
	})
	group.Wait()
	for i, m := range ms {
		var all []string
		for j := i; j < 40; j += 4 {
			all = append(all, fmt.Sprintf("t%d: test -f t%d", j, j))
		}
		in := r.integrate(m, 1, all...)
		equal(t, "integrated of one run", len(in.Integrated), 10)
	}
}

// poolStart is the maximum duration of the fastest of several starts from the pool; 0 means no maximum. On a
// quiet machine -poolstart 50ms holds, but the machine is busy while the suite runs.
var poolStart = flag.Duration("poolstart", 0, "longest start of a worktree from the pool; 0: no matter")

// Reusing a worktree is cheap: its files exist, and git writes only the difference.
func TestStartFromPool(t *testing.T) {
	t.Parallel()
	var stream strings.Builder // faster than writing and adding 5,000 files
	stream.WriteString("commit refs/heads/main\ncommitter a <a@b> 0 +0000\ndata 0\n")
	for i := range 5000 {
		text := fmt.Sprintln(i)
		fmt.Fprintf(&stream, "M 644 inline d%02d/f%d\ndata %d\n%s\n", i%50, i, len(text), text)
	}
	r := newRepo(t, nil)
	_, err := newGit(r.dir, r.env).outputOf(t.Context(), stream.String(), "fast-import", "--quiet")
	must(t, err)
	r.git("reset", "-q", "--hard")
	m := r.open(r.options("r1"))
	begin := time.Now()
	r.attempt(m, "first", r.edits(files{"n": "1\n"}))
	t.Logf("a new worktree: %s", time.Since(begin))
	r.integrate(m, 1, "first: ")
	equal(t, "worktrees", len(m.state.Trees), 1)
	written := func() map[string]fs.FileInfo {
		all := map[string]fs.FileInfo{}
		must(t, filepath.WalkDir(m.treePathOf(m.state.Trees[0]), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasPrefix(d.Name(), "f") {
				return err
			}
			all[path], err = d.Info()
			return err
		}))
		return all
	}
	old := written()
	equal(t, "files", len(old), 5000)
	var all []time.Duration
	for i := range 5 {
		task := fmt.Sprintf("t%d", i)
		begin := time.Now()
		own, _, err := m.acquireTree(t.Context(), task, false)
		took := time.Since(begin)
		must(t, err)
		all = append(all, took)
		must(t, m.releaseTree(own, ""))
		must(t, m.Release(t.Context(), task))
	}
	equal(t, "worktrees", len(m.state.Trees), 1)
	for path, now := range written() {
		if was := old[path]; was == nil || !os.SameFile(was, now) || !was.ModTime().Equal(now.ModTime()) {
			t.Errorf("%s was written anew", path)
			break
		}
	}
	slices.Sort(all)
	t.Logf("from the pool: %s at best, %s in the middle", all[0], all[len(all)/2])
	if *poolStart > 0 && all[0] > *poolStart {
		t.Errorf("a start from the pool takes %s", all[0])
	}
}

// git names the repository, which is what its setting must name, too.
func TestAnotherOwnerOfTheParent(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"sub/a": "1\n"})
	g := newGit(filepath.Join(r.dir, "sub"), r.env).withEnv("GIT_TEST_ASSUME_DIFFERENT_OWNER=1")
	_, err := findCheckout(t.Context(), g, filepath.Join(r.dir, "sub"))
	if want := ", until: git config --global --add safe.directory " + r.dir; err == nil ||
		!strings.Contains(err.Error()+";", want+";") {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A project's path may have characters that mean something in a pattern.
func TestEscapeGlob(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a[b]")
	if filepath.Separator != '\\' {
		dir += `\*?{c`
	}
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "run.json"), nil, 0o600))
	got, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.json"))
	must(t, err)
	equal(t, "files", got, []string{filepath.Join(dir, "run.json")})
}
