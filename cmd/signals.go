package cmd

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"wavex/internal/session"
	"wavex/scheduler"
)

// This file turns signals into wishes to stop. What a wish does is the session's.

// signals passes signals on to the session until stop is called.
func (r *launch) signals(c *session.Console) (stop func()) {
	in := notified()
	out := make(chan scheduler.Signal, 2) // to drain and to interrupt, each once
	gone := make(chan int, 1)
	quit := make(chan struct{})
	finished := make(chan struct{})
	c.Signals, c.Leave = out, gone
	w := wishes{atOnce: r.opts.onSignal == "interrupt"}
	go func() {
		defer close(finished)
		for {
			select {
			case <-quit:
				return
			case s := <-in:
				sig, leave, words := w.hear(s)
				switch {
				case leave != 0:
					gone <- leave
					return
				case sig != nil: // before it is told: whoever should read that may be gone
					out <- *sig
				}
				fmt.Fprintln(r.std.Err, "\nwavex: "+words)
			}
		}
	}()
	return func() {
		signal.Stop(in)
		close(quit)
		<-finished
	}
}

// wishes are the signals so far. Of Ctrl-C and SIGTERM the first drains, the second
// interrupts, the third abandons everything at once. The end of the terminal (SIGHUP)
// interrupts, and no more, however often it is told: a shell that goes repeats what the
// kernel has said already, and the end of a login adds SIGTERM.
type wishes struct {
	atOnce       bool // the first one interrupts already
	asked        int  // without SIGHUP
	interrupting bool
}

// hear gives what is to be told the session (nil: it knows), the exit code of leaving at
// once, else 0, and words for the user.
func (w *wishes) hear(s os.Signal) (sig *scheduler.Signal, leave int, words string) {
	is, last, knew := wish(s), 3, w.interrupting
	if w.atOnce {
		last = 2
	}
	if s != syscall.SIGHUP {
		w.asked++
	}
	if w.asked >= last && s != syscall.SIGHUP {
		return nil, is.Code, ""
	}
	w.interrupting = knew || s == syscall.SIGHUP || w.atOnce || w.asked > 1
	if is.Interrupt = w.interrupting; !knew {
		sig = &is
	}
	switch {
	case !w.interrupting:
		words = "nothing more is started; running attempts may finish (again to interrupt them, a third time to leave at once)"
	case s == syscall.SIGHUP:
		words = "the terminal is gone; interrupting the running attempts"
	case w.asked == last-1:
		words = "interrupting the running attempts (again to leave at once)"
	default:
		words = "interrupting the running attempts"
	}
	return sig, 0, words
}

// notified are the signals that ask wavex to stop. Where SIGHUP was ignored when wavex
// started, as under nohup, it stays so, for what wavex starts as well.
func notified() chan os.Signal {
	in := make(chan os.Signal, 4)
	signal.Notify(in, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(in, syscall.SIGHUP)
	}
	// A reader of stdout or stderr that goes away must not end the run, as it would by
	// default, for good: the exit code comes last. Ignoring the signal instead would pass
	// to every command of ours.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return in
}

// wish is what a signal asks for at first.
func wish(s os.Signal) scheduler.Signal {
	switch s {
	case syscall.SIGTERM:
		return scheduler.Signal{Name: "SIGTERM", Code: exitSIGTERM}
	case syscall.SIGHUP:
		return scheduler.Signal{Name: "SIGHUP", Code: exitSIGHUP}
	}
	return scheduler.Signal{Name: "SIGINT", Code: exitSIGINT}
}
