package proc

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const fionread = unix.TIOCINQ

// platform holds the fields of a Process for Linux.
type platform struct {
	ticks uint64 // when it was forked, as stat.start
	limit uint64 // its soft limit of file locks, which descendants inherit; Linux does not use that limit
	kills int64  // machineKills shortly before the launch
}

// onOtherThread calls functions on a thread that it locks, and that is not the first one: see children.
func onOtherThread(all <-chan func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Gettid() == os.Getpid() {
		var other sync.WaitGroup
		other.Go(func() { onOtherThread(all) })
		other.Wait()
	}
	for f := range all {
		f()
	}
}

// launch forks. The process gets its own group, and SIGKILL or, with endsOnTerm, SIGTERM from the
// kernel when wavex dies.
func (p *Process) launch() error {
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if p.endsOnTerm {
		p.cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	}
	if p.detached {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	p.kills = allChildren.kills.recent()
	return allChildren.start(p)
}

// awaitExit returns when the process has exited. It does not reap it.
func (p *Process) awaitExit() {
	if p.awaitPidfd() {
		return
	}
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, p.pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return
		}
	}
}

// reapEvery is how often dead orphans are reaped while a process lives. Until then a program that
// polls with kill -0, such as pg_ctl stop, sees an ended daemon as alive.
const reapEvery = 100 * time.Millisecond

// awaitPidfd waits through Go's poller, so that no thread blocks in a system call and keeps a
// processor from others until the scheduler notices. It returns false if the kernel has no such
// descriptors (before Linux 5.3). The pid is not reused until the process is reaped.
func (p *Process) awaitPidfd() bool {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return false
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return false
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	rc, err := f.SyscallConn()
	if err != nil {
		return false
	}
	for {
		if allChildren.subreaper.Load() {
			_ = f.SetReadDeadline(time.Now().Add(reapEvery))
		}
		gone := false
		err = rc.Read(func(fd uintptr) bool {
			var info unix.Siginfo
			err := unix.Waitid(unix.P_PIDFD, int(fd), &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
			gone = err == nil && info.Signo != 0
			return gone || (err != nil && err != unix.EINTR)
		})
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err == nil && gone
		}
		allChildren.reapOrphans()
	}
}

func (p *Process) terminate() error {
	if p.wrapped && p.terminateWrapped() {
		return nil
	}
	return unix.Kill(-p.pid, unix.SIGTERM)
}

// terminateWrapped sends SIGTERM to the group without its leader, the wrapper, and reports whether there was another
// process. The wrapper would end on SIGTERM and take the program with it, before that could clean up.
func (p *Process) terminateWrapped() bool {
	sent := map[ident]bool{}
	for more := true; more; { // a process of the group may fork meanwhile
		more = false
		pids, _ := allPids() // without /proc there are none
		for _, pid := range pids {
			st, ok := readStat(pid)
			if ok && st.pgrp == p.pid && pid != p.pid && !st.dead() && !sent[st.ident] {
				sent[st.ident], more = true, true
				_ = signalOnce(st.ident, unix.SIGTERM) // an error means that it is gone
			}
		}
	}
	return len(sent) > 0
}

func (p *Process) kill() error { return unix.Kill(-p.pid, unix.SIGKILL) }
func (p *Process) forceEnd()   {}

// finish sweeps, then reaps.
func (p *Process) finish() Exit {
	swept, contained := allChildren.sweep(p)
	e := allChildren.reap(p)
	e.Swept, e.Contained = swept, contained
	if name := unix.SignalName(unix.Signal(e.Code - 128)); p.wrapped && name != "" {
		e.Code, e.Signal = -1, name
	}
	select {
	case <-p.killed:
	default:
		if e.Signal == "SIGKILL" || e.Code == 128+int(unix.SIGKILL) {
			e.Exhausted = p.killedForMemory()
		}
	}
	return e
}
