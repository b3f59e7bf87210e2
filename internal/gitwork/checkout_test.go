package gitwork

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

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

// Many worktrees are made at once, by several runs, while a person uses git.
func TestManyWorktreesAtOnce(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	var ms []*Manager
	for i := range 4 {
		ms = append(ms, r.open(r.options(fmt.Sprintf("run-%d", i))))
	}
	var group sync.WaitGroup
	for i := range 20 {
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
		for j := i; j < 20; j += 4 {
			all = append(all, fmt.Sprintf("t%d: test -f t%d", j, j))
		}
		in := r.integrate(m, 1, all...)
		equal(t, "integrated of one run", len(in.Integrated), 5)
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
