package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc/panics"

	"wavex/internal/loop"
	"wavex/internal/policy"
	"wavex/internal/proc"
	"wavex/internal/safefile"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// conversation is one process of the agent with one prompt. It sends the prompt, reads the stream,
// and stops the process after the last turn or at its deadline. It handles deadlines and the order
// of steps; transcript parses the stream.
type conversation struct {
	agent      *Agent
	argv       []string
	wrapper    []string // as in proc.Spec
	dir        string
	env        []string
	mark       string
	logDir     string
	prompt     string
	wall       time.Duration
	idle       time.Duration // 0: no limit
	transcript *transcript
	person     func(context.Context, policy.Question) (allowed bool, why string) // nil: none is there

	p             *proc.Process
	stderr        *runner.LogFile // its standard error; nil before start
	resume        bool
	turns         chan turnEvent // from the reader goroutine
	say           chan []byte    // lines for its standard input
	usageRequests chan struct{}  // from the reader goroutine: send usageLine
	lastRead      atomic.Int64   // Unix time of the last output byte, in nanoseconds
	exited        chan struct{}
	closed        bool
	end           turnEnd
	exit          proc.Exit
}

// errNoPrices refuses a process whose cost would not be known.
var errNoPrices = errors.New("the agent has no prices")

// run starts the process, holds the conversation, and returns when the process and the reader have
// ended.
func (c *conversation) run(ctx context.Context) {
	c.end = turnEnd{timeout: c.wall, idle: c.idle}
	c.exit = proc.Exit{Code: -1, Contained: true}
	if c.transcript.responses.prices == nil {
		c.end.startErr = errNoPrices
		return
	}
	out, err := c.agent.CreateLog(c.logDir, loop.StreamFile)
	if err != nil {
		c.end.startErr = err
		return
	}
	defer out.Close()
	if c.stderr, err = c.agent.CreateLog(c.logDir, loop.StderrFile); err != nil {
		c.end.startErr = err
		return
	}
	defer c.stderr.Close()

	ctx, cancel := context.WithTimeoutCause(ctx, c.wall, errTimeout)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)

	if err := c.start(); err != nil {
		c.end.startErr = err
		return
	}
	c.lastRead.Store(time.Now().UnixNano())
	c.turns, c.usageRequests, c.exited = make(chan turnEvent), make(chan struct{}, 1), make(chan struct{})
	var read, written = make(chan struct{}), make(chan struct{})
	// There is room for all lines of a CLI that reads. Without an answer it does not carry out the call.
	c.say = make(chan []byte, 256)
	var questions sync.WaitGroup
	if c.person != nil && c.transcript.calls != nil {
		c.transcript.calls.person = func(q policy.Question, answer func(bool, string)) func() {
			ctx, cancel := context.WithCancel(ctx)
			questions.Go(func() {
				defer cancel()
				allowed, why := c.person(ctx, q)
				if ctx.Err() != nil {
					allowed, why = false, whyStopped
				}
				answer(allowed, why)
			})
			return cancel
		}
	}
	if c.resume {
		c.send([]byte(baselineUsageLine))
	}
	c.send(UserMessage(c.prompt))
	go func() {
		defer close(read)
		c.read(out, giveUp)
	}()
	go func() {
		defer close(written)
		for line := range c.say {
			if _, err := c.p.Stdin.Write(line); err != nil {
				return // the process does not read any more; its exit tells why
			}
		}
	}()

	c.watch(ctx, giveUp)
	c.close()
	c.exit = c.p.Wait()
	close(c.exited)
	<-read
	giveUp(nil)
	questions.Wait()
	close(c.say)
	<-written
	c.conclude(c.stderr.Flush())
}

// start starts the process and registers the callbacks for its tool calls.
func (c *conversation) start() (err error) {
	if slices.Contains(c.argv, "--bare") {
		return errBare
	}
	c.p, err = proc.Start(proc.Spec{Argv: c.argv, Wrapper: c.wrapper, Dir: c.dir, Env: c.env, Mark: c.mark, Stdin: true,
		Stderr: c.stderr})
	if err == nil && c.transcript.calls != nil {
		// If it has ended, its exit tells why; a pipe has room for the line.
		_, _ = c.p.Stdin.Write(initializeLine(c.transcript.calls.askTimeout))
	}
	return err
}

// send sends a line to the agent. It drops the line if the agent does not read.
func (c *conversation) send(line []byte) {
	select {
	case c.say <- line:
	default:
	}
}

// watch handles the events of the conversation until the process exits.
func (c *conversation) watch(ctx context.Context, giveUp context.CancelCauseFunc) {
	idle := time.NewTimer(c.idle)
	defer idle.Stop()
	if c.idle == 0 {
		idle.Stop()
	}
	grace := time.NewTimer(time.Hour)
	grace.Stop()
	defer grace.Stop()
	done := false
	for {
		select {
		case <-c.p.Done():
			return
		case e := <-c.turns:
			if done = e != turnResumed; done {
				if e == turnOver && !c.isAsking() {
					c.close() // no request is open: the process may exit
				} // else a further turn may ask about its calls
				grace.Reset(cmp.Or(c.agent.Grace, 10*time.Second))
			} else {
				grace.Stop() // the agent works on, for example on the output of a background command
			}
		case <-c.usageRequests:
			if !c.closed {
				c.send([]byte(usageLine))
			}
		case <-grace.C:
			c.end.endedAfterTurn = true
			c.terminate(c.stopWait(nil).Terminate)
			return
		case <-idle.C:
			idle.Reset(c.checkStalled(done, giveUp))
		case <-ctx.Done():
			c.stop(context.Cause(ctx), done)
			return
		}
	}
}

// close closes stdin, which tells the agent that no turn follows. It also unblocks the writer if
// the process does not read.
func (c *conversation) close() {
	if !c.closed {
		c.closed = true
		_ = c.p.Stdin.Close() // an error means that the exit closed it
	}
}

// noiseMax bounds the output of an agent before its first JSON line, in bytes. A wrapper may print
// some lines of its own.
const noiseMax = 1 << 20

// read reads the whole stream. Only lines of the protocol count as signs of life.
func (c *conversation) read(raw io.Writer, giveUp context.CancelCauseFunc) {
	c.transcript.onTurn = func(e turnEvent) {
		select {
		case c.turns <- e:
		case <-c.exited:
		}
	}
	if p := c.transcript.calls; p != nil {
		p.answer, p.giveUp = c.send, giveUp
	}
	c.transcript.requestUsage = func() {
		select {
		case c.usageRequests <- struct{}{}:
		default: // the previous request has not been sent yet
		}
	}
	noise := 0
	s := &stream{raw: raw, onLine: c.transcript.onLine, onRead: func(n int, json bool) {
		if json {
			c.lastRead.Store(time.Now().UnixNano())
		} else if noise += n; noise > noiseMax && c.transcript.lines == 0 {
			giveUp(errNoise)
		}
	}}
	var err error
	if r := panics.Try(func() { err = s.run(c.p.Stdout) }); r != nil {
		// Drain the pipe: the agent must not block because of a bug in wavex.
		c.transcript.badResult = true
		c.transcript.strayLine = textfmt.OneLine("reading its stream: "+r.String(), 300)
		_, _ = io.Copy(io.Discard, c.p.Stdout)
		return
	}
	if err == nil {
		err = s.rawErr
	}
	if err != nil && c.transcript.strayLine == "" {
		c.transcript.strayLine = "its stream could not be kept: " + err.Error()
	}
}

// conclude fills c.end after the process has exited.
func (c *conversation) conclude(stderr string) {
	f := c.transcript
	e := &c.end
	e.exit, e.signal = c.exit.Code, c.exit.Signal
	e.lines, e.initSeen = f.lines, f.init.seen
	if f.calls != nil {
		e.policy, e.told = f.calls.end, f.calls.told != nil
	}
	if f.lines > 0 {
		c.agent.protocolSeen.Store(true)
	}
	e.protocolSeen = c.agent.protocolSeen.Load()
	e.result, e.badResult = f.result, f.badResult
	e.retries, e.limit, e.resumed = f.retries, f.limit, c.resume
	e.lastError = f.last.err
	e.plainText = plainText(stderr, f.strayLine)
}

// plainText returns the agent's plain text output: the last lines of stderr, or the first line of
// stdout that is not JSON.
func plainText(stderr, stray string) string {
	f, err := safefile.Open(stderr)
	if err != nil {
		return stray
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	var e textfmt.Excerpt
	if _, err := io.Copy(&e, f); err != nil {
		return stray
	}
	if said := strings.TrimSpace(e.String()); said != "" {
		return said
	}
	return stray
}

// UserMessage returns a user message as a line of the CLI's input.
func UserMessage(prompt string) []byte {
	text, _ := json.Marshal(prompt) // it cannot fail; the CLI would end a line at U+2028, too
	return fmt.Appendf(nil, `{"type":"user","message":{"role":"user","content":%s}}`+"\n", text)
}

// isAsking reports whether a call of the agent waits for a person.
func (c *conversation) isAsking() bool {
	return c.transcript != nil && c.transcript.calls != nil && c.transcript.calls.isAsking()
}

// checkStalled gives up an attempt that is in a turn and printed nothing for the idle limit. It
// returns the time until the next check.
func (c *conversation) checkStalled(done bool, giveUp context.CancelCauseFunc) time.Duration {
	if c.isAsking() {
		c.lastRead.Store(time.Now().UnixNano()) // it waits for a person
	}
	quiet := time.Since(time.Unix(0, c.lastRead.Load()))
	if quiet >= c.idle && !done {
		giveUp(errIdle)
	}
	return max(c.idle-quiet, c.idle/16, time.Millisecond)
}
