package rehearse

// This file is the agent's process: its start, the loop over user turns, and its exit code. userturn.go
// and fault.go hold the course of a turn.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/google/uuid"

	"wavex/budget"
	"wavex/internal/jsonobject"
	"wavex/internal/proc"
)

// Environment variables of the agent.
const (
	FileVar     = "WAVEX_REHEARSE"          // file of an Assignment; without it the agent uses defaults
	SpeedVar    = "WAVEX_REHEARSE_SPEED"    // divides every duration of a block; default 1
	SessionsVar = "WAVEX_REHEARSE_SESSIONS" // directory that remembers sessions; without it every session id is valid
)

// Assignment is the content of the file that FileVar names.
type Assignment struct {
	Task    string          `json:"task,omitempty"` // the task's id, or the name of a question
	Attempt int             `json:"attempt,omitempty"`
	Block   json.RawMessage `json:"block,omitempty"` // see ParseBlock
}

// Main runs the agent. args are the CLI's own (without the program), env is its whole environment.
// It works in the process's working directory, handles SIGINT, SIGTERM and the end of ctx (like
// SIGTERM) as the CLI does, and returns the exit code.
func Main(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == orphanFlag {
		return orphanMain(args[1:])
	}
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(stderr, "wavex agent: no working directory:", err)
		return 1
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	h := host{
		dir: dir, isRoot: os.Geteuid() == 0, signals: signals, now: time.Now, newID: uuid.NewString,
		killSelf: func() {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {} // wait for delivery of the signal
		},
		startOrphan: func(env []string, life time.Duration, stdout bool) error {
			return leaveOrphan(dir, args, env, life, stdout)
		},
	}
	return run(ctx, h, args, env, stdin, stdout, stderr)
}

// host holds the parts of the system that the agent uses.
type host struct {
	dir         string // absolute
	isRoot      bool   // running as root
	signals     <-chan os.Signal
	now         func() time.Time
	newID       func() string                                              // a new UUID
	killSelf    func()                                                     // SIGKILL to itself
	startOrphan func(env []string, life time.Duration, holdOut bool) error // leaves a process behind
}

type agent struct {
	host
	cmd     *commandLine
	env     []string
	task    Assignment
	block   *Block // of all attempts
	speed   float64
	out     *outputPipe
	stderr  io.Writer
	session string
	model   string

	in       <-chan message   // nil after the end of input
	prompted bool             // the user message has arrived
	hooks    jsonobject.Value // of initialize: the ids of callbacks, by event
	answer   jsonobject.Value // the last answer to a callback; nil: none

	cost     budget.USD
	exitCode int // exit code of the result
}

func run(ctx context.Context, h host, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &agent{host: h, env: env, out: &outputPipe{w: stdout}, stderr: stderr, session: h.newID()}
	if err := a.prepare(args); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	if a.cmd.has("--version") {
		a.out.write([]byte(cliVersion + " (wavex rehearsal)\n"))
		return 0
	}
	first := a.block.ForAttempt(a.task.Attempt)
	switch {
	case first.Outcome == DiesBeforePrompt:
		fmt.Fprintln(stderr, "rehearsed: dies before it reads the prompt")
		return 1
	case first.Outcome == HangAtStart:
		return a.hang(ctx, first)
	}
	if err := a.claimSession(first.Outcome == LostSession); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	e := newStdinReader(stdin)
	defer e.close()
	a.in = e.lines
	return a.exitCodeOf(a.serve(ctx))
}

// prepare reads flags, environment and assignment.
func (a *agent) prepare(args []string) error {
	var err error
	if a.cmd, err = parseArgs(args); err != nil {
		return err
	}
	if a.isRoot && proc.Getenv(a.env, "IS_SANDBOX") != "1" && a.cmd.value("--permission-mode") == "bypassPermissions" {
		return errors.New("--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons")
	}
	a.speed = 1
	if s := proc.Getenv(a.env, SpeedVar); s != "" {
		if a.speed, err = strconv.ParseFloat(s, 64); err != nil || !(a.speed > 0) || math.IsInf(a.speed, 0) {
			return fmt.Errorf("wavex agent: %s=%q is not a positive number", SpeedVar, s)
		}
	}
	a.task, a.block, err = readAssignment(proc.Getenv(a.env, FileVar))
	return err
}

// readAssignment reads the assignment at path; "" means that there is none.
func readAssignment(path string) (task Assignment, block *Block, err error) {
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return task, nil, fmt.Errorf("wavex agent: reading the assignment: %w", err)
		}
		if err := decode(text, &task); err != nil {
			return task, nil, fmt.Errorf("wavex agent: the assignment %s: %w", path, err)
		}
	}
	if block, err = ParseBlock(task.Block); err != nil {
		return task, nil, fmt.Errorf("wavex agent: the rehearse block of %q: %w", task.Task, err)
	}
	return task, block, nil
}

// exitError is an error that ends the process with a code.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// serve runs the turn of the user message, and waits for the end of the input. It never returns nil.
func (a *agent) serve(ctx context.Context) error {
	for ran := false; a.in != nil && a.out.err == nil; {
		err := a.await(ctx, nil, nil)
		if a.prompted && !ran {
			ran, err = true, a.runTurn(ctx)
		}
		if err != nil && !errors.Is(err, errInterrupt) { // an interrupt without a turn is answered and forgotten
			return err
		}
	}
	if a.out.err != nil {
		return exitError(1)
	}
	return exitError(a.exitCode)
}

// Reasons for which a turn stops early.
var (
	errInterrupt = errors.New("interrupted over the control protocol")
	errTerm      = errors.New("SIGTERM")
	errInt       = errors.New("SIGINT")
)

// inputError is a line of input that ends the CLI.
type inputError struct{ error }

// exitCodeOf returns the exit code for a reason other than an interrupt. As observed on the CLI, SIGINT
// ends it with 0 and without a result line.
func (a *agent) exitCodeOf(err error) int {
	var bad inputError
	var code exitError
	switch {
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, errTerm):
		return 143
	case errors.Is(err, errInt):
		return 0
	case errors.As(err, &bad):
		fmt.Fprintln(a.stderr, bad.error)
	}
	return 1
}

// emit prints one line of the stream.
func (a *agent) emit(v any) { a.out.write(encodeLine(v)) }

// hang reads nothing and prints nothing until SIGTERM, SIGINT or its time limit.
func (a *agent) hang(ctx context.Context, b *Block) int {
	a.in = nil
	return a.exitCodeOf(a.linger(ctx, b))
}

// linger waits until the process is stopped. It ends the process at its time limit, so that an
// abandoned rehearsal does not stay on the machine for ever.
func (a *agent) linger(ctx context.Context, b *Block) error {
	t := time.NewTimer(lingerTime(b))
	defer t.Stop()
	if err := a.await(ctx, t.C, nil); err != nil {
		return err
	}
	return a.lingerTimeout()
}

func (a *agent) lingerTimeout() error {
	fmt.Fprintln(a.stderr, "rehearsed: nobody stopped this process, so it ends by itself")
	return exitError(1)
}

func lingerTime(b *Block) time.Duration { return time.Duration(valueOr(b.Linger, Duration(time.Hour))) }
