package runner

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"wavex/internal/proc"
	"wavex/internal/verify"
	"wavex/internal/wary"
)

// talk is one conversation with one agent process: the prompt goes in, the stream comes
// out, and it is stopped when it is over or its time is up, unless it is kept for
// another one. It knows deadlines and the order of the steps; what the stream means is
// facts' matter.
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
	warm   *warming // nil: the process serves this conversation alone

	c       *cli
	sink    *sink
	p       *proc.Process
	turns   chan turn    // from the reader
	last    atomic.Int64 // unix nanoseconds of the last byte from the agent
	gone    chan struct{}
	closed  bool
	asked   bool // it has got the prompt
	rests   int  // requests of whether it is at rest that are not answered
	kept    bool // the process waits for another conversation
	refused bool // it would not do what comes before the prompt, which it has not got
	end     turnEnd
	exit    proc.Exit
}

// turn is what the reader tells of how the conversation stands.
type turn struct {
	kind   turnKind
	ok     bool        // cleared, answered: it did so; over: nothing of it lasts beyond its turn
	id     string      // answered: the request
	result *resultLine // over
	// heard, when not nil, is closed by who was told, who has decided then what becomes of
	// the process. The reader waits for that.
	heard chan struct{}
}

// turnKind is the kind of a turn.
type turnKind uint8

const (
	over     turnKind = iota // a result line: the turn ended
	working                  // another turn began, for example because a background command ended
	cleared                  // a new session is begun, or not
	answered                 // a control request was
)

// run holds the conversation and returns when the process and the reader are gone, or
// the process is kept.
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
	words, err := t.words()
	if err != nil {
		t.end.startErr = err
		return
	}

	ctx, cancel := t.agent.within(ctx, t.wall)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)

	t.turns, t.gone = make(chan turn), make(chan struct{})
	t.last.Store(time.Now().UnixNano())
	if err := t.begin(t.hear(out), errs); err != nil {
		t.end.startErr = err
		return
	}
	t.p = t.c.p
	if t.warm != nil && !t.warm.anew {
		words = append(words[:1], words[2:]...)
	}
	written := make(chan struct{})
	say := make(chan []byte, len(words)+4) // and whether it is at rest, and an interrupt
	go func() {
		defer close(written)
		for line := range say {
			if _, err := t.p.Stdin.Write(line); err != nil {
				return // it does not listen any more; how it ends tells why
			}
		}
	}()

	t.watch(ctx, giveUp, words, say)
	close(say)
	if t.kept {
		t.exit.Code = 0
	} else {
		t.close()
		t.exit = t.p.Wait()
	}
	close(t.gone)
	if !t.kept {
		<-t.c.read
	}
	<-written
	t.heard()
	t.conclude(errs.flush())
}

// watch follows the conversation to the exit of the process, or to its rest.
func (t *talk) watch(ctx context.Context, giveUp context.CancelCauseFunc, words [][]byte, say chan []byte) {
	idle := time.NewTimer(t.idle)
	defer idle.Stop()
	if t.idle == 0 {
		idle.Stop()
	}
	grace := time.NewTimer(time.Hour)
	grace.Stop()
	defer grace.Stop()
	next := func() {
		say <- words[0]
		words = words[1:]
		t.asked = len(words) == 0
	}
	next()
	if t.warm != nil {
		grace.Reset(t.warm.patience())
	}
	done := false
	for {
		select {
		case <-t.p.Done():
			t.refused = t.warm != nil && t.warm.taken && !t.asked
			return
		case e := <-t.turns:
			switch {
			case !t.asked && t.warm.taken && (e.kind == over || e.kind == working):
				// It was not at rest: the conversation before goes on in it.
				t.refused = true
				t.dismiss()
				return
			case e.kind == over && e.ok && len(say)+1 < cap(say) && t.keeps(e.result):
				done = true
				t.rests++
				say <- []byte(restLine)
				grace.Reset(restPatience)
			case e.kind == over:
				done = true
				t.close() // nothing more is asked of it: it may go
				grace.Reset(orDefault(t.agent.Grace, 10*time.Second))
			case e.kind == working:
				done = false
				grace.Stop() // it works on, for example on what a background command told it
			case e.heard != nil && t.rests == 0: // not an answer to this conversation
				close(e.heard)
			case e.heard != nil:
				if t.rests--; !done || t.rests > 0 { // asked again when it has done, or already
					close(e.heard)
					break
				}
				if t.kept = e.ok && !t.closed; t.kept {
					t.c.detach() // the reader waits: what comes from now on is not of this conversation
					close(e.heard)
					return
				}
				close(e.heard)
				t.close()
				grace.Reset(orDefault(t.agent.Grace, 10*time.Second))
			case t.asked:
			case e.ok:
				if next(); t.asked {
					grace.Stop()
				}
			default:
				t.refused = true
				t.dismiss()
				return
			}
		case <-grace.C:
			if !t.asked {
				t.refused = true
				t.dismiss()
				return
			}
			if t.closed {
				t.end.cut = true
				t.terminate()
				return
			}
			t.close() // it did not say that it is at rest
			grace.Reset(orDefault(t.agent.Grace, 10*time.Second))
		case <-idle.C:
			quiet := time.Since(time.Unix(0, t.last.Load()))
			if quiet >= t.idle && !done && ctx.Err() == nil {
				if t.warm != nil && !t.asked {
					t.refused = true // it has not got the prompt, so it is not the work that stalls
					t.dismiss()
					return
				}
				giveUp(ErrIdle)
			}
			idle.Reset(max(t.idle-quiet, t.idle/16, time.Millisecond))
		case <-ctx.Done():
			t.stop(context.Cause(ctx), done, say)
			return
		}
	}
}

// stop ends the conversation, gently first: a turn that is interrupted by request still
// reports what it cost, and ends its own tools.
func (t *talk) stop(cause error, done bool, say chan []byte) {
	select {
	case <-t.p.Done(): // it ended by itself in the same moment
		return
	default:
	}
	if done {
		t.end.cut = true // the turn was over: it is not taken away
		t.terminate()
		return
	}
	t.end.stop = cause
	if !t.closed && t.asked {
		say <- []byte(interruptLine)
		t.await(t.agent.StopWait.Interrupt, 10*time.Second, true)
	}
	t.close()
	if t.await(t.agent.StopWait.Close, 3*time.Second, false) {
		return
	}
	t.terminate()
}

// interruptLine asks the CLI to end the current turn: the answer is a control_response,
// then a result line with the cost.
const interruptLine = `{"type":"control_request","request_id":"` + stopID + `","request":{"subtype":"interrupt"}}` + "\n"

const stopID = "wavex-stop"

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
		case e := <-t.turns:
			if e.heard != nil {
				close(e.heard)
			}
			if e.kind == over && turn {
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

// hear is where the stream goes. All of it is on the reader's goroutine.
func (t *talk) hear(raw io.Writer) *sink {
	t.facts.turn = func(e turn) {
		if e.kind == answered && e.id == restID {
			// What it has left alive may end and give it another turn, which is this attempt's.
			e.ok = e.ok && !t.facts.active && !t.facts.lasting && t.p.Quiet()
			e.heard = make(chan struct{})
		}
		select {
		case t.turns <- e:
		case <-t.gone:
			return
		}
		if e.heard != nil {
			select {
			case <-e.heard:
			case <-t.gone:
			}
		}
	}
	t.sink = &sink{raw: raw, line: t.facts.line, alive: func() { t.last.Store(time.Now().UnixNano()) }, failed: func(err error) {
		t.facts.badResult = true
		t.facts.stray = verify.OneLine("reading its stream: "+err.Error(), 300)
	}}
	return t.sink
}

// heard looks at how the reading went, when it is over.
func (t *talk) heard() {
	err := t.sink.rawErr
	if !t.kept && t.c.err != nil {
		err = t.c.err
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
	f, err := wary.Open(stderr)
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
