package proc

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// killAll kills the processes that list returns until list returns none, the deadline passes, or
// stop closes. It returns the number of killed processes and whether none is left. It may call
// list many times. It tries a process that it may not kill only once.
func killAll(deadline time.Time, stop <-chan struct{}, list func() []ident) (killed int, clean bool) {
	seen := map[ident]bool{} // true: we may not kill it
	for {
		var fds []unix.PollFd
		denied, waiting := 0, false
		tree := list()
		// Descendants first: the kernel continues a stopped group that loses its last tie to a
		// parent.
		for _, id := range slices.Backward(tree) {
			if seen[id] {
				denied++
				continue
			}
			fd, err := signalExact(id, unix.SIGKILL)
			switch err {
			case nil:
				if _, again := seen[id]; !again {
					killed++
				}
				seen[id] = false
				waiting = true
			case unix.ESRCH:
				waiting = true // it died by itself: look again
			default:
				seen[id] = true
				denied++
			}
			if fd >= 0 {
				fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
			}
		}
		if !waiting {
			return killed, denied == 0
		}
		over := awaitDeaths(fds, deadline, stop)
		for _, f := range fds {
			_ = unix.Close(int(f.Fd))
		}
		if over {
			return killed, len(list()) == 0
		}
	}
}

// signalOnce sends a signal to one process and no other.
func signalOnce(id ident, sig unix.Signal) error {
	fd, err := signalExact(id, sig)
	if fd >= 0 {
		_ = unix.Close(fd)
	}
	return err
}

// signalExact signals one process, and no other that reuses its pid: it opens the pidfd first and then
// compares the start time. It returns the pidfd to wait on, or -1 if the kernel has none, and
// ESRCH if the process is gone.
func signalExact(id ident, sig unix.Signal) (fd int, err error) {
	fd, err = unix.PidfdOpen(id.pid, 0)
	if err != nil {
		fd = -1
		if err == unix.ESRCH {
			return fd, err
		}
	}
	if st, ok := readStat(id.pid); !ok || st.ident != id || st.dead() {
		err = unix.ESRCH
	} else if fd >= 0 {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	} else {
		err = unix.Kill(id.pid, sig) // a kernel before 5.3
	}
	if err != nil && fd >= 0 {
		_ = unix.Close(fd)
		fd = -1
	}
	return fd, err
}

// awaitDeaths waits until every process has died, for at most 20 ms, so that one that hangs in the
// kernel does not delay the search for new ones. It reports whether the deadline has passed or
// stop is closed.
func awaitDeaths(fds []unix.PollFd, deadline time.Time, stop <-chan struct{}) (over bool) {
	round := time.Now().Add(20 * time.Millisecond)
	if len(fds) == 0 {
		_, _ = unix.Poll(nil, 1)
	}
	for wait := slices.Clone(fds); len(wait) > 0 && time.Now().Before(round); {
		_, _ = unix.Poll(wait, 5)
		wait = slices.DeleteFunc(wait, func(f unix.PollFd) bool { return f.Revents != 0 })
	}
	select {
	case <-stop:
		return true
	default:
		return time.Now().After(deadline)
	}
}
