package gitwork

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A hook that waits for a person is found. Only pre-commit may take long.
func TestHooksThatWait(t *testing.T) {
	t.Parallel()
	for _, hook := range []string{"pre-commit", "prepare-commit-msg", "commit-msg"} {
		t.Run(hook, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a": "1\n"})
			o := r.options("r1")
			m := r.open(o)
			started := filepath.Join(t.TempDir(), "started")
			r.script(".git/hooks/"+hook, "touch "+started+"\nexec sleep 1000")
			r.acceptHooks(m)
			ctx, cancel := context.WithCancelCause(t.Context())
			go cancelAt(ctx, func(error) { cancel(errHookProbeTimeout) }, started)
			var args []string
			if hook != "pre-commit" {
				args = []string{"a"}
			}
			err := m.probeHook(ctx, m.g, hook, "x", args)
			said := strings.Join(m.Notices(), "; ")
			if hook == "pre-commit" {
				must(t, err)
				equal(t, "notices", said, "the hook pre-commit took longer than 1m0s without changes; each commit waits for it")
				return
			}
			problem(t, err, HookRefuses)
		})
	}
}

// A hook names a missing program or file. Red tests may say that anything else was not found.
func TestMissingTool(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		".git/hooks/pre-commit: 3: eslint: not found": true,
		"lint: not found":                         true,
		"hook: line 3: eslint: command not found": true,
		"sh: eslint: not found":                   true,
		"zsh: command not found: eslint":          true,
		"Can't find lefthook in PATH":             true,
		"`pre-commit` not found.  Did you forget to activate your virtualenv?":  true,
		"ok\nError: Cannot find module 'x'\n":                                   true,
		"ModuleNotFoundError: No module named 'x'":                              true,
		"env: 'node': No such file or directory":                                true,
		`exec: "golint": executable file not found in $PATH`:                    true,
		"husky - command not found in PATH":                                     true,
		"ruff is not installed":                                                 true,
		"x.sh : The term 'x' is not recognized; cannot find the path specified": true,
		"--- FAIL: TestLogin: user not found":                                   false,
		"auth_test.go:10: not found":                                            false,
		"expected 200, got 404 Not Found":                                       false,
		"cannot find a match for 3":                                             false,
		"record not found":                                                      false,
		"2 tests failed":                                                        false,
	} {
		if missingTool().MatchString(said) != want {
			t.Errorf("%q names something missing: %v", said, !want)
		}
	}
}

// Clean, and the next run, remove the worktree and the branch of a wavex that was killed while it tried a hook.
func TestKilledProbe(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(r *repo){
		"clean": func(r *repo) {
			items, err := Clean(r.t.Context(), r.dir, "r1", false)
			must(r.t, err)
			for _, it := range items {
				if !it.Removed {
					r.t.Errorf("%s %s stays: %s", it.Kind, it.Name, it.Why)
				}
			}
		},
		"next run": func(r *repo) {
			m := r.open(r.options("r2"))
			equal(r.t, "mode", m.Mode(), Worktree)
			must(r.t, m.removeUnusedTrees(r.t.Context()))
			if Exists(m.opts.Loop, "r1") {
				r.t.Error("the state of the killed run stays")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := killedProbe(t)
			remove(r)
			equal(t, "worktrees", strings.Count(r.git("worktree", "list", "--porcelain"), "worktree "), 1)
			equal(t, "branches", strings.Contains(r.git("branch", "--format=%(refname)"), "r1"), false)
		})
	}
}

// killedProbe returns a repository in which a wavex was killed while it tried a hook for the run r1.
func killedProbe(t *testing.T) *repo {
	t.Helper()
	r := newRepo(t, files{"a": "1\n"})
	r.script(".git/hooks/pre-commit", "true")
	real, err := exec.LookPath("git")
	must(t, err)
	bin := t.TempDir()
	r.script(filepath.Join(bin, "git"), `case "$*" in *"hook run"*) kill -9 $PPID; kill -9 $$;; esac
exec `+real+` "$@"`)
	exe, err := os.Executable()
	must(t, err)
	killed := exec.Command(exe, "helper", "integrate", r.dir, "r1", bin+":"+os.Getenv("PATH"), r.home())
	if out, err := killed.CombinedOutput(); err == nil || len(out) > 0 {
		t.Fatalf("it was not killed: %v\n%s", err, out)
	}
	if left := r.git("worktree", "list"); !strings.Contains(left, ".loop") {
		t.Fatalf("it was killed before it made a worktree: %s", left)
	}
	return r
}
