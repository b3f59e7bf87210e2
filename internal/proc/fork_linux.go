package proc

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// This file forks and reaps without os/exec. os/exec's second descriptor of the process, its copy
// of the environment and its checks of the directory cost a fifth of the start of a small
// program, and wavex starts thousands.

// devNull returns the null device, opened once; each child gets a copy.
var devNull = sync.OnceValues(func() (int, error) { return unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0) })

// fork starts c. Its streams must be files, or nil for the null device.
func fork(c *exec.Cmd) (pid int, err error) {
	null, err := devNull()
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	files := []uintptr{uintptr(null), uintptr(null), uintptr(null)}
	for i, f := range []any{c.Stdin, c.Stdout, c.Stderr} {
		switch f := f.(type) {
		case *os.File:
			files[i] = f.Fd()
		case childEnd:
			files[i] = uintptr(f)
		}
	}
	for _, f := range c.ExtraFiles {
		files = append(files, f.Fd())
	}
	pid, err = syscall.ForkExec(c.Path, c.Args, &syscall.ProcAttr{Dir: c.Dir, Env: c.Env, Files: files,
		Sys: c.SysProcAttr})
	runtime.KeepAlive(c)
	if err == nil {
		return pid, nil
	}
	if c.Dir != "" {
		if _, err := os.Stat(c.Dir); err != nil {
			return 0, fmt.Errorf("changing to its directory: %w", err)
		}
	}
	return 0, &fs.PathError{Op: "fork/exec", Path: c.Path, Err: err}
}

// reap reaps a process that has exited, and returns how it ended.
func reap(pid int) Exit {
	var ws unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &ws, 0, nil); err != unix.EINTR {
			break
		}
	}
	e := Exit{Code: ws.ExitStatus()}
	if ws.Signaled() {
		e.Signal = unix.SignalName(ws.Signal())
	}
	return e
}

// childEnd is a child's end of a pipe: a descriptor that this process never reads, writes or polls.
type childEnd int

func (childEnd) Read([]byte) (int, error)  { return 0, fs.ErrInvalid }
func (childEnd) Write([]byte) (int, error) { return 0, fs.ErrInvalid }
func (e childEnd) Close() error            { return unix.Close(int(e)) }

// pipe returns a pipe. The first end is ours and ready for the poller; the other one is for a
// child, which reads it if toChild is set and writes to it otherwise.
func pipe(toChild bool) (ours *os.File, theirs io.ReadWriteCloser, err error) {
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	mode := unix.O_RDONLY
	if toChild {
		fd[0], fd[1], mode = fd[1], fd[0], unix.O_WRONLY
	}
	if _, err := unix.FcntlInt(uintptr(fd[0]), unix.F_SETFL, mode|unix.O_NONBLOCK); err != nil {
		_, _ = unix.Close(fd[0]), unix.Close(fd[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd[0]), "pipe"), childEnd(fd[1]), nil
}
