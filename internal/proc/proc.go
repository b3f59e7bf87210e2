package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"wavex/internal/safefile"
)

// The variables that hold the run and the attempt of a child. Find and Sweep look for them.
const (
	RunVar     = "WAVEX_RUN"     // RUN
	AttemptVar = "WAVEX_ATTEMPT" // RUN/TASK/N
)

// outputGrace is how long the output of an exited process may stay open in other processes, such
// as a background job that still writes. A process without survivors never waits for it.
const outputGrace = 250 * time.Millisecond

// Spec describes the program to start. Start does not change it.
type Spec struct {
	// Argv is the program and its arguments. A program without a slash is looked up in the
	// absolute directories of PATH in Env (not in those of wavex); one with a slash is relative
	// to Dir.
	Argv []string
	// Wrapper is a program, absolute, and its arguments before "--" and Argv. It must run Argv as a
	// child in its own group, end with it, and exit with its code or 128 and its signal, as bwrap
	// does. Empty: none.
	Wrapper []string
	Dir     string   // absolute
	Env     []string // complete, as built by Environ
	// Mark is the attempt, RUN/TASK/N; Start sets WAVEX_ATTEMPT to it. All live processes that
	// carry it are swept with the last process that has it. "" means none.
	Mark string
	// Stdin selects a pipe, Process.Stdin, or else the null device.
	Stdin bool
	// Stderr receives the standard error, from a goroutine of Start, or directly if it is an
	// *os.File. A writer that blocks delays Done. nil discards it.
	Stderr io.Writer
	// Combined, if not nil, receives standard output and error in their order, in the same way as
	// Stderr. Then Process.Stdout is nil and Stderr is unused.
	Combined io.Writer
	// Stdout, if not nil, receives standard output in the place of Combined.
	Stdout io.Writer
	// EndsOnTerm is true for a program that ends at once on SIGTERM and cleans up first, such as
	// git, which removes its lock files. It gets SIGTERM instead of SIGKILL from the kernel of
	// Linux when wavex dies.
	EndsOnTerm bool
	// Detached is true for a program that outlives wavex: it has its own session, and no signal from the kernel
	// when wavex dies.
	Detached bool

	inheritFiles []*os.File // files that a guard keeps open as long as it lives; not on Windows
}

// ErrNotFound is wrapped by a StartError if the program does not exist.
var ErrNotFound = exec.ErrNotFound

// StartError means that a program could not be started. Err wraps exec.ErrNotFound,
// fs.ErrNotExist (also for the directory), fs.ErrPermission or the system's own error.
type StartError struct {
	Program string // Argv[0]
	Err     error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("starting %s: %s", e.Program, ErrorText(e.Err))
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// Exit describes the end of a process.
type Exit struct {
	Code   int    // its exit code; -1 if a signal ended it
	Signal string // the signal that ended it, "SIGKILL"; "" if it exited
	// Contained is true if no process that may belong to this one is alive after the sweep. On
	// platforms that cannot know (see docs/containment.md) it covers the processes that could be
	// seen.
	Contained bool
	Swept     int // processes that it had left alive and that the sweep ended
	// Exhausted says that the kernel may have killed it for lack of memory; "" if it has not, or if this is not known.
	Exhausted string
}

// Process is a started program. Its methods are safe for concurrent use.
type Process struct {
	Stdin io.WriteCloser // nil unless Spec.Stdin
	// Stdout is nil with Spec.Combined. It is for one reader. The reader may come late or be slow
	// (then the process blocks, as with any pipe), and may read after Wait.
	Stdout io.Reader

	pid        int
	mark       string
	detached   bool
	endsOnTerm bool
	wrapped    bool // the process is a Wrapper
	cmd        *exec.Cmd

	readers []*pipeReader
	copies  sync.WaitGroup // goroutines that copy an outlet to a writer

	mu     sync.Mutex // guards reaped and the closing of killed
	reaped bool       // the pid is no longer ours
	killed chan struct{}

	done  chan struct{} // closed when the process has exited and its output is taken
	swept chan struct{} // closed when exit is set
	exit  Exit

	platform // platform-specific fields
}

// Start starts a program. An error is a *StartError; then no process is left. The caller must
// Wait for every started process.
func Start(s Spec) (*Process, error) {
	if len(s.Argv) == 0 {
		return nil, &StartError{Err: exec.ErrNotFound}
	}
	if err := safefile.CheckPath(s.Dir); err != nil {
		return nil, &StartError{Program: s.Argv[0], Err: err}
	}
	path, err := lookPath(s.Argv[0], s.Dir, s.Env)
	args := s.Argv
	if len(s.Wrapper) > 0 && err == nil {
		if _, err = unwrapLookPath(exec.LookPath(path)); err == nil { // the wrapper would report it as an exit
			path, args = s.Wrapper[0], slices.Concat(s.Wrapper, []string{"--", path}, s.Argv[1:])
		}
	}
	if err != nil {
		return nil, &StartError{Program: s.Argv[0], Err: err}
	}
	p := &Process{
		mark:     s.Mark,
		detached: s.Detached, endsOnTerm: s.EndsOnTerm, wrapped: len(s.Wrapper) > 0,
		killed: make(chan struct{}),
		done:   make(chan struct{}),
		swept:  make(chan struct{}),
		cmd:    &exec.Cmd{Path: path, Args: args, Dir: s.Dir, Env: withMark(s.Env, s.Mark), ExtraFiles: s.inheritFiles},
	}
	if p.cmd.Env == nil {
		p.cmd.Env = []string{} // nil would mean the environment of wavex
	}
	var w stdio
	if err := w.connect(p, s); err != nil {
		w.closeAll()
		return nil, &StartError{Program: s.Argv[0], Err: err}
	}
	if err := p.launch(); err != nil {
		w.closeAll()
		return nil, &StartError{Program: s.Argv[0], Err: err}
	}
	w.closeChild()
	go p.supervise(w.copies)
	return p, nil
}

// supervise follows a process after its start: exit, output, sweep, reap.
func (p *Process) supervise(copies []copyJob) {
	for _, c := range copies {
		p.copies.Go(c.run)
	}
	p.awaitExit()
	if f, ok := p.Stdin.(*os.File); ok {
		_ = f.Close() // this process reads it no more; a writer must not hang
	}
	p.drainOutput()
	close(p.done)
	p.exit = p.finish()
	close(p.swept)
}

// drainOutput takes the remaining output into memory. It gives up on output that other processes hold
// open after outputGrace, or at once if the process was killed.
func (p *Process) drainOutput() {
	deadline := time.Now().Add(outputGrace)
	select {
	case <-p.killed:
		deadline = time.Now()
	default:
	}
	for _, o := range p.readers {
		o.drain(deadline, p.killed, p.forceEnd)
	}
	p.copies.Wait()
}

// Pid returns the process id, which on unix is also the number of its process group.
func (p *Process) Pid() int { return p.pid }

// Done returns a channel that closes when the process itself has exited and all its output was
// read or is held in memory for Stdout. It does not depend on a reader of Stdout. A descendant
// that holds the output open delays it by at most 250 ms.
func (p *Process) Done() <-chan struct{} { return p.done }

// Terminate asks the group to end: SIGTERM on unix, CTRL_BREAK on Windows (or the end of the job
// if there is no console). It returns os.ErrProcessDone if the process is gone.
func (p *Process) Terminate() error { return p.signal(p.terminate) }

// Kill ends the group at once: SIGKILL on unix, the end of the job on Windows. It returns
// os.ErrProcessDone if the process is gone. The sweep that follows ends the processes that left
// the group.
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

// Stop asks the group to end, and kills it if the process itself has not ended after wait. It does
// not wait for the sweep.
func (p *Process) Stop(wait time.Duration) {
	_ = p.Terminate() // an error means that the process is gone
	select {
	case <-p.Done():
	case <-time.After(wait):
		_ = p.Kill()
	}
}

func (p *Process) signal(send func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return os.ErrProcessDone
	}
	return send()
}

// Wait waits for the end of the process and for the sweep of its leftovers, and returns its Exit.
// It may be called several times and is safe for concurrent use.
func (p *Process) Wait() Exit {
	<-p.swept
	return p.exit
}

// withMark returns env with WAVEX_ATTEMPT set to mark, if there is one.
func withMark(env []string, mark string) []string {
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

// LookPath returns the absolute path of a program by the rules of Spec.Argv; name has no slash.
func LookPath(name string, env []string) (string, error) { return lookPath(name, "", env) }

// lookPath finds a program by the rules of Spec.Argv. It skips relative entries of PATH, because
// a file that an agent wrote into its directory must not become a command.
func lookPath(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", exec.ErrNotFound
	}
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) ||
		filepath.VolumeName(name) != "" {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		} else if runtime.GOOS == "linux" {
			return name, nil // the system reports the error as well
		}
		return unwrapLookPath(exec.LookPath(name))
	}
	var denied error
	for _, d := range filepath.SplitList(Getenv(env, "PATH")) {
		if !filepath.IsAbs(d) {
			continue
		}
		path, err := unwrapLookPath(exec.LookPath(filepath.Join(d, name)))
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

// unwrapLookPath unwraps the *exec.Error, because StartError names the program already.
func unwrapLookPath(path string, err error) (string, error) {
	if e, ok := err.(*exec.Error); ok {
		return "", e.Err
	}
	return path, err
}

// Getenv returns the last value of a variable, as a child would see it; "" if there is none.
func Getenv(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if k, v, ok := strings.Cut(kv, "="); ok && sameVar(k, name) {
			return v
		}
	}
	return ""
}
