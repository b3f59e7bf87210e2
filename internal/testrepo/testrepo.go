// Package testrepo makes the fixtures of package tests: files, a plan, a repository, a journal, a
// named pipe. It asserts nothing.
package testrepo

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofrs/flock"
	"go.uber.org/goleak"

	"wavex/internal/plan"
	"wavex/internal/proc"
)

// gitEnv gives git a name and an address, and no configuration of the user.
var gitEnv = []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=A",
	"GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com"}

// Main is the TestMain of a package. It fails if a goroutine is left, adopts orphans of the tests
// as wavex does, and shields git from the developer's configuration.
func Main(m *testing.M) {
	_ = proc.Subreaper() // works on Linux only
	for _, entry := range gitEnv {
		name, value, _ := strings.Cut(entry, "=")
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	defer LockHome()()
	goleak.VerifyTestMain(m)
}

// LockHome prevents runs of tests that have no home directory of their own from putting back files of the developer.
func LockHome() (unlock func()) {
	home, _ := os.UserHomeDir()
	lock := flock.New(home, flock.SetFlag(os.O_RDONLY))
	_, _ = lock.TryRLock() // else another run has it
	return func() { _ = lock.Unlock() }
}

// Must ends a test whose fixture could not be made.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Files holds texts by path, slash-separated.
type Files map[string]string

// Write writes the files below dir, with the folders that they need.
func (f Files) Write(t testing.TB, dir string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(f)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		Must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		Must(t, os.WriteFile(path, []byte(f[name]), 0o644))
	}
}

// Plan returns a plan from JSON as if it was read from plan.json in dir. It writes nothing.
func Plan(t testing.TB, dir, text string) *plan.Plan {
	t.Helper()
	p, diags := plan.Parse("plan.json", []byte(text), plan.Options{})
	if p == nil {
		t.Fatalf("the test's plan: %v", diags)
	}
	p.Path = filepath.Join(dir, "plan.json")
	return p
}

// Git runs git in dir and returns its output. It needs no configuration of git.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), gitEnv...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// Repo makes a repository with these files in its one commit.
func Repo(t testing.TB, f Files) (dir string) {
	t.Helper()
	dir = t.TempDir()
	Git(t, dir, "init", "-q", "-b", "main")
	f.Write(t, dir)
	Git(t, dir, "add", "-A")
	Git(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	return dir
}
