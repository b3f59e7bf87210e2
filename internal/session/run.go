package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"wavex/internal/hearing"
	"wavex/internal/hook"
	"wavex/internal/loopdir"
	"wavex/internal/proc"
	"wavex/internal/record"
	"wavex/internal/ui"
	"wavex/runner"
	"wavex/scheduler"
)

// Console shows a session and answers its questions.
type Console struct {
	View   ui.View          // closed when the loop has ended
	Person scheduler.Person // asked at gates; nil: no person is there
	Judge  hearing.Judge    // judges the findings of a thorough review; nil: no judge
	// Signals receives requests to stop. Leave receives, after them, the exit code of a request to
	// leave at once.
	Signals <-chan scheduler.Signal
	Leave   <-chan int
}

// Outcome describes how a session ended.
type Outcome struct {
	End   scheduler.RunEnded
	State *scheduler.State // nil after leaving at once, since the loop still owns it
	Left  int              // the exit code of leaving at once; 0: the run ended by itself
}

// Run connects the loop to its parts and runs it. An error means that the journal has no end of the
// run. It wraps a *journal.WriteError if the journal could not be written.
func (r *Session) Run(ctx context.Context, c Console) (Outcome, error) {
	defer lazyGC(len(r.plan.Tasks))()
	defer r.keepPlan()()
	r.view = c.View
	if r.config.Stagger == scheduler.Staggered {
		r.responses = make(chan string, 16)
	}
	if r.config.Spares > 0 {
		r.asking = make(chan string, 64)
	}
	who := &runner.Agent{Name: r.opts.Agent.Name, Argv: r.opts.Agent.Argv, Prices: r.opts.Prices, Secrets: r.opts.Secrets,
		Observe: r.observe,
		Run:     r.config.Run, Env: proc.Environ(os.Environ(), nil), Rehearsal: r.opts.Agent.Rehearses(), Extra: r.childEnv(),
		CLI: r.opts.Agent.CLI}
	if g := r.opts.Grace; g > 0 {
		who.Grace, who.StopWait = g, runner.StopWait{Interrupt: g, Close: g, Terminate: g}
	}
	files := r.projections()
	defer func() { _ = files.Close() }() // it has reported its errors itself
	diary, written := r.diary()
	defer written()
	card := hook.NewMirror(r.config.Loop, contextFile(r.config.Track), r.opts.Secrets.Bytes)
	defer func() {
		if err := card.Close(); err != nil {
			fmt.Fprintln(r.opts.Err, "wavex: hooks cannot speak of this run:", err)
		}
	}()
	loop := &scheduler.Loop{
		State: r.state, Open: r.open, Journal: kept{r.log, r.opts.Err}, Runner: who, Signals: c.Signals, Person: c.Person,
		Views: []scheduler.View{r.view, card, files}, Responses: r.responses, Asking: r.asking, Request: r.request,
		Prepare: func(req runner.Request) *runner.Spare { return who.Prepare(r.inSlot(req)) },
		Recover: func(ctx context.Context, e scheduler.AttemptStarted) runner.Result {
			return r.recover(ctx, r.opts.Prices, e)
		},
		Clean: r.clean,
		Now:   time.Now, Luck: luck,
		// One more than the number of processors keeps them busy during the fsyncs of the journal.
		Busy: runtime.GOMAXPROCS(0) + 1, Patience: 2 * time.Millisecond, Lag: 10 * time.Millisecond,
	}
	r.site.Wire(loop)
	seal := r.site.Checkpoints(ctx, loop, r.warn)
	loop.Runner = r.guarded(loop.Runner, files)
	judges, err := hearing.New(hearing.Options{Plan: r.plan, Config: r.config, Site: r.site, Agent: r.opts.Agent, Who: who,
		Prices: r.opts.Prices, Secrets: r.opts.Secrets, Chair: r.opts.Chair, OverAPI: r.opts.OverAPI, Judge: c.Judge})
	if err != nil {
		return Outcome{}, errors.Join(err, r.view.Close())
	}
	judges.Wire(loop)
	if diary != nil {
		loop.Views = append(loop.Views, diary)
	}
	list, shown := r.mirror(ctx)
	if list != nil {
		loop.Views = append(loop.Views, list)
	}
	joins, joined := r.joins(ctx)
	defer joined()
	loop.Joins = joins
	sent := r.trace(ctx, loop)
	hooks, told := r.notifier(ctx)
	if hooks != nil {
		loop.Views = append(loop.Views, hooks)
	}
	r.last = []func(left bool){r.propose, shown, told, sent}
	defer proc.Contain(ctx, r.opts.Guard, r.config.Run, filepath.Join(r.config.Loop, "guard.lock"))()

	type outcome struct {
		end scheduler.RunEnded
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		end, err := loop.Run(ctx)
		done <- outcome{end, err}
	}()
	select {
	case out := <-done:
		r.ran = true
		seal()
		_ = files.Close() // before the end is shown
		if cerr := r.view.Close(); out.err == nil && cerr != nil && !r.opts.Text {
			fmt.Fprintln(r.opts.Err, "wavex: writing the events:", cerr)
		}
		return Outcome{End: out.end, State: r.state}, out.err
	case code := <-c.Leave:
		// The third signal: the user wants to leave at once. The journal is valid as it is, and a
		// resume settles the open attempts.
		_, err := proc.Sweep(context.WithoutCancel(ctx), r.config.Run)
		if err != nil && !errors.Is(err, proc.ErrUnsupported) {
			fmt.Fprintln(r.opts.Err, "wavex: sweeping:", err)
		}
		return Outcome{Left: code}, nil
	}
}

// projections returns a Writer that keeps the files in .loop current. A failure to write them is
// only a warning, because the journal has everything.
func (r *Session) projections() *loopdir.Writer {
	return loopdir.NewWriter(r.config.Loop, r.opts.Secrets.Bytes, func(err error) {
		fmt.Fprintln(r.opts.Err, "wavex: warning: the files in .loop are behind the journal; `wavex status --rebuild` writes them again:", err)
	})
}

// kept is a journal that reports a change by another process.
type kept struct {
	*record.Journal
	told io.Writer
}

// Write writes the appended records.
func (k kept) Write() error { return k.tell(k.Journal.Write) }

// Sync makes the appended records durable.
func (k kept) Sync() error { return k.tell(k.Journal.Sync) }

func (k kept) tell(write func() error) error {
	before := k.Restored()
	err := write()
	if k.Restored() > before {
		fmt.Fprintln(k.told, "wavex: warning: the journal in .loop was removed or written to by somebody else, for example by git clean -fdx; it is written again, and nothing of it is lost. Prompts and streams of attempts may be.")
	}
	return err
}

func luck() float64 { return rand.Float64() }

// clean removes the secrets from an event before it is used.
func (r *Session) clean(b scheduler.Body) scheduler.Body {
	out := r.opts.Secrets.Value(b).(scheduler.Body)
	was, _ := b.(scheduler.AttemptEnded)
	e, ended := out.(scheduler.AttemptEnded)
	if ended && e.Result.Signature != "" && (e.Result.Reason != was.Result.Reason ||
		e.Result.Detail != was.Result.Detail) {
		e.Result.Signature = runner.Signature(e.Result.Reason, e.Result.Detail) // may have a secret without digits
		return e
	}
	return out
}

// observe shows a sign of life. It removes secrets, since the text may quote a command.
func (r *Session) observe(o runner.Observation) {
	o.Text = r.opts.Secrets.String(o.Text)
	r.view.Observe(o)
	if o.Kind == "init" {
		select {
		case r.asking <- o.Task:
		default: // no spare is wanted, or there are enough
		}
	}
	if o.Kind == "text" || o.Kind == "tool" {
		select {
		case r.responses <- o.Task:
		default: // not used, or the channel is full
		}
	}
}
