package gitwork

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"wavex/internal/proc/proctest"
)

// A git command at work when wavex is killed leaves no lock file behind: git removes it on SIGTERM,
// and nothing removes packed-refs.lock after a SIGKILL.
//
// The test runs alone. The git it orphans becomes a child of this test binary, a subreaper, and the
// sweep after a git of another test would end it by SIGKILL.
func TestKilledWithinAGitCommand(t *testing.T) {
	r := newRepo(t, files{"a": "1\n"})
	r.git("update-ref", "refs/wavex/packed", "HEAD")
	r.git("pack-refs", "--all")
	hook := filepath.Join(r.dir, ".git", "hooks", "reference-transaction")
	must(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	proctest.Script(t, hook, `#!/bin/sh
[ "$1" = prepared ] || exit 0
echo $PPID >"$0.git"
read -r go <"$0.go"
`)
	must(t, unix.Mkfifo(hook+".go", 0o600))
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe, "helper", "delete", r.dir, "refs/wavex/packed")
	cmd.Env = r.env
	must(t, cmd.Start())
	release, err := os.OpenFile(hook+".go", os.O_WRONLY, 0) // returns when the hook reads
	must(t, err)
	defer release.Close()
	said, err := os.ReadFile(hook + ".git")
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(said)))
	must(t, err)
	git, err := unix.PidfdOpen(pid, 0)
	must(t, err)
	defer unix.Close(git)
	lock := filepath.Join(r.dir, ".git", "packed-refs.lock")
	if _, err := os.Stat(lock); err != nil {
		t.Fatal("git holds no lock: ", err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(git), Events: unix.POLLIN}}, 30_000); n != 1 {
		t.Fatalf("git outlives wavex: %v", err)
	}
	if _, err := os.Stat(lock); err == nil {
		t.Error("the lock stays")
	}
}
