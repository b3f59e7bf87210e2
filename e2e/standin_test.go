//go:build unix

package e2e

// This file tests programs that are not a CLI, or cannot work as one: one line names the program
// and the remedy, and no money is spent. Shims and logins are in login_test.go.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/fakeapi"
	"wavex/internal/proc/proctest"
	"wavex/internal/testrepo"
)

// executable writes a script, and returns it as a CLI.
func executable(t *testing.T, lines string) cli {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bin", "claude")
	proctest.Script(t, path, lines)
	return cli{path: path}
}

func TestProgramThatIsNotACLI(t *testing.T) {
	t.Parallel()
	// Its attempt is given up after 15 s without a line.
	brief := strings.Replace(manyTasks(2, 2), `"defaults": {`, `"defaults": {"idleTimeout": "15s", `, 1)
	const tells = "#!/bin/sh\n[ \"$1\" = --version ] && echo '2.1.330 (Claude Code)' && exit\n"
	plain := filepath.Join(t.TempDir(), "claude")
	testrepo.Must(t, os.WriteFile(plain, []byte("not a program\n"), 0o644))
	const install = "install it with: npm"
	for _, test := range []struct {
		name string
		cli  cli
		says []string
	}{
		{"a file that is not executable", cli{path: plain}, []string{plain, install}},
		{"nothing at all", cli{path: plain + "-nowhere"}, []string{plain + "-nowhere", install}},
		{"another program", cli{path: "/bin/true"}, []string{"/bin/true is not the claude CLI", install}},
		{"a script of another kind", executable(t, "#!/bin/sh\necho hello\n"), []string{"is not the claude CLI", install}},
		{"hangs at start", executable(t, "#!/bin/sh\nexec sleep 300\n"), []string{"gave no answer", "try it by hand"}},
		{"hangs after its version", executable(t, tells+"exec sleep 300\n"), []string{"does not answer"}},
		{"prints garbage", executable(t, tells+"head -c 3000000 /dev/zero | tr '\\0' '\\377'\n"),
			[]string{"does not speak like the claude CLI"}},
		{"prints garbage without end", executable(t, tells+"exec yes garbage\n"),
			[]string{"does not speak like the claude CLI"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			srv := fakeapi.New(t, fakeapi.Script{})
			e := newRepo(t, brief).on(test.cli).wavex(srv, "run", "plan.json", "--plain").end()
			refused(t, srv, e, test.says...)
		})
	}
}

// refused checks that a run was refused before it spent money, and that a line gives the reason.
func refused(t *testing.T, srv *fakeapi.Server, e wavexEnd, why ...string) {
	t.Helper()
	if e.exit != 5 {
		t.Errorf("exit %d, want 5\n%s", e.exit, e.stderr)
	}
	if n := len(srv.Messages(nil)); n > 0 {
		t.Errorf("the API was asked %d times", n)
	}
	checkOutput(t, e, why...)
}

// checkOutput checks that one line of stderr has all parts.
func checkOutput(t *testing.T, e wavexEnd, parts ...string) {
	t.Helper()
	for line := range strings.Lines(e.stderr) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return
		}
	}
	t.Errorf("exit %d; no line says %q:\n%s", e.exit, parts, e.stderr)
}
