package gitwork

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A run on a small disk is refused before it has made anything, and begins once there is room. The disk is a mount of a
// child process, which ends with it.
func TestSmallDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root may mount a small disk: TestTooLittleRoom has a made-up one")
	}
	r := newRepo(t, files{"a": strings.Repeat("a", 300<<10)})
	must(t, os.Mkdir(r.dir+"/.loop", 0o755))
	home := strings.TrimPrefix(r.env[1], "HOME=")
	for size, c := range map[string]struct {
		says  string
		opens bool
	}{
		"1400k": {"need 1 MB, and 1 MB are free, which suffices for -j 3; use -j 3", false},
		"2m":    {"worktree: asked for", true},
	} {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `
			/bin/mount --make-rprivate / && /bin/mount -t tmpfs -o size="$1" none "$2/.loop" || exit
			"$4" helper open "$2" "$3"; ls "$2/.loop/worktrees"`, "sh", size, r.dir, home, os.Args[0])
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		if text := string(out); err != nil || !strings.Contains(text, c.says) || strings.Contains(text, ".json") != c.opens {
			t.Errorf("%s: %v: %s\nwant %s", size, err, out, c.says)
		}
	}
}
