package proc

import (
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// children holds the processes that this process has started and not yet reaped. With Subreaper this
// process also adopts the orphans of its descendants, which the kernel puts into the list of
// children of its first thread. Start never forks on that thread, so that of the processes that
// this package knows only orphans are in that list.
type children struct {
	subreaper atomic.Bool // Subreaper succeeded
	listPath  string      // the file that lists the children of the first thread
	listFD    int         // the same file, open for good once reaper is set
	kills     killSample
	started   atomic.Uint64 // processes so far

	mu   sync.Mutex
	live map[*Process]bool // from before the fork until it is reaped
	// forks takes what the forking thread does; nil while no process lives. All fork on this thread, because the kernel
	// kills a process when the thread ends that forked it, and gives it to the first thread, as if it were an orphan.
	forks chan func()

	// orphansMu must be held while reading and reaping the orphans. While it is held no orphan
	// leaves the list, so the list is exact and the pids are not reused.
	orphansMu sync.Mutex
}

// allChildren holds the children of this process. It is a global because the kernel keeps one list of children for the
// whole process.
var allChildren = children{live: map[*Process]bool{}, listPath: childrenFile()}

// Subreaper makes this process adopt the orphans of its descendants, so that the leftovers of an
// attempt can be found without a look at every process of the machine. The command line calls it
// once, at the start. Without it Wait searches all of /proc for marks. It fails if the kernel is
// older than 3.4 or lists no children (CONFIG_PROC_CHILDREN), and with ErrUnsupported outside
// Linux.
func Subreaper() error {
	if allChildren.subreaper.Load() {
		return nil
	}
	fd, err := unix.Open(allChildren.listPath, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("reading the list of children: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		_ = unix.Close(fd)
		return fmt.Errorf("becoming the reaper of orphans: %w", err)
	}
	allChildren.listFD = fd
	allChildren.subreaper.Store(true)
	return nil
}

func childrenFile() string {
	pid := os.Getpid()
	return procPath(pid, fmt.Sprintf("task/%d/children", pid))
}

// start enters p and then forks, so that every leftover of p can be attributed from the first
// moment.
func (b *children) start(p *Process) error {
	p.ticks, p.limit = bootTicks(), b.started.Add(1)&^runBits
	if run := containedRun.Load(); run != nil && !p.detached {
		p.limit |= runLimit(*run)
	}
	b.mu.Lock()
	if b.forks == nil {
		b.forks = make(chan func())
		go onOtherThread(b.forks)
	}
	b.live[p] = true
	forks := b.forks
	b.mu.Unlock()
	var pid int
	var err error
	done := make(chan struct{})
	forks <- func() {
		pid, err = p.forkWithLimit()
		close(done)
	}
	<-done
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.remove(p)
		return err
	}
	p.pid = pid
	return nil
}

// runBits are the bits of a limit that tell the run. The others tell the process.
const runBits = (1<<38 - 1) << 24

// runLimit returns the bits of a run, which are neither none nor all: a process without a limit has those.
func runLimit(run string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(run)) // it never fails
	return h.Sum64()&(runBits&^(1<<61)) | 1<<24
}

// forkWithLimit forks p with its limit, which its descendants inherit. This process has the limit meanwhile; it has no
// effect. If this process has a limit already, it is one of an outer wavex, which knows its processes by that. A
// detached process has none, since it may be a wavex itself.
func (p *Process) forkWithLimit() (pid int, err error) {
	var own unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_LOCKS, &own)
	if own.Cur == unix.RLIM_INFINITY && !p.detached {
		limit := unix.Rlimit{Cur: p.limit, Max: own.Max}
		_ = unix.Setrlimit(unix.RLIMIT_LOCKS, &limit) // on an error the marks and groups tell
		defer func() { _ = unix.Setrlimit(unix.RLIMIT_LOCKS, &own) }()
	}
	return fork(p.cmd)
}

// reap collects p, which has exited.
func (b *children) reap(p *Process) Exit {
	p.mu.Lock()
	e := reap(p.pid)
	p.reaped = true
	p.mu.Unlock()
	b.mu.Lock()
	b.remove(p)
	b.mu.Unlock()
	return e
}

// remove forgets p. The caller must hold mu.
func (b *children) remove(p *Process) {
	if delete(b.live, p); len(b.live) == 0 {
		close(b.forks)
		b.forks = nil
	}
}

// orphanPIDs returns the children of the first thread: orphans, and processes that other code in this
// process started there. Usually there are none, and reading this small file is the only cost of
// a sweep. An empty result is exact; of several children some may be missing unless orphans is
// held. It must be called only after Subreaper.
func (b *children) orphanPIDs() []int {
	var room [256]byte
	n, err := unix.Pread(b.listFD, room[:], 0)
	if err != nil || n == len(room) {
		return childrenOfThread(b.listPath)
	}
	return parsePIDs(room[:n])
}

// ownership is the owner of an orphan, from the view of the process that is swept.
type ownership int

const (
	ownedBySwept ownership = iota // of the swept process, or of no live one
	ownedByOther                  // of another live process, or not started by this package
	ownerUnknown                  // of the swept process or of another one
)

// ownerOf attributes an orphan, by these rules in order:
//
//   - Its group or its session is that of a process we started: it belongs to that process.
//   - Its mark, or that of the live process with its limit, is that of another live process: it belongs there. It
//     is the swept process's mark, or a mark of the same run that no live process has: mine.
//   - It has neither. Then every process started before it may be its ancestor. If the
//     swept process is the only live one of these, it is mine. Otherwise its owner cannot
//     be known: it is left for the last of them, and the swept process is not contained.
func (b *children) ownerOf(o stat, attempt string, p *Process) ownership {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.hasInGroup(o) {
		return ownedBySwept
	}
	rivals := false
	for q := range b.live {
		if q == p {
			continue
		}
		if q.hasInGroup(o) || attempt != "" && q.mark == attempt {
			return ownedByOther
		}
		rivals = rivals || q.ticks <= o.start && !q.detached
	}
	switch {
	case attempt != "" && p.mark != "" && runOf(attempt) == runOf(p.mark):
		return ownedBySwept
	case !rivals:
		return ownedBySwept
	case p.ticks > o.start:
		return ownedByOther
	}
	return ownerUnknown
}

// markByLimit returns the mark of the live process whose limit an orphan has; "": none.
func (b *children) markByLimit(orphan int) string {
	limit := locksLimit(orphan)
	b.mu.Lock()
	defer b.mu.Unlock()
	for p := range b.live {
		if p.limit == limit {
			return p.mark
		}
	}
	return ""
}

// hasInGroup reports whether an orphan is in the group or session of p. The caller must hold mu.
func (p *Process) hasInGroup(o stat) bool {
	return p.pid != 0 && (o.pgrp == p.pid || o.session == p.pid)
}

// runOf returns the run in a mark: the text before the first slash.
func runOf(mark string) string {
	run, _, _ := strings.Cut(mark, "/")
	return run
}
