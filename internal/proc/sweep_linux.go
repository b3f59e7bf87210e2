package proc

import (
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sweep ends the processes that p, which has exited and is not reaped, left alive.
func (b *children) sweep(p *Process) (killed int, contained bool) {
	deadline := time.Now().Add(sweepTimeout)
	if !b.subreaper.Load() {
		return b.sweepAll(p, deadline)
	}
	if len(b.orphanPIDs()) == 0 {
		return 0, true
	}
	unsure := false
	killed, clean := killAll(deadline, nil, func() []ident {
		var roots []stat
		roots, unsure = b.claimOrphans(p)
		return stopTree(roots)
	})
	return killed, clean && !unsure
}

// claimOrphans looks through the orphans: it reaps the dead, and returns the live ones of p, and whether
// there are any that may be of p. Dead orphans leave their children to this process, and a
// process in the middle of an exec or of its exit shows no mark. After each of these it looks
// again, so that it does not miss a chain in which each process forks the next and dies, and does
// not take a process that it has just killed for one of unknown origin.
func (b *children) claimOrphans(p *Process) (roots []stat, unsureLeft bool) {
	b.orphansMu.Lock()
	defer b.orphansMu.Unlock()
	for range maxExecWaits {
		var moved, between bool
		roots, unsureLeft = nil, false
		for _, pid := range b.orphanPIDs() {
			st, attempt, state := b.readOrphan(pid)
			switch {
			case state == orphanGone:
				moved = true
				continue
			case state == orphanForeign:
				continue
			case attempt == "" && inExit(pid):
				between, unsureLeft = true, true
				continue
			case attempt == "" && inExec(pid):
				between = true
			}
			switch b.ownerOf(st, attempt, p) {
			case ownedBySwept:
				roots = append(roots, st)
			case ownerUnknown:
				unsureLeft = true
			}
		}
		if len(roots) > 0 || !moved && !between {
			break
		}
		if between {
			_, _ = unix.Poll(nil, 1)
		}
	}
	return roots, unsureLeft
}

// The states of an orphan.
type orphanState int

const (
	orphanAlive   orphanState = iota
	orphanGone                // dead and reaped, or read too late
	orphanForeign             // not an orphan: a child that other code in this process waits for
)

// readOrphan reads an orphan, and reaps it if it is dead. A child in our own process group is not
// an orphan: every process of Start has its own group, so other code in this process started this
// one and waits for it. The caller must hold orphans.
func (b *children) readOrphan(pid int) (st stat, attempt string, state orphanState) {
	st, ok := readStat(pid)
	switch {
	case !ok:
		return stat{}, "", orphanGone
	case st.pgrp == unix.Getpgrp() || st.ppid != os.Getpid():
		return stat{}, "", orphanForeign
	case st.dead():
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		return stat{}, "", orphanGone
	}
	if _, attempt, _ = readMarks(st); attempt == "" {
		attempt = b.markByLimit(pid)
	}
	return st, attempt, orphanAlive
}

// stopTree stops processes and all their descendants, and returns all of them. A stopped process
// cannot fork, so no descendant escapes and becomes an orphan while its ancestors are killed. An
// orphan that hides its mark could no longer be attributed.
func stopTree(roots []stat) []ident {
	var tree []ident
	known := map[ident]bool{}
	add := func(st stat) {
		if !known[st.ident] {
			known[st.ident] = true
			tree = append(tree, st.ident)
		}
	}
	for _, st := range roots {
		add(st)
	}
	for range 100 { // rounds; a stop takes effect within microseconds
		before, moving := len(tree), false
		for i := 0; i < len(tree); i++ { // grows
			st, ok := readStat(tree[i].pid)
			if !ok || st.ident != tree[i] {
				continue
			}
			if !st.cannotFork() {
				moving = true
				_ = signalOnce(tree[i], unix.SIGSTOP)
			}
			for _, pid := range childrenOf(tree[i].pid) {
				if c, ok := readStat(pid); ok && c.ppid == tree[i].pid {
					add(c)
				}
			}
		}
		if len(tree) == before && !moving {
			break
		}
	}
	return tree
}

// sweepAll is the sweep without Subreaper: it ends every process in /proc that is in p's group or
// session or carries its mark, and their descendants.
func (b *children) sweepAll(p *Process, deadline time.Time) (killed int, contained bool) {
	return killAll(deadline, nil, func() []ident {
		live, last, mark := b.otherLive(p)
		return stopTree(scanUntilFound(func(st stat) (found, read bool) {
			if st.start < p.ticks || live[st.pid] {
				return false, true
			}
			if inGroup := st.pgrp == p.pid || st.session == p.pid; inGroup || !last {
				return inGroup, true
			}
			_, attempt, read := readMarks(st)
			return attempt == mark, read
		}))
	})
}

// otherLive returns the pids of the live processes except p, and whether p is the last one with its
// mark.
func (b *children) otherLive(p *Process) (live map[int]bool, last bool, mark string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	live, last, mark = map[int]bool{}, p.mark != "", p.mark
	for q := range b.live {
		if q != p {
			live[q.pid] = true
			last = last && q.mark != mark
		}
	}
	return live, last, mark
}

// recentPIDs is the number of latest pids that a scan tries before it lists all.
const recentPIDs = 16

// settled is the age from which a process keeps its marks, in ticks. A younger one may be forked and not yet have
// begun its exec.
const settled = 100

// search looks for processes by several scans.
type search struct {
	look   func(stat) (found, read bool) // read is false if the process has no environment, or none yet
	known  map[int]bool                  // the pids that the next scan does not read
	latest int                           // lastPid at the last scan
}

// forkOnce makes the one fork that os makes without syscall.ForkLock: its first look at a process tries CLONE_PIDFD
// (checkPidfd, Go 1.26). That child has the limit of a process that is being started meanwhile.
var forkOnce = sync.OnceFunc(func() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Release() // it never fails on Linux
	}
})

// scan stops and returns the live processes that are found, except this process and its ancestors: wavex may run
// inside an attempt and must not kill these even if they carry the mark. unsure reports whether there are others whose
// marks cannot be read yet. It stops each match at once, because in a chain of processes that live for a millisecond
// each, a match would be gone after thousands of others were read. For the same reason it reads the newest first, and
// the very newest before it makes the list. Only the first scan, and one after which pids may be used again, reads all.
//
// This process forks nothing meanwhile. Until a new child has begun its exec, the thread that forked it waits in the
// kernel, and Go's runtime waits for that thread: if scan stopped such a child, this process would hang.
func (s *search) scan() (out []stat, unsure bool) {
	forkOnce()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	last := lastPid()
	if s.known == nil || last == 0 || last < s.latest {
		s.known, s.latest = ancestry(), 0
	}
	now := bootTicks()
	taken := map[int]bool{} // read in this scan
	try := func(pid int, listed bool) {
		if s.known[pid] || taken[pid] {
			return
		}
		st, ok := readStat(pid)
		if !ok || st.dead() {
			return
		}
		taken[pid] = true
		switch found, read := s.look(st); {
		case found && (listed || isProcess(pid)):
			_ = signalOnce(st.ident, unix.SIGSTOP)
			out = append(out, st)
		case !read:
			unsure = unsure || inExec(pid)
		case !found:
			s.known[pid] = st.start+settled < now
		}
	}
	for pid := last; pid > max(last-recentPIDs, s.latest); pid-- {
		try(pid, false)
	}
	s.latest = last
	pids, _ := allPids() // without /proc there are none
	for _, pid := range slices.Backward(pids) {
		try(pid, true)
	}
	slices.Reverse(out) // ancestors first, as freeze requires
	return out, unsure
}

// ancestry returns this process and its ancestors.
func ancestry() map[int]bool {
	line := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !line[pid]; {
		line[pid] = true
		st, ok := readStat(pid)
		if !ok {
			break
		}
		pid = st.ppid
	}
	return line
}

// maxExecWaits bounds the wait for processes in the middle of an exec, in looks a millisecond
// apart. Most of them are not ours, and one that hangs there has done nothing.
const maxExecWaits = 500

// minScans is the number of looks that must find nothing. A single look may miss a chain in
// which each process forks the next and dies: it moves on between the list and the reading.
const minScans = 16

// scanUntilFound scans until it finds something. It returns nothing only after several scans, and after
// more if a process is in the middle of an exec.
func scanUntilFound(look func(stat) (found, read bool)) []stat {
	s := search{look: look}
	found, unsure := s.scan()
	for n := 0; len(found) == 0 && (n < minScans || unsure && n < maxExecWaits); n++ {
		if n > 0 {
			_, _ = unix.Poll(nil, 1)
		}
		found, unsure = s.scan()
	}
	return found
}

func sweepMark(mark string, stop <-chan struct{}) (killed int, err error) {
	if mark == "" {
		return 0, nil
	}
	killed, clean := killAll(time.Now().Add(30*time.Second), stop, func() []ident {
		return stopTree(scanUntilFound(func(st stat) (found, read bool) {
			run, attempt, read := readMarks(st)
			return hasMark(mark, run, attempt) || locksLimit(st.pid)&runBits == runLimit(mark), read
		}))
	})
	allChildren.reapOrphans()
	if !clean {
		return killed, fmt.Errorf("sweeping %s: %w", mark, ErrStillAlive)
	}
	return killed, nil
}

// reapOrphans reaps dead orphans.
func (b *children) reapOrphans() {
	if !b.subreaper.Load() || len(b.orphanPIDs()) == 0 {
		return
	}
	b.orphansMu.Lock()
	defer b.orphansMu.Unlock()
	for _, pid := range b.orphanPIDs() {
		b.readOrphan(pid)
	}
}
