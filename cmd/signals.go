package cmd

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"wavex/internal/event"
	"wavex/internal/run"
	"wavex/scheduler"
)

// This file maps signals to requests to stop. The session carries them out.

// workersLate is the time in which workers may tell the results of attempts that a signal interrupts, if wavex must be
// over 7 s after it. Later results stay with the engine and the git remote, where a resume collects them. The second
// Ctrl-C at a terminal waits for a minute instead.
const workersLate = 4500 * time.Millisecond

// forwardSignals passes signals to the session until stop is called.
func (r *invocation) forwardSignals(c *run.Console) (stop func()) {
	in := notifyStopSignals()
	out := make(chan scheduler.Signal, 2) // drain and interrupt, each once
	gone := make(chan int, 1)
	quit := make(chan struct{})
	finished := make(chan struct{})
	c.Signals, c.Abort = out, gone
	var late <-chan time.Time // when workers have had their time to tell results
	lateCode := 0
	w := stopRequests{drains: func(s os.Signal) bool { return drainsFirst(s, r.opts.onSignal, hasTerminal(r.std)) }}
	go func() {
		defer close(finished)
		for {
			select {
			case <-quit:
				return
			case s := <-in:
				if s == drainSignal {
					sig, words := w.drain()
					if sig != nil {
						out <- *sig
					}
					fmt.Fprintln(&r.notices, "wavex: "+words)
					continue
				}
				sig, leave, words := w.handle(s)
				switch {
				case leave != 0:
					gone <- leave
					return
				case sig != nil: // sent before it is printed: the reader of the output may be gone
					out <- *sig
					switch {
					case r.config.Workers.Engine == "" || !sig.Interrupt:
					case s == os.Interrupt && hasTerminal(r.std):
						words += "; workers have a minute to tell their results"
					default:
						late, lateCode = time.After(workersLate), int(sig.Code)
					}
				}
				fmt.Fprintln(&r.notices, "\nwavex: "+words)
			case <-late:
				gone <- lateCode
				return
			}
		}
	}()
	return func() {
		signal.Stop(in)
		close(quit)
		<-finished
	}
}

// drainsFirst reports whether a first signal lets the running attempts finish. By default only Ctrl-C at
// a terminal does: containers and CI runners kill a process some seconds after their signal.
func drainsFirst(s os.Signal, onSignal string, terminal bool) bool {
	switch onSignal {
	case "drain":
		return s != syscall.SIGHUP
	case "interrupt":
		return false
	}
	return s == os.Interrupt && terminal
}

// stopRequests counts the signals so far. The first drains or interrupts. After a first one that drains,
// the second interrupts and the third abandons everything at once; after one that interrupts, the
// second does. The end of the terminal (SIGHUP) interrupts and never does more, however often it
// arrives: a shell that exits repeats the kernel's signal, and the end of a login adds SIGTERM.
type stopRequests struct {
	drains       func(os.Signal) bool // reports whether a first signal drains
	count        int                  // signals without SIGHUP
	last         int                  // the count at which wavex leaves at once; 0: not known yet
	interrupting bool
}

// handle returns the signal for the session (nil if the session has it already), the exit code if
// wavex must leave at once, else 0, and a text for the user.
func (w *stopRequests) handle(s os.Signal) (sig *scheduler.Signal, leave int, words string) {
	is, knew, drain := initialSignal(s), w.interrupting, w.drains(s)
	if s != syscall.SIGHUP {
		w.count++
		if w.last == 0 {
			w.last = 2
			if drain {
				w.last = 3
			}
		}
		if w.count >= w.last {
			return nil, int(is.Code), ""
		}
	}
	w.interrupting = knew || !drain || w.count > 1
	if is.Interrupt = w.interrupting; !knew {
		sig = &is
	}
	switch {
	case !w.interrupting:
		words = "nothing more is started; running attempts may finish (again to interrupt them, a third time to leave at once)"
	case s == syscall.SIGHUP:
		words = "the terminal is gone; interrupting the running attempts"
	case w.count == w.last-1:
		words = "interrupting the running attempts (again to leave at once)"
	default:
		words = "interrupting the running attempts"
	}
	return sig, 0, words
}

// drain returns the same for drainSignal, which has no effect the second time and never leaves at once.
func (w *stopRequests) drain() (sig *scheduler.Signal, words string) {
	words = "nothing more is started; running attempts may finish (Ctrl-C to interrupt them)"
	switch {
	case w.interrupting:
		return nil, "the running attempts are interrupted already (Ctrl-C to leave at once)"
	case w.count > 0:
		return nil, words
	}
	w.count, w.last = 1, 3
	is := initialSignal(os.Interrupt)
	return &is, words
}

// notifyStopSignals listens to the signals that ask wavex to stop. A SIGHUP that was ignored when wavex
// started, as under nohup, stays ignored, also in the processes that wavex starts.
func notifyStopSignals() chan os.Signal {
	in := make(chan os.Signal, 4)
	signal.Notify(in, os.Interrupt, syscall.SIGTERM)
	if drainSignal != nil {
		signal.Notify(in, drainSignal)
	}
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(in, syscall.SIGHUP)
	}
	// By default, SIGPIPE on stdout or stderr would end the process. It must not end the run: the
	// exit code comes last. If wavex ignored the signal instead, every child process would inherit
	// that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return in
}

// initialSignal returns the request to stop that a first signal makes.
func initialSignal(s os.Signal) scheduler.Signal {
	switch s {
	case syscall.SIGTERM:
		return scheduler.Signal{Name: "SIGTERM", Code: exitSIGTERM}
	case syscall.SIGHUP:
		return scheduler.Signal{Name: "SIGHUP", Code: exitSIGHUP}
	}
	return scheduler.Signal{Name: "SIGINT", Code: event.ExitSIGINT}
}
