package gitwork

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/proc/proctest"
	"wavex/runner"
)

// startsOfGit counts the git processes of everything that is opened with its environment.
type startsOfGit struct {
	t   testing.TB
	log string
}

// countGit puts a git that logs its calls into the environment of r.
func (r *repo) countGit() *startsOfGit {
	r.t.Helper()
	dir := r.t.TempDir()
	c := &startsOfGit{r.t, filepath.Join(dir, "log")}
	proctest.Script(r.t, filepath.Join(dir, "git"), `#!/bin/sh
for a; do printf '%s ' "$a"; done | tr '\n' ' ' >>'`+c.log+`'
echo >>'`+c.log+`'
PATH=${PATH#*:}
exec git "$@"
`)
	r.env = append(r.env, "PATH="+dir+":"+os.Getenv("PATH"))
	return c
}

// atMost fails the test if do starts more than most git processes, or none. It returns their number.
func (c *startsOfGit) atMost(most int, what string, do func()) int {
	c.t.Helper()
	must(c.t, os.WriteFile(c.log, nil, 0o600))
	do()
	text, err := os.ReadFile(c.log)
	must(c.t, err)
	n := strings.Count(string(text), "\n")
	c.t.Logf("%s: %d git processes", what, n)
	if n < 1 || n > most {
		c.t.Errorf("%s: %d git processes, want at most %d:\n%s", what, n, most, text)
	}
	return n
}

// An isolated attempt starts at most 16 git processes from its beginning to the end of its integration: it gets a
// worktree, changes two files, is committed, saved in .loop and integrated, and its worktree is taken back. The work of
// the second task of each wave must be merged. The first wave adds the worktrees. In the last one the second task gets
// the worktree of the first, which is taken back for that.
func TestProcessesOfAnAttempt(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a.txt": "a\n"})
	starts := r.countGit()
	o := r.options("run-1")
	o.Subject = func(task string) string { return "Do " + task }
	m := r.open(o)
	attempt := func(task string, and func()) {
		r.attempt(m, task, func(dir string, _ runner.Request) error {
			r.write(dir, files{task + ".txt": "1\n", task + "/b.txt": "2\n"})
			and()
			return nil
		})
	}
	integrate := func(wave int, task string) {
		in := r.integrate(m, wave, task+": test -f "+task+".txt")
		equal(t, "integrated", in.Integrated, []string{task})
	}
	attempt("a0", func() { attempt("b0", func() {}) })
	integrate(1, "a0")
	integrate(1, "b0")
	for wave := 2; wave < 5; wave++ {
		sum := 0
		for _, task := range []string{"a", "b"} {
			task += fmt.Sprint(wave)
			sum += starts.atMost(7, "the attempt of "+task, func() { attempt(task, func() {}) })
		}
		for _, task := range []string{"a", "b"} {
			task += fmt.Sprint(wave)
			sum += starts.atMost(9, "the integration of "+task, func() { integrate(wave, task) })
		}
		t.Logf("wave %d: %d git processes for two attempts", wave, sum)
	}
	must(t, m.RemoveSurplus(t.Context(), 1))
	starts.atMost(34, "two attempts in one worktree", func() {
		attempt("a5", func() {})
		attempt("b5", func() {})
		integrate(5, "a5")
		integrate(5, "b5")
	})
}
