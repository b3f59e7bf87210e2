package gitwork

import (
	"os"
	"path/filepath"
	"testing"

	"wavex/runner"
)

// The submodules that an agent checks out in its worktree are not there for the next task.
func TestModulesOfAnAgent(t *testing.T) {
	t.Parallel()
	lib := newRepo(t, files{"l": "1\n"})
	r := newRepo(t, files{"a": "1\n"})
	r.git("submodule", "add", "-q", lib.dir, "lib")
	r.commit(nil)
	r.git("submodule", "deinit", "-q", "-f", "lib")
	m := r.open(r.options("r1"))
	r.attempt(m, "x", func(dir string, _ runner.Request) error {
		r.gitIn(dir, "submodule", "update", "-q", "--init")
		r.write(dir, files{"x": "1\n", "lib/l": "2\n"})
		return nil
	})
	r.integrate(m, 1, "x: test -e x")
	r.attempt(m, "y", func(dir string, _ runner.Request) error {
		left, err := os.ReadDir(filepath.Join(dir, "lib"))
		equal(t, "files in lib", len(left), 0)
		return err
	})
}
