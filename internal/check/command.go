package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/textfmt"
)

// ErrCheckTimeout is the cause if a check command exceeds its timeout.
var ErrCheckTimeout = errors.New("check timed out")

// killDelay is the time of a check command between the request to end and the kill.
const killDelay = 2 * time.Second

// MaxOutput bounds an output that is kept for comparison, in bytes.
const MaxOutput = 1 << 20

// checkCommand makes a check by a command: it passes if the command exits 0. After the timeout, or
// when ctx is done, the whole tree of the command is ended.
func checkCommand(ctx context.Context, at Place, c plan.Check, e *Evidence) {
	at.Env = append(slices.Clip(at.Env), c.Environ()...)
	limit := c.Timeout
	if limit <= 0 {
		limit = plan.DefaultTimeLimit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrCheckTimeout)
	defer cancel()
	sum, whole := sha256.New(), &textfmt.Excerpt{Max: MaxOutput}
	exit, out, err := at.Command(ctx, c.Run, io.MultiWriter(sum, whole), nil)
	e.Output, e.Digest, e.Whole = out.String(), hex.EncodeToString(sum.Sum(nil)), whole.String()
	e.conclude(exit, err, ctx.Err() != nil, limit)
}

// conclude sets the verdict on a command that has ended. err says why it was stopped, if stopped, or could not be
// started.
func (e *Evidence) conclude(exit proc.Exit, err error, stopped bool, limit time.Duration) {
	e.ExitCode = exit.Code
	if err != nil {
		e.ExitCode = -1
	}
	switch {
	case errors.Is(err, ErrCheckTimeout):
		e.Reason = fmt.Sprintf("no end after %s", limit)
	case stopped && err != nil:
		e.Reason = textfmt.OneLine("stopped: "+err.Error(), maxReason)
	case err != nil:
		e.Reason = textfmt.OneLine(err.Error(), maxReason)
	case exit.Signal != "":
		e.Reason = "ended by " + exit.Signal
	case exit.Code != 0:
		e.Reason = fmt.Sprintf("exit code %d", exit.Code)
	default:
		e.Passed = true
	}
	if !e.Passed && exit.Exhausted != "" {
		e.Reason = exit.Exhausted + ": " + e.Reason
	}
}

// Command runs a shell command line, and waits for its end and for the sweep of its leftovers. If ctx is done first,
// the command is asked to end and then killed, and the error is context.Cause(ctx). Any other error means that it could
// not be started. The excerpt keeps head and tail of stdout and stderr; also, if not nil, receives all of both, and
// stdout, if not nil, a copy of stdout alone: the order of the two is then lost in the others.
func (at Place) Command(ctx context.Context, command string, also io.Writer,
	stdout *proc.HeadBuffer) (proc.Exit, *textfmt.Excerpt, error) {
	out := &textfmt.Excerpt{}
	spec := proc.Spec{Dir: at.Dir, Env: at.Env, Wrapper: at.Wrapper, Mark: attemptMark(at.Env),
		Combined: teeWriter{out, also}}
	if stdout != nil {
		both := &lockedWriter{to: spec.Combined}
		spec.Combined, spec.Stdout = both, io.MultiWriter(stdout, both)
	}
	p, err := start(spec, command)
	if err != nil {
		return proc.Exit{Code: -1, Contained: true}, out, err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		select {
		case <-p.Done(): // a command that has ended is not interrupted
		default:
			p.Stop(killDelay)
			err = context.Cause(ctx)
		}
	}
	return p.Wait(), out, err
}

// start starts a command line. It skips the shell if that would only start one program, which
// saves half of the cost. A command that cannot be started directly (no such program, a script
// without its first line) is left to the shell, which runs it or reports the error.
func start(s proc.Spec, command string) (*proc.Process, error) {
	if words, ok := proc.SplitArgs(command); ok {
		direct := s
		direct.Argv = words
		if !slices.ContainsFunc(s.Env, func(kv string) bool { return strings.HasPrefix(kv, "PWD=") }) {
			direct.Env = append(slices.Clip(s.Env), "PWD="+s.Dir) // as a shell would
		}
		if p, err := proc.Start(direct); err == nil {
			return p, nil
		}
	}
	s.Argv = proc.Shell(command)
	return proc.Start(s)
}

// teeWriter keeps an excerpt and passes everything on. An error of the other writer does not count for
// the command.
type teeWriter struct {
	excerpt *textfmt.Excerpt
	also    io.Writer
}

func (t teeWriter) Write(b []byte) (int, error) {
	if t.also != nil {
		_, _ = t.also.Write(b) // a full disk must not fail the check
	}
	return t.excerpt.Write(b)
}

// lockedWriter passes everything on, from several goroutines.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(b)
}

// attemptMark returns the attempt's mark in its environment.
func attemptMark(env []string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, proc.AttemptVar+"="); ok {
			return v
		}
	}
	return ""
}
