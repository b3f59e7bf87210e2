package proc

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// brood is what this process has started and not yet reaped, and with Subreaper
// what it has adopted: the orphans of its descendants, which the kernel puts into
// the list of children of its first thread.
type brood struct {
	reaper atomic.Bool // Subreaper succeeded
	list   string      // the file that lists the children of the first thread

	// mu is held while forking, listing and reaping, so that a list of children is
	// exact and every child in it that is not in live is an orphan.
	mu   sync.Mutex
	live map[int]*Process

	// orphans is held by whoever looks through the orphans and reaps them: the pid
	// of an orphan stays its own while it is held.
	orphans sync.Mutex
}

// ours is the one brood. It is a global because the kernel keeps one list of children
// for each process, whoever in it asks.
var ours = brood{live: map[int]*Process{}, list: childrenFile()}

// Subreaper makes the orphans of our descendants our children, so that whatever an
// attempt leaves behind can be found without looking at every process of the
// machine. It is for the command line, once, at the start; without it Wait looks for
// marks in all of /proc. It fails where the kernel is older than 3.4 or lists no children
// (CONFIG_PROC_CHILDREN), and with ErrUnsupported outside Linux.
func Subreaper() error {
	if _, err := os.Stat(ours.list); err != nil {
		return fmt.Errorf("reading the list of children: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming the reaper of orphans: %w", err)
	}
	ours.reaper.Store(true)
	return nil
}

func childrenFile() string {
	pid := os.Getpid()
	return procPath(pid, fmt.Sprintf("task/%d/children", pid))
}

// start forks and enters p.
func (b *brood) start(p *Process) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.ticks = bootTicks()
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.pid = p.cmd.Process.Pid
	b.live[p.pid] = p
	return nil
}

// reap collects p, which has exited.
func (b *brood) reap(p *Process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.cmd.Wait() // how it went is in ProcessState
	p.reaped = true
	delete(b.live, p.pid)
}

// strays returns the children that we did not start. In the common case there are
// none, and this is all that the sweep of a process costs: one small file.
func (b *brood) strays() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []int
	for _, pid := range childrenOfThread(b.list) {
		if b.live[pid] == nil {
			out = append(out, pid)
		}
	}
	return out
}

// verdict is whose an orphan is, seen from the process that is swept.
type verdict int

const (
	mine   verdict = iota // the swept process's, or nobody's any more
	others                // of a process that is alive, or not ours at all
	unsure                // of the swept process or of another one
)

// whose attributes an orphan. In this order:
//
//   - its group or its session is that of a process we started: it is that one's;
//   - its WAVEX_ATTEMPT is that of another live process: it is that one's; it is the
//     swept one's mark, or one of the same run that no live process has: mine;
//   - it hides its mark. Then whoever started before it may be its ancestor: if nobody
//     alive but the swept process did, it is mine; if others did too, nobody can know.
//     It is left for the last of them, and the swept process is not called contained.
func (b *brood) whose(o stat, attempt string, p *Process) verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, lead := range []int{o.pgrp, o.session} {
		if q := b.live[lead]; q != nil {
			if q == p {
				return mine
			}
			return others
		}
	}
	rivals := false
	for _, q := range b.live {
		if q == p || q.guard {
			continue
		}
		if attempt != "" && q.mark == attempt {
			return others
		}
		rivals = rivals || q.ticks <= o.start
	}
	switch {
	case attempt != "" && p.mark != "" && runOf(attempt) == runOf(p.mark):
		return mine
	case !rivals:
		return mine
	case p.ticks > o.start:
		return others
	}
	return unsure
}
