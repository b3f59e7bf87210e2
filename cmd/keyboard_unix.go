//go:build unix

package cmd

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"wavex/internal/ui"
)

// This file reads single keys from a terminal. Only echo and the collection of lines are switched off: Ctrl-C, Ctrl-Z
// and Ctrl-\ stay signals, and newlines of others are still translated. The terminal is touched only while wavex is in
// its foreground. A shell restores the modes after a job that a signal has killed, but not after one that exits.

// foregroundPoll is how often a wavex in the background looks whether it is in the foreground again.
const foregroundPoll = 300 * time.Millisecond

// keyboard hands the keys of a terminal to a view. A nil keyboard does nothing.
type keyboard struct {
	fd   int
	view *ui.LiveView
	quit *os.File // closing it ends the reader
	wake *os.File // the other end, for the reader to poll
	done sync.WaitGroup

	mu    sync.Mutex
	modes *unix.Termios // as they were; nil while they are in place
	away  bool          // wavex is about to stop: the terminal is not taken over again
	over  bool          // the terminal is not touched any more

	closing sync.Once
}

// openKeyboard begins to read keys from in for view. It returns nil if in is no terminal.
func openKeyboard(in any, view *ui.LiveView, c ui.Controls) *keyboard {
	if !isTerminal(in) {
		return nil
	}
	wake, quit, err := os.Pipe()
	if err != nil {
		return nil
	}
	k := &keyboard{fd: int(in.(*os.File).Fd()), view: view, quit: quit, wake: wake}
	c.Crashed = k.end
	view.Control(c)
	stops := make(chan os.Signal, 2)
	watched := []os.Signal{syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGTSTP) { // a shell without job control
		watched = append(watched, syscall.SIGTSTP)
	}
	signal.Notify(stops, watched...)
	left := make(chan struct{})
	k.done.Go(func() {
		defer close(left)
		defer k.end()
		k.read()
	})
	k.done.Go(func() {
		defer signal.Stop(stops)
		for {
			select {
			case <-left:
				return
			case s := <-stops:
				k.giveWay(s)
			}
		}
	})
	return k
}

// giveWay restores the terminal, lets a signal have its default effect, and goes on if that was a stop.
func (k *keyboard) giveWay(s os.Signal) {
	k.view.Pause()
	k.setAway(true)
	if s == syscall.SIGQUIT {
		signal.Reset(s)
		_ = unix.Kill(os.Getpid(), unix.SIGQUIT) // Go prints the goroutines and exits
		return
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	<-continued // Kill may return a moment before the process stops
	k.setAway(false)
	_ = k.takeOver()
	k.view.Resume()
}

// read reads keys until close.
func (k *keyboard) read() {
	buf := make([]byte, 64)
	for {
		fds := []unix.PollFd{{Fd: int32(k.wake.Fd()), Events: unix.POLLIN}}
		timeout := int(foregroundPoll / time.Millisecond)
		if k.takeOver() {
			fds, timeout = append(fds, unix.PollFd{Fd: int32(k.fd), Events: unix.POLLIN}), -1
		}
		_, err := unix.Poll(fds, timeout)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || fds[0].Revents != 0:
			return
		case len(fds) < 2 || fds[1].Revents == 0 || !k.foreground():
			continue
		}
		n, err := unix.Read(k.fd, buf)
		if n <= 0 && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return // the terminal is gone
		}
		for _, key := range ui.Keys(buf[:max(n, 0)]) {
			k.view.Press(key)
		}
	}
}

// foreground reports whether wavex may touch the terminal: a process in its background would be stopped.
func (k *keyboard) foreground() bool {
	group, err := unix.IoctlGetInt(k.fd, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// takeOver switches echo and lines off. It reports false in the background, and after close.
func (k *keyboard) takeOver() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.over || k.away || !k.foreground():
		return false
	case k.modes != nil:
		return true
	}
	was, err := unix.IoctlGetTermios(k.fd, getModes)
	if err != nil {
		return false
	}
	now := *was
	now.Lflag &^= unix.ECHO | unix.ICANON
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if unix.IoctlSetTermios(k.fd, setModes, &now) != nil {
		return false
	}
	k.modes = was
	return true
}

// setAway gives the terminal back as it was, or allows to take it over again.
func (k *keyboard) setAway(away bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.giveBack()
	k.away = away
}

// giveBack restores the modes. The caller must hold the lock.
func (k *keyboard) giveBack() {
	if k.modes != nil && k.foreground() {
		_ = unix.IoctlSetTermios(k.fd, setModes, k.modes)
	}
	k.modes = nil
}

// end restores the terminal for good. It does not wait for the reader, so that a goroutine that panics may call it.
func (k *keyboard) end() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.giveBack()
	k.over = true
}

// close restores the terminal and ends the reader.
func (k *keyboard) close() {
	if k == nil {
		return
	}
	k.end()
	k.closing.Do(func() {
		_ = k.quit.Close()
		k.done.Wait()
		_ = k.wake.Close()
	})
}
