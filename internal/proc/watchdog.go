package proc

import (
	"bytes"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// goodbye is the message of wavex to its guard when it ends in order.
const goodbye = "goodbye\n"

// watchdogTimeout bounds how long Close waits for a guard to end by itself.
const watchdogTimeout = 5 * time.Second

// Watchdog is a process beside wavex that sweeps if wavex dies. It holds the other end of a pipe.
// When wavex ends, even by SIGKILL, the kernel closes the pipe; if there was no goodbye before,
// the guard kills every process with the mark.
type Watchdog struct {
	p *Process
}

// StartWatchdog starts self, the arguments with which wavex calls WatchdogMain (self[0] must be an
// absolute path), to watch over mark, which is a run. The guard has its own session, so that
// neither a terminal nor a kill of wavex's group reaches it, and it does not carry the mark
// itself. It keeps inheritFiles open as long as it lives, and so holds the locks on them. The error is a *StartError.
func StartWatchdog(self []string, mark string, inheritFiles ...*os.File) (*Watchdog, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, &StartError{Program: self[0], Err: err}
	}
	defer null.Close()
	p, err := Start(Spec{Argv: self, Dir: os.TempDir(), Stdin: true, Combined: null, Detached: true,
		inheritFiles: inheritFiles})
	if err != nil {
		return nil, err
	}
	return &Watchdog{p: p}, nil
}

// Close says goodbye and waits for the guard to end without a sweep.
func (g *Watchdog) Close() error {
	_, err := io.WriteString(g.p.Stdin, goodbye)
	if cerr := g.p.Stdin.Close(); err == nil {
		err = cerr
	}
	t := time.NewTimer(watchdogTimeout)
	defer t.Stop()
	select {
	case <-g.p.Done():
	case <-t.C:
		_ = g.p.Kill()
	}
	g.p.Wait()
	return err
}

// WatchdogMain runs a watchdog until stdin ends. After a goodbye it returns 0 and does nothing.
// Otherwise it sweeps mark, and returns 0 if nothing is left and 1 if something is. It ignores the signals that would
// end it earlier.
func WatchdogMain(stdin io.Reader, mark string) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	input, _ := io.ReadAll(stdin)
	if bytes.HasSuffix(input, []byte(goodbye)) {
		return 0
	}
	if _, err := sweepMark(mark, nil); err != nil {
		return 1
	}
	return 0
}
