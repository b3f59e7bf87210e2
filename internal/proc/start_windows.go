package proc

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// platform holds the fields of a Process for Windows: a job object, which contains the process and
// everything that it starts, and ends them all when its last handle is closed, also by the death
// of wavex.
type platform struct {
	job windows.Handle
}

// launch creates the process suspended, assigns it to its job and resumes it, so that it cannot
// start a process outside the job.
func (p *Process) launch() error {
	if p.detached {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
		if err := p.cmd.Start(); err != nil {
			return err
		}
		p.pid = p.cmd.Process.Pid
		return nil
	}
	job, err := newJob()
	if err != nil {
		return err
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED}
	if a := p.cmd.Args; len(a) == 5 && slices.Equal(a[:4], Shell("")[:4]) {
		// cmd.exe parses its line unlike other programs: it takes the text between the outer
		// quotes literally.
		p.cmd.SysProcAttr.CmdLine = strings.Join(a[:4], " ") + ` "` + a[4] + `"`
	}
	if err := p.cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return err
	}
	p.pid, p.job = p.cmd.Process.Pid, job
	if err := p.enclose(); err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		_ = windows.CloseHandle(job)
		return err
	}
	return nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, os.NewSyscallError("CreateJobObject", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, os.NewSyscallError("SetInformationJobObject", err)
	}
	return job, nil
}

// enclose assigns the suspended process to its job and resumes its one thread.
func (p *Process) enclose() error {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE
	h, err := windows.OpenProcess(access, false, uint32(p.pid))
	if err != nil {
		return os.NewSyscallError("OpenProcess", err)
	}
	err = windows.AssignProcessToJobObject(p.job, h)
	_ = windows.CloseHandle(h)
	if err != nil {
		return os.NewSyscallError("AssignProcessToJobObject", err)
	}
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return os.NewSyscallError("CreateToolhelp32Snapshot", err)
	}
	defer windows.CloseHandle(snap)
	te := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snap, &te); err == nil; err = windows.Thread32Next(snap, &te) {
		if te.OwnerProcessID != uint32(p.pid) {
			continue
		}
		t, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, te.ThreadID)
		if err != nil {
			return os.NewSyscallError("OpenThread", err)
		}
		_, err = windows.ResumeThread(t)
		_ = windows.CloseHandle(t)
		return os.NewSyscallError("ResumeThread", err)
	}
	return os.NewSyscallError("Thread32Next", err)
}

// awaitExit waits for the process itself; its job lives on.
func (p *Process) awaitExit() { _ = p.cmd.Wait() }

func (p *Process) terminate() error {
	if err := windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.pid)); err != nil {
		return p.kill() // there is no console
	}
	return nil
}

func (p *Process) kill() error {
	if p.detached {
		return p.cmd.Process.Kill()
	}
	return os.NewSyscallError("TerminateJobObject", windows.TerminateJobObject(p.job, 1))
}

// forceEnd ends the processes that still hold the output; only then do reads return.
func (p *Process) forceEnd() { _ = p.kill() }

// finish ends the job if it still has processes.
func (p *Process) finish() Exit {
	e := Exit{Code: p.cmd.ProcessState.ExitCode(), Contained: true}
	if !p.detached {
		e.Swept = max(0, p.active())
		if e.Swept > 0 {
			_ = p.kill()
			e.Contained = p.emptied()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	if !p.detached {
		_ = windows.CloseHandle(p.job)
	}
	return e
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, which x/sys/windows does not declare.
type accounting struct {
	userTime, kernelTime, periodUser, periodKernel  int64
	pageFaults, processes, active, terminatedByTime uint32
}

// active returns the number of live processes of the job; -1 if unknown.
func (p *Process) active() int {
	var a accounting
	err := windows.QueryInformationJobObject(p.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	if err != nil {
		return -1
	}
	return int(a.active)
}

// emptied waits until the ended job has no processes.
func (p *Process) emptied() bool {
	deadline := time.Now().Add(sweepTimeout)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for p.active() != 0 {
		if time.Now().After(deadline) {
			return false
		}
		<-tick.C
	}
	return true
}
