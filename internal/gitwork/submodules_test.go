package gitwork

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/runner"
)

// withSubmodule returns a repository with the submodule lib, which has a submodule sub itself, and one at deep/other
// that is not checked out. The repositories that they were cloned from are gone.
func withSubmodule(t *testing.T) *repo {
	sub, other := newRepo(t, files{"s": "1\n"}), newRepo(t, files{"o": "1\n"})
	lib := newRepo(t, files{"l": "1\n"})
	lib.git("submodule", "add", "-q", sub.dir, "sub")
	lib.git("commit", "-qm", "with sub")
	r := newRepo(t, files{"a": "1\n"})
	r.git("submodule", "add", "-q", "--name", "the lib", lib.dir, "lib")
	r.git("submodule", "add", "-q", other.dir, "deep/other")
	r.git("submodule", "update", "-q", "--init", "--recursive")
	r.git("commit", "-qm", "with submodules")
	r.git("submodule", "deinit", "-q", "deep/other")
	for _, gone := range []*repo{sub, other, lib} {
		must(t, os.RemoveAll(gone.dir))
	}
	return r
}

func TestSubmodules(t *testing.T) {
	t.Parallel()
	r := withSubmodule(t)
	o := r.options("r1")
	o.Mode = Auto
	m := r.open(o)
	if m.Mode() != Shared || !strings.HasSuffix(m.ModeReason(), "in worktrees tasks cannot change them: lib") {
		t.Errorf("mode %s, because %s", m.Mode(), m.ModeReason())
	}
	before := r.userFingerprint()
	m = r.open(r.options("r2"))
	if !strings.HasSuffix(m.ModeReason(), "cannot change them: lib") {
		t.Errorf("it says only %s", m.ModeReason())
	}
	want := files{"lib/l": "1\n", "lib/sub/s": "1\n"}
	has := func(dir string) {
		t.Helper()
		for path, text := range want {
			got, err := os.ReadFile(filepath.Join(dir, path))
			must(t, err)
			equal(t, path, string(got), text)
		}
	}
	for name, c := range map[string]struct {
		edit  func(dir string)
		wrong bool
	}{
		"a commit": {func(dir string) {
			r.write(dir, files{"lib/l": "2\n"})
			r.gitIn(filepath.Join(dir, "lib"), "commit", "-qam", "x")
		}, true},
		"a new file":     {func(dir string) { r.write(dir, files{"lib/new": "2\n"}) }, true},
		"a change below": {func(dir string) { r.write(dir, files{"lib/sub/s": "2\n"}) }, true},
		"its removal":    {func(dir string) { r.gitIn(dir, "rm", "-q", "-f", "lib") }, false},
		"its folder": {func(dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, "lib")))
			must(t, os.Symlink(r.dir, filepath.Join(dir, "lib")))
		}, false},
		"its repository": {func(dir string) {
			r.write(dir, files{"lib/.git": "gitdir: " + filepath.Join(r.dir, ".git/modules/the lib") + "\n", "lib/l": "2\n"})
		}, false}, // git looks at the files of the user's checkout
	} {
		res := r.ask(m, runner.Request{Task: "x", Attempt: 1}, func(dir string, _ runner.Request) error {
			has(dir)
			c.edit(dir)
			return nil
		})
		wrong := strings.HasPrefix(res.Reason, "it changed the submodule lib, ")
		if (res.Outcome == runner.Wrong) != c.wrong || wrong != c.wrong {
			t.Errorf("%s: %s: %s", name, res.Outcome, res.Reason)
		}
	}
	must(t, m.Release(t.Context(), "x"))
	r.wave(m, r.dir)
	equal(t, "lib", r.git("rev-parse", "wavex/r2:lib"), r.git("rev-parse", "main:lib"))
	equal(t, "integrated", r.integrate(m, 2, "z: cat lib/l lib/sub/s && test ! -e deep/other/o").Integrated, []string{"z"})
	r.untouched(before)
	has(r.dir)
	equal(t, "delivery", r.deliver(m, "auto").How, "ff")
}
