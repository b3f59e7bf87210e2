package proc

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// brood is what this process has started and not yet reaped, and with Subreaper
// what it has adopted: the orphans of its descendants, which the kernel puts into
// the list of children of its first thread. Start never forks on that thread, so the
// list holds nothing of ours but orphans.
type brood struct {
	reaper atomic.Bool // Subreaper succeeded
	// enclosure is the control group that processes are forked into; nil: that of this
	// process.
	enclosure atomic.Pointer[Enclosure]
	list      string // the file that lists the children of the first thread
	listed    int    // the same file, open for good once reaper is set

	mu   sync.Mutex
	live map[*Process]bool // from before the fork until it is reaped

	// orphans is held by whoever looks through the orphans and reaps them. While it is
	// held no orphan leaves the list, so the list is exact and their pids stay theirs.
	orphans sync.Mutex
}

// ours is the one brood. It is a global because the kernel keeps one list of children
// for each process, whoever in it asks.
var ours = brood{live: map[*Process]bool{}, list: childrenFile()}

// Subreaper makes the orphans of our descendants our children, so that whatever an
// attempt leaves behind can be found without looking at every process of the
// machine. It is for the command line, once, at the start; without it Wait looks for
// marks in all of /proc. It fails where the kernel is older than 3.4 or lists no children
// (CONFIG_PROC_CHILDREN), and with ErrUnsupported outside Linux.
func Subreaper() error {
	if ours.reaper.Load() {
		return nil
	}
	fd, err := unix.Open(ours.list, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("reading the list of children: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		_ = unix.Close(fd)
		return fmt.Errorf("becoming the reaper of orphans: %w", err)
	}
	ours.listed = fd
	ours.reaper.Store(true)
	return nil
}

func childrenFile() string {
	pid := os.Getpid()
	return procPath(pid, fmt.Sprintf("task/%d/children", pid))
}

// start enters p, then forks: whatever p leaves can be attributed from the first moment.
func (b *brood) start(p *Process) error {
	p.ticks = bootTicks()
	b.mu.Lock()
	b.live[p] = true
	b.mu.Unlock()
	pid, err := fork(p.cmd)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		delete(b.live, p)
		return err
	}
	p.pid = pid
	return nil
}

// reap collects p, which has exited.
func (b *brood) reap(p *Process) Exit {
	p.mu.Lock()
	e := collect(p.pid)
	p.reaped = true
	p.mu.Unlock()
	b.mu.Lock()
	delete(b.live, p)
	b.mu.Unlock()
	return e
}

// strays returns the children of the first thread: orphans, and what other code in
// this process started there. In the common case there are none, and this look into
// one small file is all that the sweep of a process costs. None is exact; of several
// some may be passed over unless orphans is held. They are there only with Subreaper.
func (b *brood) strays() []int {
	var room [256]byte
	n, err := unix.Pread(b.listed, room[:], 0)
	if err != nil || n == len(room) {
		return childrenOfThread(b.list)
	}
	return pidsIn(room[:n])
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
	if p.leads(o) {
		return mine
	}
	rivals := false
	for q := range b.live {
		if q == p {
			continue
		}
		if q.leads(o) || attempt != "" && q.mark == attempt {
			return others
		}
		rivals = rivals || q.ticks <= o.start && !q.guard
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

// leads tells whether an orphan is in the group or session of p. The caller holds mu.
func (p *Process) leads(o stat) bool {
	return p.pid != 0 && (o.pgrp == p.pid || o.session == p.pid)
}

// runOf returns the run in a mark: the text before the first slash.
func runOf(mark string) string {
	run, _, _ := strings.Cut(mark, "/")
	return run
}
