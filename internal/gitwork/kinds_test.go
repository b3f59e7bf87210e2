package gitwork

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"wavex/internal/proc/proctest"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// kind is a kind of repository or git configuration that people have, with the result of a run in it. The tables are
// in kindtable_test.go.
type kind struct {
	name   string                        // as in the docs
	note   string                        // on the result, as in the docs
	make   func(r *repo)                 // makes it of a repository with the file a; it may change r.dir
	open   func(r *repo, o *Options)     // changes the options; may be nil
	edit   func(r *repo, dir, to string) // the work of task x or y besides its file; may be nil
	check  func(r *repo, m *Manager)     // after the delivery; may be nil
	says   string                        // a part of the reason of the mode, or of a notice
	shared bool                          // auto chooses the project's directory
	refuse string                        // the problem with which worktrees are refused; "": they are possible
	way    string                        // the delivery by auto; "": ff
}

// result returns the result as in the docs.
func (k kind) result() string {
	switch {
	case k.refuse != "":
		return "shared; `worktree` is refused"
	case k.shared:
		return "shared"
	}
	return "works"
}

const kindsPage = "../../docs/git.md"

// The list of docs/git.md is that of the tests. WAVEX_UPDATE=1 rewrites it.
func TestKindsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(kindsPage)
	must(t, err)
	var b strings.Builder
	b.WriteString(string(text[:strings.Index(string(text), "\n## ")+1]))
	for _, section := range kindSections {
		fmt.Fprintf(&b, "## %s\n\n", section.title)
		for _, k := range section.kinds {
			result := strings.TrimPrefix(k.result()+": "+k.note, "works: ")
			text := textfmt.Wrap(k.name+": "+strings.TrimSuffix(cmp.Or(result, "works"), ": "), 98)
			b.WriteString("- " + strings.Join(text, "\n  ") + "\n")
		}
		b.WriteByte('\n')
	}
	want := strings.TrimSuffix(b.String(), "\n")
	if os.Getenv("WAVEX_UPDATE") != "" {
		must(t, os.WriteFile(kindsPage, []byte(want), 0o644))
	} else if string(text) != want {
		t.Errorf("%s differs from the tests; write it anew with: WAVEX_UPDATE=1 go test . -run KindsAre", kindsPage)
	}
}

// Every kind works in worktrees, or in the project's directory with the reason told, before any attempt.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, section := range kindSections {
		for _, k := range section.kinds {
			t.Run(k.name, func(t *testing.T) {
				t.Parallel()
				r := newRepo(t, files{"a": "1\n", ".gitignore": "/.loop/\n"})
				k.make(r)
				o := r.options("r1")
				o.Mode, o.Tasks, o.Subject = Auto, []string{"x", "y"}, func(id string) string { return "Do " + id }
				if k.open != nil {
					k.open(r, &o)
				}
				m := r.open(o)
				if told := m.ModeReason() + "; " + strings.Join(m.Notices(), "; "); !strings.Contains(told, k.says) {
					t.Errorf("it says %q, and not %q", told, k.says)
				}
				if k.shared {
					equal(t, "mode", m.Mode(), Shared)
					k.tryWorktrees(r, o)
				} else {
					equal(t, "mode", m.Mode()+" "+m.ModeReason(), Worktree+" the checkout is clean, and a wave has 4 tasks")
					k.work(r, m)
				}
				if k.check != nil {
					k.check(r, m)
				}
				r.rollBack()
			})
		}
	}
}

// tryWorktrees asks for worktrees where auto does not choose them. They are refused with a way out, or told.
func (k kind) tryWorktrees(r *repo, o Options) {
	r.t.Helper()
	before := r.userFingerprint()
	o.Run, o.Mode = "r2", Worktree
	m, err := Open(r.t.Context(), o)
	switch e := asProblem(err); {
	case k.refuse != "":
		if e == nil || e.Problem != k.refuse || e.Fix == "" {
			r.t.Errorf("worktrees are refused with %v, want the problem %s and a way out", err, k.refuse)
		}
	case err != nil:
		r.t.Errorf("worktrees are refused with %v", err)
	default:
		if !strings.Contains(m.ModeReason(), k.says) {
			r.t.Errorf("asked for worktrees, it says %q", m.ModeReason())
		}
		must(r.t, m.Close(r.t.Context()))
	}
	r.untouched(before)
	if left, err := r.tryGit(r.dir, "worktree", "list", "--porcelain"); err == nil && strings.Contains(left, ".loop") {
		r.t.Errorf("worktrees are left: %s", left)
	}
}

// work makes two tasks side by side, integrates and delivers them.
func (k kind) work(r *repo, m *Manager) {
	r.t.Helper()
	before := r.userFingerprint()
	var group sync.WaitGroup
	for _, task := range []string{"x", "y"} {
		group.Go(func() {
			res := r.ask(m, runner.Request{Task: task, Attempt: 1}, func(dir string, _ runner.Request) error {
				r.write(dir, files{"by " + task: task + "\n"})
				if k.edit != nil {
					k.edit(r, dir, task)
				}
				return nil
			})
			if res.Outcome != runner.Done {
				r.t.Errorf("task %s is %s: %s\n%s", task, res.Outcome, res.Reason, res.Detail)
			}
		})
	}
	group.Wait()
	in := r.integrate(m, 1, "x: test -f 'by x'", "y: test -f 'by y'")
	equal(r.t, "integrated", in.Integrated, []string{"x", "y"})
	r.untouched(before)
	if k.way == "" {
		k.way = "ff"
	}
	d := r.deliver(m, Auto)
	equal(r.t, "delivery", d.How, k.way)
	equal(r.t, "delivered", r.git("show", d.Commit+":by x", d.Commit+":by y"), "x\ny")
	equal(r.t, "status", r.git("status", "--porcelain"), "")
}

// rollBack takes back the work of a run in the project's directory, with checkpoints.
func (r *repo) rollBack() {
	r.t.Helper()
	p, err := OpenCheckpoints(r.t.Context(), r.dir, "s1", r.env)
	if asProblem(err) != nil { // there are no checkpoints, which the run says
		return
	}
	must(r.t, err)
	before := r.userFingerprint()
	must(r.t, p.BeforeWave(r.t.Context(), 1))
	r.write(r.dir, files{"a": "changed\n", "more": "1\n"})
	must(r.t, p.EndSession(r.t.Context()))
	b, err := p.PlanRollback(r.t.Context(), Target{Wave: 1})
	must(r.t, err)
	must(r.t, p.Restore(r.t.Context(), b))
	r.untouched(before)
}

// config sets values: "name value".
func (r *repo) config(all ...string) {
	r.t.Helper()
	for _, kv := range all {
		name, value, _ := strings.Cut(kv, " ")
		r.git("config", name, value)
	}
}

// script makes a program in the checkout.
func (r *repo) script(path, text string) {
	r.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, filepath.FromSlash(path))
	}
	proctest.Script(r.t, path, "#!/bin/sh\n"+text+"\n")
}

// tool makes a program that is found before that of the machine.
func (r *repo) tool(name, text string) {
	r.t.Helper()
	bin := filepath.Join(filepath.Dir(r.dir), "bin")
	r.script(filepath.Join(bin, name), text)
	r.env = slices.DeleteFunc(r.env, func(kv string) bool { return strings.HasPrefix(kv, "PATH="+bin) })
	r.env = append(slices.DeleteFunc(r.env, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }),
		"PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// commit commits everything, with more files.
func (r *repo) commit(content files) {
	r.t.Helper()
	r.write(r.dir, content)
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "more")
}

// clone makes r a clone of itself, of which the original is the remote.
func (r *repo) clone(args ...string) {
	r.t.Helper()
	to := r.dir + "-clone"
	r.git(append(append([]string{"clone", "-q"}, args...), "file://"+r.dir, to)...)
	r.dir = to
}

// log is a file that programs of a test write to, which is not in the checkout.
func (r *repo) log() string { return filepath.Join(r.home(), "log") }

func (r *repo) home() string {
	for _, kv := range r.env {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok {
			return home
		}
	}
	return ""
}

func (r *repo) logged() string {
	text, err := os.ReadFile(r.log())
	if err != nil {
		return ""
	}
	return string(text)
}

// logStaged is a hook that writes the names of the files to commit.
func (r *repo) logStaged() string { return "git diff --cached --name-only >>'" + r.log() + "'" }

// hookRan checks that the hook of logStaged ran for both commits.
func hookRan(r *repo, _ *Manager) {
	r.t.Helper()
	for _, name := range []string{"by x\n", "by y\n"} {
		if !strings.Contains(r.logged(), name) {
			r.t.Errorf("the hook did not see %q, only %q", name, r.logged())
		}
	}
}

// refused checks that an attempt with a file SECRET is refused with the text "no secrets".
func refused(r *repo, m *Manager) {
	r.t.Helper()
	res := r.ask(m, runner.Request{Task: "z", Attempt: 1}, r.edits(files{"SECRET": "1\n"}))
	if res.Outcome != runner.Wrong || !strings.Contains(res.Reason+res.Detail, "no secrets") {
		r.t.Errorf("it is %s: %s, %s", res.Outcome, res.Reason, res.Detail)
	}
}

// exact checks the contents of files in the checkout.
func exact(want files) func(r *repo, m *Manager) {
	return func(r *repo, _ *Manager) {
		r.t.Helper()
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got, _ := os.ReadFile(filepath.Join(r.dir, name)); string(got) != want[name] {
				r.t.Errorf("%s has %q, want %q", name, got, want[name])
			}
		}
	}
}

// onlyX returns an edit that writes files for task x.
func onlyX(content files) func(r *repo, dir, task string) {
	return func(r *repo, dir, task string) {
		if task == "x" {
			r.write(dir, content)
		}
	}
}

// push delivers to a bare repository.
func push(r *repo, _ *Manager) {
	r.t.Helper()
	remote := filepath.Join(r.home(), "remote.git")
	r.git("init", "-q", "--bare", remote)
	r.git("remote", "add", "there", remote)
	o := r.options("r3")
	m := r.open(o)
	r.attempt(m, "x", r.edits(files{"pushed": "1\n"}))
	r.integrate(m, 1, "x: ")
	equal(r.t, "delivery", r.deliver(m, "push").How, "push")
	equal(r.t, "pushed", r.gitIn(remote, "rev-parse", "wavex/r3"), r.git("rev-parse", "wavex/r3"))
	must(r.t, m.Close(context.WithoutCancel(r.t.Context())))
}
