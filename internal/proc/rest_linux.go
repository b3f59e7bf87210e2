package proc

// A process that stays for another conversation: what it has left alive so far, and
// whose what it leaves from now on is.

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Remark says that what p starts from now on carries another mark in its WAVEX_ATTEMPT.
// Its own environment keeps the mark that it was started with.
func (p *Process) Remark(mark string) {
	ours.mu.Lock()
	defer ours.mu.Unlock()
	p.mark = mark
}

// Quiet tells whether p is alive and nothing else that is or may be of it: no child, no
// orphan. Where that cannot be known it is false.
func (p *Process) Quiet() bool {
	select {
	case <-p.done:
		return false
	default:
	}
	for _, pid := range childrenOf(p.pid) {
		if st, ok := readStat(pid); ok && st.ppid == p.pid && !st.dead() {
			return false
		}
	}
	if !ours.reaper.Load() {
		return ours.alone(p)
	}
	ours.orphans.Lock()
	defer ours.orphans.Unlock()
	for _, pid := range ours.strays() {
		st, attempt, state := ours.orphan(pid)
		if state == orphanAlive && ours.whose(st, attempt, p) != others {
			return false
		}
	}
	return true
}

// alone is Quiet without Subreaper: it looks through all of /proc. What p has left is an
// orphan, or descends from one, and orphans go to an ancestor of ours. One in the middle of
// an exec shows no mark; it is looked at again.
func (b *brood) alone(p *Process) bool {
	live, own := b.others(p)
	line := ancestry()
	for range execPatience {
		unsure := false
		found := scan(nil, func(st stat, attempt func() string) bool {
			if st.pid == p.pid || st.start < p.ticks || live[st.pid] {
				return false
			}
			if st.pgrp == p.pid || st.session == p.pid || len(own) > 0 && slices.Contains(own, attempt()) {
				return true
			}
			unsure = unsure || len(own) > 0 && line[st.ppid] && nascent(st.pid)
			return false
		})
		if len(found) > 0 || !unsure {
			return len(found) == 0
		}
		_, _ = unix.Poll(nil, 1)
	}
	return false
}
