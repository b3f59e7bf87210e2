package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// The names under which a child finds its run and its attempt in its environment,
// and under which Find and Sweep look for it.
const (
	RunVar     = "WAVEX_RUN"     // RUN
	AttemptVar = "WAVEX_ATTEMPT" // RUN/TASK/N
)

// outputGrace is how long after the exit of a process its output may stay open in
// the hands of others, such as a background job that still writes. A process that
// nobody outlived never waits for it.
const outputGrace = 250 * time.Millisecond

// Spec says what to start. It is not changed by Start.
type Spec struct {
	// Argv is the program and its arguments. A program without a slash is looked
	// up in the absolute directories of PATH in Env (not of wavex's own); one with
	// a slash is relative to Dir.
	Argv []string
	Dir  string   // absolute
	Env  []string // complete, as Environ builds it
	// Mark is the attempt, RUN/TASK/N; Start sets WAVEX_ATTEMPT to it. Everything
	// alive that carries it is swept with the last process that has it. "": none.
	Mark string
	// Stdin true gives a pipe, Process.Stdin; false gives the null device.
	Stdin bool
	// Stderr receives the standard error, from a goroutine of Start's, or directly
	// when it is an *os.File. A writer that blocks delays Done. nil: discarded.
	Stderr io.Writer
	// Combined, when set, receives standard output and error in their order, in the
	// way described for Stderr; then Process.Stdout is nil and Stderr is not used.
	Combined io.Writer

	guard bool       // outlives wavex: a session of its own, no parent-death signal
	keep  []*os.File // a guard has them open as long as it lives; not on Windows
}

// ErrNotFound is in a StartError when the program is not there.
var ErrNotFound = exec.ErrNotFound

// StartError says that a program could not be started. Err wraps exec.ErrNotFound,
// fs.ErrNotExist (the directory too), fs.ErrPermission or the system's own error.
type StartError struct {
	Program string // Argv[0]
	Err     error
}

func (e *StartError) Error() string { return fmt.Sprintf("starting %s: %v", e.Program, e.Err) }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Exit is how a process ended.
type Exit struct {
	Code   int    // its exit code; -1 when a signal ended it
	Signal string // the signal that ended it, "SIGKILL"; "" when it exited
	// Contained is true when nothing that may be of this process is alive after the
	// sweep. Where the platform cannot know (see docs/containment.md) it tells what
	// could be looked at.
	Contained bool
	Swept     int           // processes that it had left alive and the sweep ended
	CPU       time.Duration // user and system time of it and of the children it waited for
	// MaxRSS is the largest resident set among them in bytes; 0 where unknown. On Linux
	// it is never less than wavex's own at the fork.
	MaxRSS int64
}

// Process is a started program. Its methods may be called from any goroutine.
type Process struct {
	Stdin io.WriteCloser // nil unless Spec.Stdin
	// Stdout is nil with Spec.Combined. It is for one reader, who may come late or be slow
	// (the process is held up then, as by any pipe), also after Wait.
	Stdout io.Reader

	pid   int
	mark  string
	guard bool
	cmd   *exec.Cmd

	outlets []*outlet
	copies  sync.WaitGroup // goroutines that copy an outlet to a writer

	mu     sync.Mutex // guards reaped and the closing of killed
	reaped bool       // the pid is no longer ours
	killed chan struct{}

	done  chan struct{} // exited and output taken
	swept chan struct{} // exit is set
	exit  Exit

	system // what the platform needs
}

// Start starts a program. An error is a *StartError, and nothing is left then.
// Every started process must be waited for with Wait.
func Start(s Spec) (*Process, error) {
	if len(s.Argv) == 0 {
		return nil, &StartError{Err: exec.ErrNotFound}
	}
	path, err := lookPath(s.Argv[0], s.Dir, s.Env)
	if err != nil {
		return nil, &StartError{Program: s.Argv[0], Err: err}
	}
	p := &Process{
		mark:   s.Mark,
		guard:  s.guard,
		killed: make(chan struct{}),
		done:   make(chan struct{}),
		swept:  make(chan struct{}),
		cmd:    &exec.Cmd{Path: path, Args: s.Argv, Dir: s.Dir, Env: marked(s.Env, s.Mark), ExtraFiles: s.keep},
	}
	if p.cmd.Env == nil {
		p.cmd.Env = []string{} // nil would mean wavex's own
	}
	var w wiring
	if err := w.connect(p, s); err != nil {
		w.abandon()
		return nil, &StartError{Program: s.Argv[0], Err: err}
	}
	if err := p.begin(); err != nil {
		w.abandon()
		return nil, &StartError{Program: s.Argv[0], Err: err}
	}
	w.closeChild()
	go p.live(w.copies)
	return p, nil
}

// live is the life of a process after its start: exit, output, sweep, reap.
func (p *Process) live(copies []copying) {
	if p.brief(copies) {
		p.awaitExit()
	} else {
		for _, c := range copies {
			p.copies.Go(c.run)
		}
		p.awaitExit()
		if f, ok := p.Stdin.(*os.File); ok {
			_ = f.Close() // nobody of ours reads it any more; a writer must not hang
		}
		p.settle()
	}
	close(p.done)
	p.exit = p.finish()
	close(p.swept)
}

// settle takes what is left of the output into memory. It gives up on output that
// others hold open after outputGrace, or at once when the process was killed.
func (p *Process) settle() {
	deadline := time.Now().Add(outputGrace)
	select {
	case <-p.killed:
		deadline = time.Now()
	default:
	}
	for _, o := range p.outlets {
		o.settle(deadline, p.killed, p.giveUp)
	}
	p.copies.Wait()
}

// Pid is the process id, and on unix the number of its process group.
func (p *Process) Pid() int { return p.pid }

// Done closes when the process itself has exited and all it wrote was read or is
// held in memory for Stdout. It does not depend on a reader of Stdout; a
// descendant that holds the output open delays it by 250 ms at most.
func (p *Process) Done() <-chan struct{} { return p.done }

// Terminate asks the group to end: SIGTERM on unix, CTRL_BREAK on Windows (and the
// end of the job where there is no console). It returns os.ErrProcessDone when the
// process is gone.
func (p *Process) Terminate() error { return p.signal(p.terminate) }

// Kill ends the group at once: SIGKILL on unix, the end of the job on Windows. It
// returns os.ErrProcessDone when the process is gone. What left the group is ended
// by the sweep that follows.
func (p *Process) Kill() error {
	return p.signal(func() error {
		select {
		case <-p.killed:
		default:
			close(p.killed)
		}
		return p.kill()
	})
}

func (p *Process) signal(send func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return os.ErrProcessDone
	}
	return send()
}

// Wait waits for the end of the process and for the sweep of what it left, and
// tells how it went. It may be called often and from several goroutines.
func (p *Process) Wait() Exit {
	<-p.swept
	return p.exit
}

// marked returns env with WAVEX_ATTEMPT set to mark, if there is one.
func marked(env []string, mark string) []string {
	if mark == "" {
		return env
	}
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, AttemptVar+"=") {
			out = append(out, kv)
		}
	}
	return append(out, AttemptVar+"="+mark)
}

// lookPath finds a program the way Spec.Argv says. Relative entries of PATH are
// passed over: what an agent wrote into its directory must not become a command.
func lookPath(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", exec.ErrNotFound
	}
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) || filepath.VolumeName(name) != "" {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		} else if runtime.GOOS == "linux" {
			return name, nil // the system's own answer is as good
		}
		return found(exec.LookPath(name))
	}
	var denied error
	for _, d := range filepath.SplitList(lookup(env, "PATH")) {
		if !filepath.IsAbs(d) {
			continue
		}
		path, err := found(exec.LookPath(filepath.Join(d, name)))
		if err == nil {
			return path, nil
		}
		if denied == nil && os.IsPermission(err) {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", exec.ErrNotFound
}

// found strips the *exec.Error, whose program StartError names already.
func found(path string, err error) (string, error) {
	if e, ok := err.(*exec.Error); ok {
		return "", e.Err
	}
	return path, err
}

// lookup returns the last value of a variable, as a child would see it.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(env[i], "="); ok && sameVar(k, name) {
			return v
		}
	}
	return ""
}
