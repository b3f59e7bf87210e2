package cmd

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/plan"
	"wavex/internal/run"
	"wavex/internal/safefile"
)

// An error of writing is printed once, with advice, and its exit code says that a person must act.
func TestUnwritableFileErrors(t *testing.T) {
	t.Parallel()
	project := filepath.Join(string(filepath.Separator), "home", "me", "project")
	loop := filepath.Join(project, ".loop")
	log := filepath.Join(loop, "journal.jsonl")
	inv := &invocation{plan: &plan.Plan{Path: "my plan.json"}}
	stopped := func(err error) error {
		return inv.exitError(run.Result{}, &journal.WriteError{Path: log, Err: &fs.PathError{Op: "write",
			Path: log, Err: err}})
	}
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"a folder that cannot be made": {&fs.PathError{Op: "mkdir", Path: loop, Err: syscall.EACCES},
			[]string{"mkdir " + loop, "wavex keeps what it knows of a run in " + loop, "write in " + project + ","}},
		"a lock that cannot be written": {fmt.Errorf("locking: %w",
			&fs.PathError{Op: "open", Path: filepath.Join(loop, ".holder"), Err: syscall.EROFS}),
			[]string{"write in " + project + ",", "copy of that folder"}},
		"a full disk at first": {fmt.Errorf("locking: %w", &fs.PathError{Op: "write", Path: log,
			Err: syscall.ENOSPC}), []string{"free some space there, then give the command again"}},
		"a full disk in the middle": {stopped(syscall.ENOSPC),
			[]string{"was stopped; the disk of " + log + " is full; free some space there, then continue with: " +
				"wavex resume 'my plan.json'"}},
		"a quota in the middle": {stopped(syscall.EDQUOT),
			[]string{"was stopped; the quota on the disk of " + log + " is used up; free some space there"}},
		"a folder that is read-only by now": {stopped(syscall.EROFS),
			[]string{"was stopped; put that right, then continue with: wavex resume 'my plan.json'"}},
		"a .loop that is a link by now": {stopped(safefile.ErrLink),
			[]string{"it is a link", "was stopped; put that right, then continue with: wavex resume 'my plan.json'"}},
		"a link in the middle of a request": {&fs.PathError{Op: "open", Path: loop, Err: safefile.ErrLink}, nil},
		"a file elsewhere that may not be read": {&fs.PathError{Op: "open", Path: filepath.Join(project, "x.loop", "y"),
			Err: syscall.EACCES}, nil},
		"a folder that cannot be moved": {fmt.Errorf("moving: %w", &os.LinkError{Op: "rename", Old: loop, New: "x",
			Err: syscall.EBUSY}), nil},
		"a call that fails": {os.NewSyscallError("mount", syscall.EBUSY), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if code := reportError(Stdio{Err: &out}, c.err); code != event.ExitBlocked {
				t.Errorf("exit code %d", code)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) != min(len(c.want), 1)+1 {
				t.Errorf("told:\n%s", out.String())
			}
			for _, w := range c.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("told without %q:\n%s", w, out.String())
				}
			}
		})
	}
}
