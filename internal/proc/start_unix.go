//go:build unix && !linux

package proc

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const fionread = 0x4004667f // FIONREAD of macOS; x/sys does not name it

// platform holds the platform's fields of a Process.
type platform struct {
	began int64 // when it was forked, as entry.start, in whole seconds
}

// launch forks, with a new group for the process.
func (p *Process) launch() error {
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !p.detached, Setsid: p.detached}
	p.began = time.Now().Unix() * 1e6 // ps reports whole seconds only
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.pid = p.cmd.Process.Pid
	allChildren.add(p)
	return nil
}

// awaitExit also reaps, because these systems cannot wait without reaping.
func (p *Process) awaitExit() {
	_ = p.cmd.Wait()
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
}

func (p *Process) terminate() error { return unix.Kill(-p.pid, unix.SIGTERM) }
func (p *Process) kill() error      { return unix.Kill(-p.pid, unix.SIGKILL) }
func (p *Process) forceEnd()        {}

func (p *Process) finish() Exit {
	e := Exit{Code: p.cmd.ProcessState.ExitCode()}
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = unix.SignalName(ws.Signal())
	}
	e.Swept, e.Contained = p.sweep()
	return e
}
