//go:build unix && !linux

package proc

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// entry is one process in the table that snapshot returns.
type entry struct {
	pid, ppid, pgrp int
	start           int64 // microseconds since 1970
	zombie          bool
}

// scanUntilFound is a snapshot of the table of processes.
type scanUntilFound map[int]entry

// Subreaper returns ErrUnsupported. Only Linux has it. Here orphans go to the first process of
// the system, and are found by group and mark.
func Subreaper() error { return ErrUnsupported }

// sweep ends the processes that p left alive: its group, those with its mark if p is the last to
// have it, and their descendants. It compares start times, because p is reaped already and its
// pid may have been reused.
func (p *Process) sweep() (killed int, contained bool) {
	last := allChildren.remove(p)
	killed, err := killAll(time.Now().Add(sweepTimeout), nil, func(e entry) bool {
		if e.start < p.began {
			return false
		}
		if e.pgrp == p.pid {
			return true
		}
		if !last {
			return false
		}
		_, attempt := readMarks(e.pid)
		return attempt == p.mark
	})
	return killed, err == nil
}

func sweepMark(mark string, stop <-chan struct{}) (killed int, err error) {
	if mark == "" {
		return 0, nil
	}
	killed, err = killAll(time.Now().Add(30*time.Second), stop, func(e entry) bool { return isMarked(mark, e) })
	if err != nil {
		return killed, fmt.Errorf("sweeping %s: %w", mark, err)
	}
	return killed, nil
}

func isMarked(mark string, e entry) bool {
	run, attempt := readMarks(e.pid)
	return hasMark(mark, run, attempt)
}

// killAll kills the processes that match chooses, and their descendants, until a look finds none of
// them alive.
func killAll(deadline time.Time, stop <-chan struct{}, match func(entry) bool) (killed int, err error) {
	seen := map[entry]bool{}
	for {
		table, err := snapshot()
		if err != nil {
			return killed, err
		}
		tree := table.choose(match)
		if len(tree) == 0 {
			return killed, nil
		}
		for pid, e := range tree {
			if unix.Kill(pid, unix.SIGKILL) == nil && !seen[e] {
				seen[e] = true
				killed++
			}
		}
		wait := time.NewTimer(5 * time.Millisecond)
		select {
		case <-stop:
			wait.Stop()
			return killed, ErrStillAlive
		case <-wait.C:
		}
		if time.Now().After(deadline) {
			return killed, ErrStillAlive
		}
	}
}

// choose returns the live processes that match, and their descendants. It skips this process, its
// ancestors and the other processes of Start.
func (l scanUntilFound) choose(match func(entry) bool) map[int]entry {
	spared := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !spared[pid]; pid = l[pid].ppid {
		spared[pid] = true
	}
	children := map[int][]int{}
	for pid, e := range l {
		children[e.ppid] = append(children[e.ppid], pid)
	}
	lot := map[int]entry{}
	var add func(pid int)
	add = func(pid int) {
		if _, in := lot[pid]; in || spared[pid] || l[pid].zombie {
			return
		}
		lot[pid] = l[pid]
		for _, c := range children[pid] {
			add(c)
		}
	}
	for pid, e := range l {
		if !spared[pid] && !e.zombie && match(e) {
			add(pid)
		}
	}
	return lot
}
