package runner

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc/panics"

	"wavex/internal/proc"
	"wavex/internal/verify"
)

// talk is one conversation with one agent process: the prompt goes in, the stream comes
// out, and it is stopped when it is over or its time is up. It knows deadlines
// and the order of the steps; what the stream means is facts' matter.
type talk struct {
	agent  *Agent
	argv   []string
	dir    string
	env    []string
	mark   string
	logDir string
	prompt string
	wall   time.Duration
	idle   time.Duration // 0: it may be quiet for as long as it likes
	facts  *facts

	p      *proc.Process
	turns  chan bool    // from the reader: true when a turn ended, false when one began
	last   atomic.Int64 // unix nanoseconds of the last byte from the agent
	gone   chan struct{}
	closed bool
	end    turnEnd
	exit   proc.Exit
}

// run holds the conversation and returns when the process and the reader are gone.
func (t *talk) run(ctx context.Context) {
	t.end = turnEnd{exit: -1, timeout: t.wall, idle: t.idle}
	t.exit = proc.Exit{Code: -1, Contained: true}
	out, err := t.agent.create(t.logDir, streamFile)
	if err != nil {
		t.end.startErr = err
		return
	}
	defer out.close()
	errs, err := t.agent.create(t.logDir, stderrFile)
	if err != nil {
		t.end.startErr = err
		return
	}
	defer errs.close()
	opening, err := userTurn(t.prompt)
	if err != nil {
		t.end.startErr = err
		return
	}

	ctx, cancel := t.agent.within(ctx, t.wall)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)

	t.p, err = proc.Start(proc.Spec{Argv: t.argv, Dir: t.dir, Env: t.env, Mark: t.mark, Stdin: true, Stderr: errs})
	if err != nil {
		t.end.startErr = err
		return
	}
	t.last.Store(time.Now().UnixNano())
	t.turns, t.gone = make(chan bool), make(chan struct{})
	var read, written = make(chan struct{}), make(chan struct{})
	say := make(chan []byte, 2) // the prompt, and at most one interrupt
	say <- opening
	go func() {
		defer close(read)
		t.read(out)
	}()
	go func() {
		defer close(written)
		for line := range say {
			if _, err := t.p.Stdin.Write(line); err != nil {
				return // it does not listen any more; how it ends tells why
			}
		}
	}()

	t.watch(ctx, giveUp, say)
	close(say)
	t.close()
	t.exit = t.p.Wait()
	close(t.gone)
	<-read
	<-written
	t.conclude(errs.flush())
}

// watch follows the conversation to the exit of the process.
func (t *talk) watch(ctx context.Context, giveUp context.CancelCauseFunc, say chan<- []byte) {
	idle := time.NewTimer(t.idle)
	defer idle.Stop()
	if t.idle == 0 {
		idle.Stop()
	}
	grace := time.NewTimer(time.Hour)
	grace.Stop()
	defer grace.Stop()
	over := false
	for {
		select {
		case <-t.p.Done():
			return
		case over = <-t.turns:
			if over {
				t.close() // nothing more is asked of it: it may go
				grace.Reset(orDefault(t.agent.Grace, 10*time.Second))
			} else {
				grace.Stop() // it works on, for example on what a background command told it
			}
		case <-grace.C:
			t.end.cut = true
			t.terminate()
			return
		case <-idle.C:
			quiet := time.Since(time.Unix(0, t.last.Load()))
			if quiet >= t.idle && !over {
				giveUp(ErrIdle)
			}
			idle.Reset(max(t.idle-quiet, t.idle/16, time.Millisecond))
		case <-ctx.Done():
			t.stop(context.Cause(ctx), over, say)
			return
		}
	}
}

// stop ends the conversation, gently first: a turn that is interrupted by request still
// reports what it cost, and ends its own tools.
func (t *talk) stop(cause error, over bool, say chan<- []byte) {
	select {
	case <-t.p.Done(): // it ended by itself in the same moment
		return
	default:
	}
	if over {
		t.end.cut = true // the turn was over: it is not taken away
		t.terminate()
		return
	}
	t.end.stop = cause
	if !t.closed {
		say <- []byte(interruptLine)
		t.await(t.agent.StopWait.Interrupt, 10*time.Second, true)
		t.close()
	}
	if t.await(t.agent.StopWait.Close, 3*time.Second, false) {
		return
	}
	t.terminate()
}

// interruptLine asks the CLI to end the current turn: the answer is a control_response,
// then a result line with the cost.
const interruptLine = `{"type":"control_request","request_id":"wavex-stop","request":{"subtype":"interrupt"}}` + "\n"

// terminate asks the process group to end, then kills it. Wait sweeps the rest.
func (t *talk) terminate() {
	_ = t.p.Terminate() // gone already is as good
	if !t.await(t.agent.StopWait.Terminate, 5*time.Second, false) {
		_ = t.p.Kill()
	}
}

// await waits for the exit, and with turn for the end of the turn too; false when the
// time is up.
func (t *talk) await(d, def time.Duration, turn bool) bool {
	timer := time.NewTimer(orDefault(d, def))
	defer timer.Stop()
	for {
		select {
		case <-t.p.Done():
			return true
		case over := <-t.turns:
			if over && turn {
				return true
			}
		case <-timer.C:
			return false
		}
	}
}

// close closes stdin, which is how the agent learns that no turn follows. It also frees
// the writer from a process that does not read.
func (t *talk) close() {
	if !t.closed {
		t.closed = true
		_ = t.p.Stdin.Close() // closed by the exit already is as good
	}
}

// read takes the whole stream, whatever is in it.
func (t *talk) read(raw io.Writer) {
	t.facts.turn = func(over bool) {
		select {
		case t.turns <- over:
		case <-t.gone:
		}
	}
	s := &stream{raw: raw, line: t.facts.line, alive: func() { t.last.Store(time.Now().UnixNano()) }}
	var err error
	if r := panics.Try(func() { err = s.run(t.p.Stdout) }); r != nil {
		// The agent must not hang on a full pipe for a mistake of ours.
		t.facts.badResult = true
		t.facts.stray = verify.OneLine("reading its stream: "+r.String(), 300)
		_, _ = io.Copy(io.Discard, t.p.Stdout)
		return
	}
	if err == nil {
		err = s.rawErr
	}
	if err != nil && t.facts.stray == "" {
		t.facts.stray = "its stream could not be kept: " + err.Error()
	}
}

// conclude gathers what is known of the end.
func (t *talk) conclude(stderr string) {
	f := t.facts
	e := &t.end
	e.exit, e.signal = t.exit.Code, t.exit.Signal
	e.lines, e.begun = f.lines, f.begun
	e.result, e.badResult = f.result, f.badResult
	e.retries, e.limit = f.retries, f.limit
	e.lastError, e.lastText = f.lastError, f.lastText
	e.words = plainWords(stderr, f.stray)
}

// plainWords is what the agent said outside of its stream: the last lines of stderr,
// else the first line of stdout that was no JSON.
func plainWords(stderr, stray string) string {
	f, err := os.Open(stderr)
	if err != nil {
		return stray
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	var e verify.Excerpt
	if _, err := io.Copy(&e, f); err != nil {
		return stray
	}
	if said := strings.TrimSpace(e.String()); said != "" {
		return said
	}
	return stray
}

// userTurn is one turn of the user as the CLI reads it.
func userTurn(prompt string) ([]byte, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	line, err := json.Marshal(struct {
		Type    string  `json:"type"`
		Message message `json:"message"`
	}{"user", message{"user", prompt}})
	return append(line, '\n'), err
}
