package gitwork

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/plan"
	"wavex/internal/proc/proctest"
	"wavex/runner"
)

// sessionWork are things that wavex's git does while agents work: each prepares a session, and returns its action.
func sessionWork() map[string]func(r *repo) (act func()) {
	return map[string]func(r *repo) (act func()){
		"checkpoint": func(r *repo) func() {
			p := r.checkpoints("r1")
			return func() { must(r.t, p.BeforeTask(r.t.Context(), "x")) }
		},
		"integration": func(r *repo) func() {
			m := r.open(r.options("r1"))
			return func() {
				r.attempt(m, "x", r.edits(files{"b": "2\n"}))
				r.integrate(m, 1, "x: ")
			}
		},
		"delivery": func(r *repo) func() {
			m := r.open(r.options("r1"))
			r.attempt(m, "x", r.edits(files{"b": "2\n"}))
			r.integrate(m, 1, "x: ")
			return func() {
				_, planted := os.Stat(filepath.Join(r.dir, ".git", "commondir"))
				d, err := m.Deliver(r.t.Context(), "", true)
				if err != nil || planted == nil && (d.How == "ff" || !strings.Contains(d.Why, "commondir")) {
					r.t.Errorf("it is delivered: %+v, %v", d, err)
				}
			}
		},
	}
}

// While a run works, a commondir file that an agent adds to the repository makes wavex's git run nothing: neither
// filters nor hooks of the repository that the file names.
func TestCommonDirOfAnAgent(t *testing.T) {
	t.Parallel()
	for name, prepare := range sessionWork() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a": "1\n", ".gitattributes": "* filter=evil\n"})
			act := prepare(r)
			evil, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
			copyAll(t, filepath.Join(evil, "git"), filepath.Join(r.dir, ".git"))
			evil = filepath.Join(evil, "git")
			r.gitIn(evil, "config", "filter.evil.clean", "touch '"+ran+"'; cat")
			r.gitIn(evil, "config", "core.hooksPath", filepath.Join(evil, "hooks"))
			writeHooks(t, filepath.Join(evil, "hooks"), ran)
			must(t, os.WriteFile(filepath.Join(r.dir, ".git", "commondir"), []byte(evil+"\n"), 0o600))
			if name != "delivery" {
				r.write(r.dir, files{"a": "2\n"})
			}
			act()
			if _, err := os.Stat(ran); err == nil {
				t.Error("git ran a program of another repository")
			}
		})
	}
}

// writeHooks makes hooks that leave a file.
func writeHooks(t *testing.T, dir, ran string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
	for _, hook := range []string{"reference-transaction", "post-merge", "post-index-change", "pre-commit",
		"post-checkout"} {
		must(t, os.WriteFile(filepath.Join(dir, hook), []byte("#!/bin/sh\ntouch '"+ran+"'\n"), 0o700))
	}
}

// A wall cannot close a directory of hooks that is missing. wavex's git runs none of the hooks that an agent makes
// there.
func TestHooksOfAnAgent(t *testing.T) {
	t.Parallel()
	for name, prepare := range sessionWork() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a": "1\n"})
			must(t, os.RemoveAll(filepath.Join(r.dir, ".git", "hooks")))
			act, ran := prepare(r), filepath.Join(t.TempDir(), "ran")
			writeHooks(t, filepath.Join(r.dir, ".git", "hooks"), ran)
			if name != "delivery" {
				r.write(r.dir, files{"a": "2\n"})
			}
			act()
			if _, err := os.Stat(ran); err == nil {
				t.Error("git ran a hook that was not there when the session began")
			}
		})
	}
}

// Deliveries and a resume say which files changed since the last session began from which git runs programs.
func TestChangedProgramsAreTold(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	hooks := filepath.Join(r.dir, ".git", "hooks")
	r.write(hooks, files{"pre-push": "#!/bin/sh\n", "to/one": "#!/bin/sh\n", "to/two": "#!/bin/sh\n"})
	link := func(to string) { must(t, os.Symlink(filepath.Join("to", to), filepath.Join(hooks, "post-merge"))) }
	link("one")
	var said []string
	o := r.options("r1")
	o.Warn = func(err error) { said = append(said, err.Error()) }
	for i, c := range []struct {
		open   func(context.Context, Options) (*Manager, error)
		change func()
		want   string
	}{
		{Open, nil, ""}, {Open, nil, ""},
		{Reattach, func() { r.git("config", "x.y", "z") }, ".git/config"}, {Open, nil, ".git/config"}, {Open, nil, ""},
		{Open, func() { must(t, os.Chmod(filepath.Join(hooks, "pre-push"), 0o755)) }, ".git/hooks"},
		{Open, func() { must(t, os.Remove(filepath.Join(hooks, "post-merge"))); link("two") }, ".git/hooks"},
		{Open, nil, "as they were"},
	} {
		if c.change != nil {
			c.change()
		}
		said = nil
		m, err := c.open(t.Context(), o)
		must(t, err)
		must(t, m.Close(t.Context()))
		if all := strings.Join(said, "\n"); (all == "") != (c.want == "") || !strings.Contains(all, c.want) {
			t.Errorf("%d: %q, want %q", i, all, c.want)
		}
	}
}

// No command begins its work in a repository to which an agent has added a commondir file.
func TestCommonDirAfterASession(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	o := r.options("r1")
	m, err := Open(t.Context(), o)
	must(t, err)
	must(t, m.Close(t.Context()))
	planted := filepath.Join(r.dir, ".git", "commondir")
	must(t, os.WriteFile(planted, []byte(t.TempDir()+"\n"), 0o600))
	for name, open := range map[string]func(context.Context, Options) (*Manager, error){
		"delivery": Reattach, "resume": Open,
		"clean": func(ctx context.Context, o Options) (*Manager, error) {
			_, err := cleanRun(ctx, o, true)
			return nil, err
		},
		"rollback": func(_ context.Context, o Options) (*Manager, error) { return nil, CheckPrograms(o) },
	} {
		if _, err := open(t.Context(), o); asProblem(err) == nil || asProblem(err).Problem != OtherRepo {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, os.Remove(planted))
	r.open(o)
}

// A hook may work in a repository of its own: wavex's git names no repository to it.
func TestHooksInOtherRepositories(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	other := t.TempDir()
	proctest.Script(t, filepath.Join(r.dir, ".git", "hooks", "pre-commit"), "#!/bin/sh\nset -e\n"+
		"unset GIT_DIR GIT_INDEX_FILE GIT_PREFIX\ncd '"+other+"'\ngit init -q .\necho 1 > f\ngit add f\n"+
		"git -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m other\n")
	before := r.git("rev-parse", "main")
	m := r.open(r.options("r1"))
	r.attempt(m, "x", r.edits(files{"b": "2\n"}))
	if now := r.git("rev-parse", "main"); now != before {
		t.Errorf("the hook's commit is on main of the project: %s", r.git("log", "--format=%s", "main"))
	}
	if said := r.gitIn(other, "log", "-1", "--format=%s"); said != "other" {
		t.Errorf("the hook's own repository has %q", said)
	}
}

// An agent may name another repository in the files of a worktree. Hooks of that repository do not run.
func TestCommonDirOfAWorktree(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	evil, ran := filepath.Join(t.TempDir(), "git"), filepath.Join(t.TempDir(), "ran")
	copyAll(t, evil, filepath.Join(r.dir, ".git"))
	writeHooks(t, filepath.Join(evil, "hooks"), ran)
	o := r.options("r1")
	m := r.open(o)
	res := r.ask(m, runner.Request{Task: "x", Attempt: 1}, func(dir string, _ runner.Request) error {
		r.write(dir, files{"b": "2\n"})
		admin, err := adminDir(dir)
		must(t, err)
		return os.WriteFile(filepath.Join(admin, "commondir"), []byte(evil+"\n"), 0o600)
	})
	if _, err := os.Stat(ran); err == nil || res.Outcome != runner.Broken || !strings.Contains(res.Reason, "commondir") {
		t.Errorf("%s: %s; a hook ran: %v", res.Outcome, res.Reason, err == nil)
	}
}

// Hooks of a directory that was missing when the run began run in no session of it and in no delivery, until the user
// accepts them.
func TestHooksMadeInARun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup, path string
		set         bool // the path of the directory is set, absolute
		noVerify    bool // in the first session
	}{
		"missing": {}, "missing after setup": {setup: "true"}, "missing path": {path: ".husky"},
		"missing path after setup": {setup: "true", path: ".husky"}, "missing absolute path": {set: true},
		"missing without verification":           {noVerify: true},
		"missing after setup, not verified":      {setup: "true", noVerify: true},
		"missing path after setup, not verified": {setup: "true", path: ".husky", noVerify: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a": "1\n"})
			must(t, os.RemoveAll(filepath.Join(r.dir, ".git", "hooks")))
			dir, ran := filepath.Join(r.dir, ".git", "hooks"), filepath.Join(t.TempDir(), "ran")
			if c.path != "" {
				dir = filepath.Join(r.dir, c.path)
				r.git("config", "core.hooksPath", c.path)
			}
			if c.set {
				r.git("config", "core.hooksPath", dir)
			}
			var said []string
			o := r.options("r1")
			o.Setup.Run, o.Warn = c.setup, func(err error) { said = append(said, err.Error()) }
			session := func(open func(context.Context, Options) (*Manager, error), work func(m *Manager)) string {
				said = nil
				m, err := open(t.Context(), o)
				must(t, err)
				work(m)
				must(t, m.Close(t.Context()))
				return strings.Join(said, "\n")
			}
			work := func(m *Manager, task string, wave int) {
				res := r.ask(m, runner.Request{Task: task, Attempt: 1}, func(tree string, _ runner.Request) error {
					r.write(tree, files{task: "2\n"})
					if c.path != "" && wave == 1 {
						writeHooks(t, filepath.Join(tree, c.path), ran)
					} else if wave == 1 {
						writeHooks(t, dir, ran)
					}
					return nil
				})
				equal(t, "outcome", res.Outcome, runner.Done)
				r.integrate(m, wave, task+": ")
			}
			o.NoVerify = c.noVerify
			session(Open, func(m *Manager) { work(m, "x", 1) })
			o.NoVerify = false
			frozen := filepath.Join(o.Loop.Worktree("r1", "git"), "start", "hooks")
			accept := "rm -r " + frozen
			told := session(Reattach, func(m *Manager) { equal(t, "delivery", r.deliver(m, "ff").How, "ff") })
			if c.path == "" && !strings.Contains(told, accept) {
				t.Errorf("the delivery says %q, and not %q", told, accept)
			}
			if told := session(Open, func(m *Manager) { work(m, "y", 2) }); !strings.Contains(told, accept) {
				t.Errorf("the resume says %q, and not %q", told, accept)
			}
			if _, err := os.Stat(ran); err == nil {
				t.Error("git ran a hook that was not there when the run began")
			}
			must(t, os.RemoveAll(frozen))
			session(Open, func(m *Manager) { work(m, "z", 3) })
			if _, err := os.Stat(ran); err != nil {
				t.Error("git ran no accepted hook:", err)
			}
		})
	}
}

// The hooks that setup makes run in a session that verifies, also after one that does not.
func TestHooksOfSetupNotVerified(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n", ".gitignore": "/.hooks/\n"})
	r.git("config", "core.hooksPath", ".hooks")
	ran := filepath.Join(t.TempDir(), "ran")
	o := r.options("r1")
	o.Setup.Run = "mkdir -p .hooks; " +
		"printf '#!/bin/sh\\ntouch " + ran + "\\n' > .hooks/pre-commit; chmod +x .hooks/pre-commit"
	for wave, task := range []string{"x", "y"} {
		o.NoVerify = wave == 0
		m, err := Open(t.Context(), o)
		must(t, err)
		r.attempt(m, task, r.edits(files{task: "2\n"}))
		r.integrate(m, wave+1, task+": ")
		must(t, m.Close(t.Context()))
		if _, err := os.Stat(ran); (err != nil) != o.NoVerify {
			t.Errorf("with NoVerify %v: the hook ran: %v", o.NoVerify, err == nil)
		}
	}
}

// wavex's commits run the hooks and use the settings that were there when the run began, whatever tasks make of them.
func TestHooksOfATask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path   string // of the hooks when the run began
		change func(r *repo, tree, evil string)
		told   string
	}{
		"changed": {".git/hooks", func(r *repo, _, evil string) { writeHooks(t, r.dir+"/.git/hooks", evil) }, ".git/hooks"},
		"in a worktree": {".githooks", func(_ *repo, tree, evil string) { writeHooks(t, tree+"/.githooks", evil) },
			".githooks"},
		"another path": {".git/hooks", func(r *repo, _, _ string) { r.git("config", "core.hooksPath", "/evil") },
			".git/config"},
		"a path for all": {".git/hooks", func(r *repo, _, _ string) {
			r.git("config", "--global", "core.hooksPath", "/evil")
		}, "gitconfig"},
		"a filter for all": {".git/hooks", func(r *repo, tree, evil string) {
			r.git("config", "--global", "filter.evil.clean", "touch "+evil)
			r.write(tree, files{".gitattributes": "* filter=evil\n"})
		}, "gitconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a": "1\n"})
			ran, evil := filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "evil")
			r.script(c.path+"/pre-commit", "echo ran >>"+ran)
			if c.path == ".githooks" {
				r.commit(nil)
				r.git("config", "core.hooksPath", c.path)
			}
			var said []string
			o := r.options("r1")
			o.Warn = func(err error) { said = append(said, err.Error()) }
			m, err := Open(t.Context(), o)
			must(t, err)
			must(t, os.Remove(ran)) // of the trial
			res := r.ask(m, runner.Request{Task: "x", Attempt: 1}, func(tree string, _ runner.Request) error {
				r.write(tree, files{"b": "2\n"})
				c.change(r, tree, evil)
				return nil
			})
			equal(t, "outcome", res.Outcome, runner.Done)
			r.integrate(m, 1, "x: ")
			must(t, m.Close(t.Context()))
			if _, err := os.Stat(evil); err == nil {
				t.Error("git ran what a task made")
			}
			if _, err := os.Stat(ran); err != nil {
				t.Error("git did not run the hook that was there before:", err)
			}
			if all := strings.Join(said, "\n"); !strings.Contains(all, c.told) {
				t.Errorf("the run says %q, and not %q", all, c.told)
			}
		})
	}
}

// The tree that a hook of the user changes is not the one that was judged: the checks run again on it.
func TestHookChangesTheTree(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	r.script(".git/hooks/pre-commit", "test ! -e b || { echo formatted >b; git add b; }")
	m := r.open(r.options("r1"))
	check := plan.Check{Run: "grep 2 b"}
	res := r.ask(m, runner.Request{Task: "x", Attempt: 1, Checks: []plan.Check{check}}, r.edits(files{"b": "2\n"}))
	equal(t, "outcome", res.Outcome, runner.Done)
	equal(t, "culprits", names(r.integrate(m, 1, "x: grep 2 b").Culprits), "x red")
}
