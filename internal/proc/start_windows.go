package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

type system struct{}

func (p *Process) begin() error {
	p.cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.pid = p.cmd.Process.Pid
	return nil
}

func (p *Process) awaitExit() { _, _ = windows.WaitForSingleObject(0, 0); _ = p.cmd.Wait() }

func (p *Process) terminate() error {
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.pid))
}
func (p *Process) kill() error { return p.cmd.Process.Kill() }
func (p *Process) giveUp()     {}

func (p *Process) finish() Exit {
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	return exitOf(p.cmd.ProcessState)
}

func exitOf(st *os.ProcessState) Exit {
	return Exit{Code: st.ExitCode(), CPU: st.UserTime() + st.SystemTime()}
}
