package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"wavex/counsel"
	"wavex/internal/hook"
	"wavex/internal/loopdir"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/prompt"
	"wavex/internal/record"
	"wavex/internal/ui"
	"wavex/runner"
	"wavex/scheduler"
)

// Console is where a session shows itself, and who can be asked there.
type Console struct {
	View   ui.View          // closed when the loop has ended
	Person scheduler.Person // asked at gates; nil: nobody sits there
	Judge  Judge            // judges what a thorough review finds; nil: nobody does
	// Signals are wishes to stop. Leave gives, after them, the exit code of one to leave
	// at once.
	Signals <-chan scheduler.Signal
	Leave   <-chan int
}

// Judge settles the findings of a thorough review, and may ask the panel about them. It
// is called from a goroutine of a review's own, one at a time, and returns soon after
// ctx ends.
type Judge interface {
	Judge(ctx context.Context, p *counsel.Panel, c counsel.ReviewCase, r *counsel.Review)
}

// Outcome is how a session ended.
type Outcome struct {
	End   scheduler.RunEnded
	State *scheduler.State // nil after leaving at once: it belongs to the loop then
	Left  int              // the exit code of leaving at once; 0: it ended by itself
}

// Run wires the loop to the world and runs it. An error means that the run has no end on
// record; a *journal.WriteError among it, that the journal could not be written.
func (r *Session) Run(ctx context.Context, c Console) (Outcome, error) {
	defer lazyGC(len(r.plan.Tasks))()
	r.view = c.View
	if r.config.Stagger == scheduler.Staggered {
		r.responses = make(chan string, 16)
	}
	who := &runner.Agent{Name: r.opts.Agent.Name, Argv: r.opts.Agent.Argv, Prices: r.opts.Prices, Secrets: r.opts.Secrets, Observe: r.observe,
		Run: r.config.Run, Env: proc.Environ(os.Environ(), nil), Rehearsal: r.opts.Agent.Rehearses(), Extra: r.childEnv()}
	if g := r.opts.Grace; g > 0 {
		who.Grace, who.StopWait = g, runner.StopWait{Interrupt: g, Close: g, Terminate: g}
	}
	files := r.projections()
	defer func() { _ = files.Close() }() // what went wrong it has said itself
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
		Views: []scheduler.View{r.view, card, files}, Responses: r.responses, Request: r.request, Case: r.panelCase,
		Recover: func(ctx context.Context, e scheduler.AttemptStarted) runner.Result {
			return r.recover(ctx, r.opts.Prices, e)
		},
		RecoverPanel: r.recoverPanel,
		Clean:        r.clean,
		Now:          time.Now, Luck: luck,
	}
	r.trees.wire(loop)
	seal := func() {}
	if points := r.checkpoints(ctx); points != nil {
		inner := r.pointed(loop.Runner, points)
		loop.Runner, seal = inner, func() { inner.keep(ctx, points.End) }
	}
	panel, err := r.panel(who)
	if err != nil {
		return Outcome{}, errors.Join(err, r.view.Close())
	}
	if r.config.Counsel {
		loop.Panel = witness{panel, r}
	}
	verdicts := &reviews{Session: r, panel: panel, human: c.Judge}
	loop.Review, loop.Verify, loop.Asked, loop.Precheck = verdicts.review, verdicts.verifyCriteria, verdicts.asked, verdicts.precheck
	if diary != nil {
		loop.Views = append(loop.Views, diary)
	}
	list, shown := r.mirror(ctx)
	if list != nil {
		loop.Views = append(loop.Views, list)
	}
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
		_ = files.Close() // before the end is told
		if cerr := r.view.Close(); out.err == nil && cerr != nil && !r.opts.Text {
			fmt.Fprintln(r.opts.Err, "wavex: writing the events:", cerr)
		}
		return Outcome{End: out.end, State: r.state}, out.err
	case code := <-c.Leave:
		// The third signal: the user wants out now. The journal is whole as it is, and a
		// resume settles what is left open.
		_, err := proc.Sweep(context.WithoutCancel(ctx), r.config.Run)
		if err != nil && !errors.Is(err, proc.ErrUnsupported) {
			fmt.Fprintln(r.opts.Err, "wavex: sweeping:", err)
		}
		return Outcome{Left: code}, nil
	}
}

// projections starts to keep the files in .loop up to date. That they cannot be written is
// a warning; the run has its journal.
func (r *Session) projections() *loopdir.Writer {
	return loopdir.NewWriter(r.config.Loop, r.opts.Secrets.Bytes, func(err error) {
		fmt.Fprintln(r.opts.Err, "wavex: warning: the files in .loop are behind the journal; `wavex status --rebuild` writes them again:", err)
	})
}

// kept is a journal that says when somebody else was at it.
type kept struct {
	*record.Journal
	told io.Writer
}

// Sync makes what was appended durable.
func (k kept) Sync() error {
	before := k.Restored()
	err := k.Journal.Sync()
	if k.Restored() > before {
		fmt.Fprintln(k.told, "wavex: warning: the journal in .loop was removed or written to by somebody else, for example by git clean -fdx; it is written again, and nothing of it is lost. Prompts and streams of attempts may be.")
	}
	return err
}

func luck() float64 { return rand.Float64() }

// clean takes the secrets out of an event, before anything is made of it.
func (r *Session) clean(b scheduler.Body) scheduler.Body {
	return r.opts.Secrets.Value(b).(scheduler.Body)
}

// observe shows a sign of life, without secrets: it may quote a command.
func (r *Session) observe(o runner.Observation) {
	o.Text = r.opts.Secrets.String(o.Text)
	r.view.Observe(o)
	if o.Kind == "text" || o.Kind == "tool" {
		select {
		case r.responses <- o.Task:
		default: // nobody asks, or there are enough of them
		}
	}
}

// taskDir is where the files of a task's attempts are.
func (r *Session) taskDir(id string) string {
	return filepath.Join(r.config.Loop, "runs", r.config.Run, "tasks", id)
}

// workDir is where a task works.
func (r *Session) workDir(p *plan.Plan, i int) string { return workDir(r.config.Dir, &p.Tasks[i]) }

func workDir(project string, t *plan.Task) string {
	if s := t.Settings; s != nil && s.Dir != "" {
		return filepath.Join(project, filepath.FromSlash(s.Dir))
	}
	return project
}

// request says what an attempt is to do. It is called by the loop's goroutine.
func (r *Session) request(s *scheduler.State, i int, e scheduler.AttemptStarted) (runner.Request, error) {
	t := &s.Plan.Tasks[i]
	req := runner.Request{
		Run: r.config.Run, Task: t.ID, Attempt: e.Attempt, Slot: e.Slot,
		Dir: r.workDir(s.Plan, i), LogDir: filepath.Join(r.taskDir(t.ID), "attempt-"+strconv.Itoa(e.Attempt)),
		Base: filepath.Join(r.taskDir(t.ID), "base.json"), Shell: t.Command,
		Session: e.Session, Resume: e.Resume, Settings: s.Plan.Settings(i), Cap: e.Cap,
		Files: t.Files, Checks: t.Verify, MustNot: s.Plan.MustNot, Rehearse: t.Rehearse,
	}
	if req.Protect = protect(s.Plan, t); t.Command == "" {
		req.Guards = r.guards(s.Plan, i)
	}
	if r.opts.Agent.Scenario != nil {
		req.Rehearse = r.opts.Agent.Scenario.Block(t.ID, t.Rehearse)
	}
	req.Env = r.traced(req.Env, e)
	if t.Command != "" {
		// Its own folder is made when there is something to put into it.
		return req, r.runsFolder()
	}
	b := r.brief(s, i, e)
	req.Prompt = prompt.Build(s.Plan, i, b)
	if b.Continues {
		b.Continues, b.Interrupts = false, b.More || b.Interrupts
		req.Whole = prompt.Build(s.Plan, i, b)
	}
	if err := os.MkdirAll(req.LogDir, 0o755); err != nil {
		return req, err
	}
	return req, nil
}

// runsFolder makes sure, once, that attempts could keep their files.
func (r *Session) runsFolder() error {
	if r.folder {
		return nil
	}
	err := os.MkdirAll(filepath.Join(r.config.Loop, "runs", r.config.Run, "tasks"), 0o755)
	r.folder = err == nil
	return err
}

// brief gathers what the prompt says beyond the plan.
func (r *Session) brief(s *scheduler.State, i int, e scheduler.AttemptStarted) prompt.Brief {
	t := &s.Tasks[i]
	b := prompt.Brief{Loop: r.config.Loop, Conditions: conditions(t), Continues: e.Resume, More: e.Why == "continue"}
	b.Context, b.Notes = tracked(r.config.Track)
	for _, j := range s.Plan.Graph.Blockers(i) {
		done := prompt.Blocker{ID: s.Plan.Tasks[j].ID, Subject: s.Plan.Tasks[j].Subject}
		if last := s.Tasks[j].Last; last != nil {
			done.Report = last.Report
		}
		b.Blockers = append(b.Blockers, done)
	}
	if t.Last == nil {
		return b
	}
	if t.Last.Outcome == runner.Interrupted {
		b.Interrupts = true
		return b
	}
	if !t.Last.Outcome.Stuck() {
		return b
	}
	b.Previous = &prompt.Previous{Error: t.Last.Reason, Attempt: max(1, e.Try-1), Of: s.Retries(i)}
	if t.Last.Detail != "" {
		b.Previous.Error += "\n" + t.Last.Detail
	}
	if len(t.Last.Changed) > 0 && t.Last.Outcome != runner.Wrong {
		// It was stopped at work, which may be good as far as it goes.
		b.Previous.Error += "\nIt had changed these files by then, look at them before you start over: " + strings.Join(t.Last.Changed, ", ")
	}
	if t.Advice != nil {
		b.Previous.Analysis, b.Previous.Fix, b.Previous.Dissent = t.Advice.Analysis, t.Advice.Fix, t.Advice.Dissent
	}
	return b
}

// recover settles an attempt that an earlier wavex started and did not see end: its
// processes are found by their mark and stopped first, then its stream is priced.
func (r *Session) recover(ctx context.Context, prices runner.Pricer, e scheduler.AttemptStarted) runner.Result {
	mark := fmt.Sprintf("%s/%s/%d", r.config.Run, e.Task, e.Attempt)
	_, err := proc.Sweep(ctx, mark)
	res := runner.Result{Outcome: runner.Interrupted, Reason: "wavex ended before the attempt did", Contained: err == nil}
	spent, err := runner.Recall(filepath.Join(r.taskDir(e.Task), "attempt-"+strconv.Itoa(e.Attempt)), prices, e.Cap)
	if err != nil {
		spent.Cost, spent.Priced = e.Cap, "cap"
	}
	res.Cost, res.Priced, res.Usage, res.Session = spent.Cost, spent.Priced, spent.Usage, spent.Session
	if spent.Session != "" {
		res.Turns = 1 // there is a conversation to go on with
	}
	return res
}
