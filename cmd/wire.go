package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"wavex/internal/hook"
	"wavex/internal/journal"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/prompt"
	"wavex/internal/rehearse"
	"wavex/internal/report"
	"wavex/internal/ui"
	"wavex/runner"
	"wavex/scheduler"
)

// run wires the loop to the world and runs it.
func (r *session) run(ctx context.Context) error {
	defer lazyGC(len(r.plan.Tasks))()
	if r.config.Stagger == scheduler.Staggered {
		r.responses = make(chan string, 16)
	}
	who := &runner.Agent{Name: r.agent.name, Argv: r.agent.argv, Prices: r.prices, Secrets: r.secrets, Observe: r.observe,
		Run: r.config.Run, Env: proc.Environ(os.Environ(), nil), Rehearsal: r.agent.name == "rehearse", Extra: r.childEnv()}
	if g := r.opts.grace; g > 0 {
		who.Grace, who.StopWait = g, runner.StopWait{Interrupt: g, Close: g, Terminate: g}
	}
	files := r.projections()
	defer func() { _ = files.Close() }() // what went wrong it has said itself
	diary, written := r.diary()
	defer written()
	card := hook.NewMirror(r.config.Loop, contextFile(r.config.Track), r.secrets.Bytes)
	defer func() {
		if err := card.Close(); err != nil {
			fmt.Fprintln(r.std.Err, "wavex: hooks cannot speak of this run:", err)
		}
	}()
	loop := &scheduler.Loop{
		State: r.state, Open: r.open, Journal: eventLog{r.log}, Runner: who,
		Views: []scheduler.View{r.view, card, files}, Responses: r.responses, Request: r.request, Case: r.panelCase,
		Recover: func(ctx context.Context, e scheduler.AttemptStarted) runner.Result {
			return r.recover(ctx, r.prices, e)
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
		return errors.Join(err, r.view.Close())
	}
	if r.config.Counsel {
		loop.Panel = witness{panel, r}
	}
	verdicts := &reviews{session: r, panel: panel, human: r.person()}
	loop.Review, loop.Verify, loop.Asked, loop.Precheck = verdicts.review, verdicts.verifyCriteria, verdicts.asked, verdicts.precheck
	if diary != nil {
		loop.Views = append(loop.Views, diary)
	}
	list, shown := r.mirror(ctx)
	if list != nil {
		loop.Views = append(loop.Views, list)
	}
	sent := r.trace(ctx, loop)
	if r.config.Attended {
		loop.Person = &person{in: bufio.NewReader(r.std.In), out: r.std.Err}
	}
	hooks, told := r.notifier(ctx)
	if hooks != nil {
		loop.Views = append(loop.Views, hooks)
	}
	stopSignals, abandoned := r.signals(loop)
	defer stopSignals()
	guard := contain(ctx, r.config.Run, r.config.Loop)
	defer guard()

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
		seal()
		_ = files.Close() // before the end is told
		end := r.reported(r.finish(out.end, out.err))
		r.propose()
		shown(listWait)
		told()
		sent()
		return r.complete(end)
	case code := <-abandoned:
		// The third signal: the user wants out now. The journal is whole as it is, and a
		// resume settles what is left open.
		_, err := proc.Sweep(context.WithoutCancel(ctx), r.config.Run)
		if err != nil && !errors.Is(err, proc.ErrUnsupported) {
			fmt.Fprintln(r.std.Err, "wavex: sweeping:", err)
		}
		shown(listWaitNot)
		return r.reported(exitCode(code))
	}
}

// complete prints the last block, when everything is done and on record, and passes the
// end on.
func (r *session) complete(end error) error {
	if end != nil || r.mute || r.opts.output != "text" {
		return end
	}
	r.printComplete()
	return nil
}

func (r *session) printComplete() {
	if _, err := r.std.Out.Write(r.secrets.Bytes([]byte(report.Completion(r.state, r.opts.ascii)))); err != nil {
		fmt.Fprintln(r.std.Err, "wavex: writing the last block:", err) // a reader that is gone makes the run no worse
	}
}

// clean takes the secrets out of an event, before anything is made of it.
func (r *session) clean(b scheduler.Body) scheduler.Body {
	return r.secrets.Value(b).(scheduler.Body)
}

// observe shows a sign of life, without secrets: it may quote a command.
func (r *session) observe(o runner.Observation) {
	o.Text = r.secrets.String(o.Text)
	r.view.Observe(o)
	if o.Kind == "text" || o.Kind == "tool" {
		select {
		case r.responses <- o.Task:
		default: // nobody asks, or there are enough of them
		}
	}
}

// rehearsalEnv is what the rehearsal agent is told beyond its assignment: how fast
// time runs, and where it keeps its sessions, so that resuming one can be rehearsed.
func rehearsalEnv(agent, loop, run string) map[string]string {
	if agent != "rehearse" {
		return nil
	}
	env := map[string]string{rehearse.SessionsVar: filepath.Join(loop, "runs", run, "sessions")}
	if speed := os.Getenv(rehearse.SpeedVar); speed != "" {
		env[rehearse.SpeedVar] = speed
	}
	return env
}

// finish closes the view and turns the end into an exit code.
func (r *session) finish(end scheduler.RunEnded, err error) error {
	if cerr := r.view.Close(); err == nil && cerr != nil && r.opts.output == "json" {
		fmt.Fprintln(r.std.Err, "wavex: writing the events:", cerr)
	}
	var full *journal.WriteError
	if errors.As(err, &full) {
		return fmt.Errorf("%w\nwhat was under way was stopped; put that right, then continue with: wavex resume %s", err, r.plan.Path)
	}
	if err != nil {
		return err
	}
	return exitOf(end.ExitCode)
}

// contain makes sure that nothing survives wavex: orphans come to us, and a guard
// sweeps when we are killed; both know the run's control group. Where the system
// offers none of this, the run goes on. What an earlier wavex left in the group is ended.
func contain(ctx context.Context, run, loop string) func() {
	awaitGuard(ctx, loop)
	_ = proc.Subreaper()
	_ = proc.Unenclose(ctx, run)
	open := func() {}
	if e, err := proc.Enclose(run); err == nil {
		open = func() { _ = e.Close(context.WithoutCancel(ctx)) } // the run is over, and what is left of it with it
	}
	self, err := os.Executable()
	if err != nil {
		return open
	}
	guard, err := proc.StartGuard([]string{self, "guard", run, guardLock(loop)}, run)
	if err != nil {
		return open
	}
	guarded(ctx, loop)
	return func() {
		_ = guard.Close()
		open()
	}
}

// eventLog writes events into the journal.
type eventLog struct{ log *journal.Log }

func (l eventLog) Append(e scheduler.Event) error {
	b, err := e.Encode()
	if err != nil {
		return fmt.Errorf("encoding event %d: %w", e.Seq, err)
	}
	return l.log.Append(b)
}

func (l eventLog) Sync() error { return l.log.Sync() }

// taskDir is where the files of a task's attempts are.
func (r *session) taskDir(id string) string {
	return filepath.Join(r.config.Loop, "runs", r.config.Run, "tasks", id)
}

// workDir is where a task works.
func (r *session) workDir(p *plan.Plan, i int) string { return workDir(r.config.Dir, &p.Tasks[i]) }

func workDir(project string, t *plan.Task) string {
	if s := t.Settings; s != nil && s.Dir != "" {
		return filepath.Join(project, filepath.FromSlash(s.Dir))
	}
	return project
}

// request says what an attempt is to do. It is called by the loop's goroutine.
func (r *session) request(s *scheduler.State, i int, e scheduler.AttemptStarted) (runner.Request, error) {
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
	if r.agent.scenario != nil {
		req.Rehearse = r.agent.scenario.Block(t.ID, t.Rehearse)
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
func (r *session) runsFolder() error {
	if r.folder {
		return nil
	}
	err := os.MkdirAll(filepath.Join(r.config.Loop, "runs", r.config.Run, "tasks"), 0o755)
	r.folder = err == nil
	return err
}

// brief gathers what the prompt says beyond the plan.
func (r *session) brief(s *scheduler.State, i int, e scheduler.AttemptStarted) prompt.Brief {
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
func (r *session) recover(ctx context.Context, prices runner.Pricer, e scheduler.AttemptStarted) runner.Result {
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

var _ scheduler.View = ui.View(nil)
