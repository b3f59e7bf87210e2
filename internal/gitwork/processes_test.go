package gitwork

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/proc/proctest"
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

// atMost fails the test if do starts more than most git processes, or none.
func (c *startsOfGit) atMost(most int, what string, do func()) {
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
}

// An attempt in a worktree starts at most 12 git processes, including those that save its commit in .loop, and the
// integration of one task at most 12. The first ones add the worktrees.
func TestProcessesOfAnAttempt(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a.txt": "a\n"})
	starts := r.countGit()
	o := r.options("run-1")
	o.Subject = func(task string) string { return "Do " + task }
	m := r.open(o)
	for i, task := range []string{"first", "second", "third"} {
		starts.atMost(12, "an attempt", func() {
			r.attempt(m, task, r.edits(files{task + ".txt": "1\n", "a.txt": fmt.Sprintln(i)}))
		})
		starts.atMost(12, "an integration", func() {
			in := r.integrate(m, i+1, task+": test -f "+task+".txt")
			equal(t, "integrated", in.Integrated, []string{task})
		})
	}
}
