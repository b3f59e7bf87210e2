package proc

import (
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// fork starts c. The process is reaped by its number, after the sweep, so os/exec does not wait for it.
func fork(c *exec.Cmd) (pid int, err error) {
	if err = c.Start(); err == nil {
		pid = c.Process.Pid
		_ = c.Process.Release() // it never fails on Linux
		return pid, nil
	}
	if c.Dir != "" {
		if _, err := os.Stat(c.Dir); err != nil {
			return 0, fmt.Errorf("changing to its directory: %w", err)
		}
	}
	return 0, err
}

// reap reaps a process that has exited, and returns how it ended: with -1 if other code has taken its status.
func reap(pid int) Exit {
	var ws unix.WaitStatus
	err := error(unix.EINTR)
	for err == unix.EINTR {
		_, err = unix.Wait4(pid, &ws, 0, nil)
	}
	if err != nil {
		return Exit{Code: -1}
	}
	e := Exit{Code: ws.ExitStatus()}
	if ws.Signaled() {
		e.Signal = unix.SignalName(ws.Signal())
	}
	return e
}
