// Package roomtest lays out what tests of a room stand on: files, a plan, a repository, a
// journal, a named pipe. What is asserted of a room is the business of its own tests.
package roomtest

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"wavex/internal/plan"
	"wavex/internal/proc"
)

// Main is the TestMain of a room: no goroutine stays behind, the processes of a test that
// lose their parent come to it, as in wavex, and the configuration of whoever tests is kept
// out of git.
func Main(m *testing.M) {
	_ = proc.Subreaper() // elsewhere than on Linux it cannot
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// Must ends a test whose ground could not be laid.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Files are texts by path, slash-separated.
type Files map[string]string

// Write writes them below dir, with the folders that they need.
func (f Files) Write(t testing.TB, dir string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(f)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		Must(t, os.WriteFile(path, []byte(f[name]), 0o644))
	}
}

// Plan is a plan of JSON as if read from plan.json in dir, where nothing is written.
func Plan(t testing.TB, dir, text string) *plan.Plan {
	t.Helper()
	p, diags := plan.Parse("plan.json", []byte(text), plan.Options{})
	if p == nil {
		t.Fatalf("the test's plan: %v", diags)
	}
	p.Path = filepath.Join(dir, "plan.json")
	return p
}

// Git calls git in dir and gives what it prints. The environment is that of Main.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// Repo makes a repository whose one commit has these files.
func Repo(t testing.TB, f Files) (dir string) {
	t.Helper()
	dir = t.TempDir()
	Git(t, dir, "init", "-q", "-b", "main")
	f.Write(t, dir)
	Git(t, dir, "add", "-A")
	Git(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	return dir
}
