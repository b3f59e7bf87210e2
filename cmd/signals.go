package cmd

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"wavex/internal/session"
	"wavex/scheduler"
)

// signals passes Ctrl-C and SIGTERM on to the session: the first drains, the second
// interrupts, the third abandons everything at once.
func (r *launch) signals(c *session.Console) (stop func()) {
	in := make(chan os.Signal, 4)
	out := make(chan scheduler.Signal, 2)
	gone := make(chan int, 1)
	quit := make(chan struct{})
	finished := make(chan struct{})
	signal.Notify(in, os.Interrupt, syscall.SIGTERM)
	// A reader of stdout or stderr that goes away must not end the run, as it would by
	// default, for good: the exit code comes last. Ignoring the signal instead would pass
	// to every command of ours.
	gonePipe := make(chan os.Signal, 1)
	signal.Notify(gonePipe, syscall.SIGPIPE)
	c.Signals, c.Leave = out, gone
	interrupt := r.opts.onSignal == "interrupt"
	last := 3
	if interrupt {
		last = 2
	}
	go func() {
		defer close(finished)
		for n := 1; ; n++ {
			select {
			case <-quit:
				return
			case s := <-in:
				sig := scheduler.Signal{Name: "SIGINT", Code: exitSIGINT, Interrupt: interrupt}
				if s == syscall.SIGTERM {
					sig.Name, sig.Code = "SIGTERM", exitSIGTERM
				}
				switch {
				case n >= last:
					gone <- sig.Code
					return
				case n == 1 && !interrupt:
					fmt.Fprintln(r.std.Err, "\nwavex: nothing more is started; running attempts may finish (again to interrupt them, a third time to leave at once)")
				default:
					fmt.Fprintln(r.std.Err, "\nwavex: interrupting the running attempts (again to leave at once)")
				}
				out <- sig
			}
		}
	}()
	return func() {
		signal.Stop(in)
		close(quit)
		<-finished
	}
}
