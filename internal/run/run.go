package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/filetree"
	"wavex/internal/hook"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/question"
	"wavex/internal/review"
	"wavex/internal/runlog"
	"wavex/internal/statefiles"
	"wavex/internal/ui"
	"wavex/internal/usererr"
	"wavex/runner"
	"wavex/scheduler"
)

// Console shows a session and answers its questions.
type Console struct {
	View     ui.View            // closed when the loop has ended
	Approver scheduler.Approver // asked at gates; nil: no person is there
	Judge    review.Judge       // judges the findings of a thorough review; nil: no judge
	Calls    question.Terminal  // asks about tool calls; nil: no person is there
	// Allow records a pattern of calls that the person has allowed for good.
	Allow func(pattern string)
	// Signals receives requests to stop. Leave receives, after them, the exit code of a request to
	// leave at once.
	Signals <-chan scheduler.Signal
	Abort   <-chan int
}

// Result describes how a session ended.
type Result struct {
	End       event.RunEnded
	State     *scheduler.State // nil after leaving at once, since the loop still owns it
	AbortCode int              // the exit code of leaving at once; 0: the run ended by itself
}

// Run connects the loop to its parts and runs it. An error means that the journal has no end of the
// run. It wraps a *journal.WriteError if the journal could not be written.
func (r *Session) Run(ctx context.Context, c Console) (Result, error) {
	defer r.savePlan()()
	r.view = c.View
	host := runner.Host{Env: proc.Inherit(os.Environ(), nil), Lister: &filetree.Lister{}, ExtraEnv: r.agentEnv(),
		Rehearsal: r.opts.Agent.IsRehearsal(), Redactor: r.opts.Redactor, Observe: r.observe, Wall: r.opts.Wall}
	desk := question.NewDesk(question.Dir(r.config.Loop.Run(r.config.Run, loop.Questions)), c.Calls, r.config.Policy.Allow,
		c.Allow)
	desk.Redact = r.opts.Redactor.String
	who := r.opts.Agent.New(agent.Setup{Host: host, Run: r.config.Run, Prices: r.opts.Prices, Person: desk.Decide,
		Grace: r.opts.Grace})
	attempts := &runner.Local{Host: host, Agent: who}
	made, traces, err := r.beginFleet(ctx, attempts)
	if err != nil {
		return Result{}, errors.Join(err, r.view.Close())
	}
	defer r.guardUserFiles(host.Environ(nil))()
	files := r.startStateFiles()
	defer func() { _ = files.Close() }() // it has reported its errors itself
	noteWriter, closeNotes := r.startNotes()
	defer closeNotes()
	hookSnapshot, closeHookSnapshot := r.startHookSnapshot()
	defer closeHookSnapshot()
	points := r.workspace.NewCheckpointer(ctx, r.config.Base, r.warn)
	reviews, err := review.New(review.Options{Plan: r.plan, Config: r.config, Workspace: r.workspace,
		Checkpoints: points.Checkpoints, Agent: r.opts.Agent, Caller: who,
		Redactor: r.opts.Redactor, Judge: c.Judge})
	if err != nil {
		return Result{}, errors.Join(usererr.Input(err), r.view.Close())
	}
	list, closeList := r.startListProgress(ctx)
	hooks, closeWebhooks := r.startWebhooks(ctx)
	r.closers = []func(){closeList} // also if the user leaves at once
	defer proc.Contain(ctx, r.opts.Watchdog, r.config.Run, r.config.Loop.Path(loop.WatchdogLock), r.warn)()

	l := r.newLoop(c, parts{runner: made, traces: traces,
		files: files, checkpoints: points, reviews: reviews,
		// The traces are the first, so that a span exists before its process is prepared.
		views: []scheduler.View{traces, r.view, hookSnapshot, files, r.workspace, noteWriter, list, hooks}})
	return r.await(ctx, c, l, func() {
		points.Seal(ctx, r.interrupted)
		r.user.Changes(0, 0)
		_ = files.Close() // before the end is shown
		r.closers = []func(){r.proposeLearnings, closeList, closeWebhooks}
	})
}

// await runs the loop until it ends, and then calls seal, or until the user wants to leave at once.
func (r *Session) await(ctx context.Context, c Console, l *scheduler.Loop, seal func()) (Result, error) {
	type outcome struct {
		end event.RunEnded
		err error
	}
	ctx, interrupt := context.WithCancelCause(ctx)
	done := make(chan outcome, 1)
	go func() {
		end, err := l.Run(ctx)
		done <- outcome{end, err}
	}()
	select {
	case out := <-done:
		interrupt(nil)
		r.finished = true
		r.interrupted = l.Interrupted
		seal()
		if cerr := r.view.Close(); out.err == nil && cerr != nil && !r.opts.Notices {
			fmt.Fprintln(r.opts.Err, "wavex: writing the events:", cerr)
		}
		return Result{End: out.end, State: r.state}, out.err
	case code := <-c.Abort:
		// The third signal: the user wants to leave at once. The journal is valid as it is, and a
		// resume settles the open attempts: an attempt that the sweep ends has not failed.
		interrupt(scheduler.ErrInterrupted)
		_, err := proc.Sweep(context.WithoutCancel(ctx), r.config.Run)
		if err != nil && !errors.Is(err, proc.ErrUnsupported) {
			fmt.Fprintln(r.opts.Err, "wavex: sweeping:", err)
		}
		return Result{AbortCode: code}, nil
	}
}

// startStateFiles returns a Writer that keeps the files in .loop current. A failure to write them is
// only a warning, because the journal has everything.
func (r *Session) startStateFiles() *statefiles.Writer {
	return statefiles.NewWriter(r.config.Loop, r.opts.Redactor.Bytes, func(err error) {
		r.warn(fmt.Errorf("the files in .loop are behind the journal; `wavex status --rebuild` writes them again: %w", err))
	})
}

// startHookSnapshot starts to keep the snapshot for hooks current.
func (r *Session) startHookSnapshot() (scheduler.View, func()) {
	w := hook.NewSnapshotWriter(r.config.Loop, contextFile(r.config.Track), r.opts.Redactor.Bytes)
	return w, func() {
		if err := w.Close(); err != nil {
			r.complain("hooks cannot speak of this run:", err)
		}
	}
}

// restoreWarner is a journal that reports a change by another process.
type restoreWarner struct {
	*runlog.Journal
	warnings io.Writer
}

// Write writes the appended records.
func (k restoreWarner) Write() error { return k.warnIfRestored(k.Journal.Write) }

// Sync makes the appended records durable.
func (k restoreWarner) Sync() error { return k.warnIfRestored(k.Journal.Sync) }

func (k restoreWarner) warnIfRestored(write func() error) error {
	before := k.Restored()
	err := write()
	if k.Restored() > before {
		fmt.Fprintln(k.warnings, "wavex: warning: the journal in .loop was removed or written to by somebody else, for example by git clean -fdx; it is written again, and nothing of it is lost. Prompts and streams of attempts may be.")
	}
	return err
}

// observe shows a sign of life. It removes secrets, since the text may quote a command.
func (r *Session) observe(o runner.Observation) {
	o.Text = r.opts.Redactor.String(o.Text)
	r.recordWorker(o)
	r.view.Observe(o)
}
