package evidence

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wavex/internal/testrepo"
)

// TestUnwatched runs a case where the system lets the user watch no files, as when other programs watch as many as are
// allowed: a check that passes by chance is found flaky there, too.
func TestUnwatched(t *testing.T) {
	t.Parallel()
	unwatched := filepath.Join(t.TempDir(), "unwatched")
	script := "#!/bin/sh\necho 0 >/proc/sys/user/max_inotify_instances && exec " + wavex + " \"$@\"\n"
	testrepo.Must(t, os.WriteFile(unwatched, []byte(script), 0o755))
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	ns := exec.CommandContext(t.Context(), "sh", "-c", "echo 0 >/proc/sys/user/max_inotify_instances")
	if ns.SysProcAttr = attr; ns.Run() != nil && os.Getenv("CI") == "" {
		t.Skip("this user may make no namespace of users with a limit of its own")
	}
	for _, c := range Load(t, "testdata", Dishonest) {
		if c.Name == "flaky/every-second-time" {
			way := c.Ways()[0]
			e := run(t, c, way, unwatched, attr)
			if faults := c.Faults(way, e); len(faults) > 0 || len(e.Exits) != 1 || e.Exits[0] != 0 {
				t.Errorf("%s: %s\n%s", way, strings.Join(faults, "; "), e.Output)
			}
			return
		}
	}
	t.Fatal("the case is gone")
}
