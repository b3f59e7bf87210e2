package gitwork

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"wavex/runner"
)

// TreeDir finds the files of a task's last attempt.
func TestTreeDir(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"sub/a": "1\n"})
	m := r.open(r.options("r1"))
	if dir := m.TreeDir("x", r.dir); dir != "" {
		t.Errorf("a task without an attempt has %s", dir)
	}
	work := agent(func(dir string, _ runner.Request) error {
		r.write(dir, files{"sub/new": "half\n"})
		return errors.New("cut off")
	})
	if res := r.ask(m, runner.Request{Task: "x", Attempt: 1}, work); res.Outcome == runner.Done {
		t.Fatalf("%+v", res)
	}
	if _, err := os.Stat(filepath.Join(m.TreeDir("x", filepath.Join(r.dir, "sub")), "new")); err != nil {
		t.Error(err)
	}
}
