//go:build unix && !linux

package proc

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const fionread = 0x4004667f // FIONREAD of macOS and the BSDs; x/sys does not name it

// system holds the platform's fields of a Process.
type system struct {
	began int64 // when it was forked, as entry.start, in whole seconds
}

// begin forks, with a new group for the process.
func (p *Process) begin() error {
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !p.guard, Setsid: p.guard}
	p.began = time.Now().Unix() * 1e6 // ps reports whole seconds only
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.pid = p.cmd.Process.Pid
	ours.enter(p)
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
func (p *Process) giveUp()          {}

func (p *Process) finish() Exit {
	e := exitOf(p.cmd.ProcessState)
	e.Swept, e.Contained = p.sweep()
	return e
}

func exitOf(st *os.ProcessState) Exit {
	e := Exit{Code: st.ExitCode(), CPU: st.UserTime() + st.SystemTime()}
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal = unix.SignalName(ws.Signal())
	}
	if ru, ok := st.SysUsage().(*syscall.Rusage); ok {
		e.MaxRSS = int64(ru.Maxrss)
		if runtime.GOOS != "darwin" {
			e.MaxRSS <<= 10 // kilobytes everywhere but on macOS
		}
	}
	return e
}
