package proc

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// goodbye is what wavex says to its guard when it ends in order.
const goodbye = "goodbye\n"

// guardPatience is how long Close waits for a guard to end by itself.
const guardPatience = 5 * time.Second

// Guard is a process beside wavex that sweeps when wavex dies. It holds the other end
// of a pipe: when wavex ends in whatever way, even by SIGKILL, the kernel closes the
// pipe; if no goodbye came before, the guard kills everything that carries the mark.
type Guard struct {
	p *Process
}

// StartGuard starts self, the arguments with which wavex calls GuardMain (self[0] an
// absolute path), to watch over mark, which is a run. The guard has a session of its
// own, so that neither a terminal nor a kill of wavex's group reaches it, and it does
// not carry the mark itself. The files in keep it has open as long as it lives, and with
// them what is locked through them; on Windows there must be none. The error is a
// *StartError.
func StartGuard(self []string, mark string, keep ...*os.File) (*Guard, error) {
	var env []string
	if runtime.GOOS == "windows" {
		env = EnvironPass(nil, nil, map[string]string{"SystemRoot": os.Getenv("SystemRoot")})
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, &StartError{Program: self[0], Err: err}
	}
	defer null.Close()
	p, err := Start(Spec{Argv: self, Dir: os.TempDir(), Env: env, Stdin: true, Combined: null, guard: true, keep: keep})
	if err != nil {
		return nil, err
	}
	return &Guard{p: p}, nil
}

// Done closes when the guard has ended, which before Close it should not.
func (g *Guard) Done() <-chan struct{} { return g.p.Done() }

// Close says goodbye and waits for the guard's end: it sweeps nothing then.
func (g *Guard) Close() error {
	_, err := io.WriteString(g.p.Stdin, goodbye)
	if cerr := g.p.Stdin.Close(); err == nil {
		err = cerr
	}
	t := time.NewTimer(guardPatience)
	defer t.Stop()
	select {
	case <-g.p.Done():
	case <-t.C:
		_ = g.p.Kill()
	}
	g.p.Wait()
	return err
}

// GuardMain is the whole life of a guard. It returns when stdin ends: after a goodbye
// with 0 and without doing anything, else after the sweep of mark, with 0 when nothing
// is left and 1 when something is. What is in the Enclosure of the wavex that started
// it is ended too. It ignores the signals that would end it before.
func GuardMain(stdin io.Reader, mark string) int {
	wavex := os.Getppid()
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	said, _ := io.ReadAll(stdin)
	if bytes.HasSuffix(said, []byte(goodbye)) {
		return 0
	}
	_, err := sweepMark(mark, nil)
	// Nobody is left to stop a guard: it does its work after the end of the wavex it guards.
	if eerr := unenclose(context.Background(), mark, wavex); err != nil || eerr != nil {
		return 1
	}
	return 0
}
