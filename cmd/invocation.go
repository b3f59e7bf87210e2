package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/forecast"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/run"
	"wavex/internal/runlog"
	"wavex/internal/secret"
	"wavex/internal/textfmt"
	"wavex/internal/ui"
	"wavex/internal/usererr"
	"wavex/scheduler"
)

// This file turns flags into a session, and the end of the session into an exit code. Package
// internal/run does the rest.

// invocation holds a run or a resume before its session.
type invocation struct {
	opts       *runOptions
	std        Stdio
	plan       *plan.Plan
	config     event.Config
	resume     bool   // the last run in the journal is resumed
	agreed     string // the project directory of a run of this plan that goes on, or ""
	completed  bool   // an earlier run here was complete
	asks       bool   // a question follows the end of a complete run
	journalLen int    // number of journal records at the time of that decision
	agent      agent.Agent
	prices     budget.Prices
	secrets    *secret.Redactor // cleans all text that is kept or shown
	reports    []reportFile
	webhooks   []ui.Webhook

	fleet              run.Fleet // closed by the session, once that is open
	session            *run.Session
	prompter           *prompter        // the person at the terminal; nil before the first question
	notices            diverter         // stderr, or the live view while it is on the screen
	suppressCompletion bool             // the caller prints the last block
	state              *scheduler.State // at the end; nil if the session was left at once
}

// prepare reads everything, refuses a run that cannot work, and only then writes. So a wrong plan
// or a missing CLI leaves nothing behind. A signal ends the processes that it has started.
func prepare(ctx context.Context, o *runOptions, std Stdio) (r *invocation, err error) {
	r = &invocation{opts: o, std: std, secrets: secret.New(os.Environ())}
	r.notices.to = std.Err
	if err := r.load(ctx); err != nil { // it starts no process, so a signal ends wavex, also at its question
		return nil, err
	}
	ctx, stopped := withSignalCancel(ctx)
	defer func() { r, err = unlessStopped(ctx, r, err, stopped(), std) }()
	if err := r.checkTrust(ctx); err != nil {
		return nil, err
	}
	if r.agent, err = findAgent(o, r.config.Agent, needsCLI(r.plan, &r.config)); err != nil {
		return nil, err
	}
	if ids := r.agent.UnknownTasks(r.plan); len(ids) > 0 {
		fmt.Fprintf(r.std.Err, "wavex: warning: %s names tasks that the plan does not have: %s\n", o.scenario,
			strings.Join(ids, ", "))
	}
	if _, unknown := r.agent.MakesUp(r.plan); len(unknown) > 0 {
		fmt.Fprintf(r.std.Err,
			"wavex: rehearsal: without a rehearse block the stand-in does not know how to make true:\n  %s\n",
			textfmt.Block(strings.Join(firstN(unknown, 5), "\n  ")))
	}
	if r.prices, err = loadPrices(r.config.Prices); err != nil {
		return nil, err
	}
	if err := errors.Join(r.checkLimits(), r.checkRoster()); err != nil {
		return nil, err
	}
	if err := r.preflight(ctx); err != nil {
		return nil, err
	}
	if err := r.connectFleet(ctx); err != nil {
		return nil, err
	}
	defer closeUnused(ctx, r, &err)
	w, err := r.tryWall(ctx)
	if err != nil {
		return nil, err
	}
	r.disclose()
	r.session, err = run.Open(ctx, run.Options{
		Plan: r.plan, Config: r.config, Resume: r.resume, Fresh: r.opts.fresh, JournalLen: r.journalLen, Version: Version(),
		// The CLI puts its session into the environment of every tool command (observed on claude 2.1.330).
		OwnerSession: os.Getenv("CLAUDE_CODE_SESSION_ID"),
		Agent:        r.agent, Prices: r.prices, Redactor: r.secrets, Watchdog: WatchdogArgv(), Wall: w,
		Fleet: r.fleet, Grace: o.grace,
		Webhooks: r.webhooks, WebhookSecret: os.Getenv(webhookSecretVar), AgreeToPlan: r.agreeToPlan(ctx),
		Err: &r.notices, Notices: o.output == "text",
	})
	if err != nil {
		return nil, err
	}
	r.config = r.session.Config()
	return r, nil
}

// unlessStopped returns r and err, or if a signal has come, an error with its exit code.
func unlessStopped(ctx context.Context, r *invocation, err error, code int, std Stdio) (*invocation, error) {
	if code == 0 {
		return r, err
	}
	if err == nil {
		r.close(ctx)
	}
	fmt.Fprintln(std.Err, "wavex: interrupted before the first attempt; give the command again to go on")
	return nil, exitCode(code)
}

// load reads the plan and the journal, decides between a new run and a resume, and configures the run.
func (r *invocation) load(ctx context.Context) error {
	o := r.opts
	var dir string
	var past []event.Event
	var err error
	if o.planPath == "" {
		// A resume without a plan takes the plan from the journal.
		if dir, err = projectDir(""); err != nil {
			return err
		}
		if o.planPath, past, err = unfinishedPlan(ctx, dir); err != nil {
			return err
		}
	}
	ours := ""
	if !o.fresh {
		ours = listRunID(o.planPath, true)
	}
	if o.planPath, err = pathFromAnywhere(o.planPath); err != nil {
		return err
	}
	if err := planfile.CheckReopenable(o.planPath); err != nil {
		return err
	}
	p, diags, given, err := o.params.load(o.planPath, ours, false)
	if err != nil {
		return err
	}
	if p == nil {
		return planfile.NewPlanError(diags)
	}
	r.plan = p
	if dir == "" {
		if dir, err = projectOf(p); err != nil {
			return err
		}
		if past, err = readPast(ctx, loop.In(dir), o.fresh); err != nil {
			return err
		}
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return usage("the project directory %s is not there; it is the plan's defaults.dir, relative to the plan", dir)
	}
	old, err := r.settle(past, dir)
	if err != nil {
		return err
	}
	if diags, err = r.loadWithValues(ours, old, given, diags); err != nil {
		return err
	}
	for _, l := range plan.Lines(diags) {
		if o.output == "text" {
			fmt.Fprintln(r.std.Err, l)
		}
	}
	return r.configure(old, dir)
}

// loadWithValues reads a plan with parameters or lists again, with the values of the run, and returns its diagnostics.
// Those of another plan stay. old is the configuration of the resumed run, or nil.
func (r *invocation) loadWithValues(run string, old *event.Config, given []plan.GivenParam,
	diags []plan.Diagnostic) ([]plan.Diagnostic, error) {
	values := plan.ParamOptions{Given: given}
	if old != nil {
		values = plan.RunParams(old.Params, old.Lists, given...)
	}
	if len(r.plan.Params)+len(values.Lists) == 0 {
		return diags, nil
	}
	values.Required = true
	p, diags, err := planfile.LoadWith(r.opts.planPath, run, values)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, planfile.NewPlanError(diags)
	}
	for name, v := range p.ParamValues() {
		if !bytes.Equal(r.secrets.Data().Bytes(v), v) {
			return nil, usage("parameter %s holds a secret, and the values of a run are kept; let commands read the secret "+
				"from a variable of the environment", name)
		}
	}
	r.plan = p
	return diags, nil
}

// settle decides between a new run and a resume, reads the settings files, and checks the values that depend on no
// plan. It returns the configuration of the resumed run, or nil.
func (r *invocation) settle(past []event.Event, dir string) (old *event.Config, err error) {
	o := r.opts
	if err := o.readUser(); err != nil {
		return nil, err
	}
	r.std.tellPlace(dir)
	if old, err = r.chooseRun(past, dir); err != nil {
		return nil, err
	}
	if old == nil {
		if err := o.readProject(dir); err != nil {
			return nil, err
		}
		o.tell(planSettings(r.plan), r.std.Err)
	}
	r.completed = slices.ContainsFunc(past, func(e event.Event) bool {
		end := e.End()
		return end != nil && end.Status == event.RunComplete
	})
	if r.journalLen = len(past); o.fresh { // also if the user chose so just now: the journal is moved aside
		r.journalLen = 0
	}
	if r.reports, err = parseReports(o.named("report"), o.reports); err != nil {
		return nil, err
	}
	r.webhooks, err = parseWebhooks(o.named("webhook"), o.webhooks)
	return old, err
}

// configure sets the configuration of a new run, or of a resume of old.
func (r *invocation) configure(old *event.Config, dir string) (err error) {
	o := r.opts
	r.resume = old != nil
	r.config, err = resolveConfig(o, r.plan, dir, old)
	if asked := o.want.Isolation; old != nil && o.forced("isolation") && asked != "auto" && asked != old.Isolation {
		fmt.Fprintf(r.std.Err,
			"wavex: warning: %s %s changes nothing: a run keeps its mode, %s; wavex run starts over with --fresh\n",
			o.named("isolation"), asked, old.Isolation)
	}
	r.config.Outputs = r.outputs()
	r.config.Attended = (r.config.Gates != "" || r.config.Mode == event.Interactive) && r.isAttended()
	// If no person can agree to a retry, auto_loop: false means no retries.
	once := !r.config.Attended && o.origins["mode"].loopsOff && !o.forced("mode") && !o.forced("max-retries")
	set(once, &r.config.MaxRetries, 0)
	set(once, &r.config.ForceRetries, true)
	if err == nil && o.shareList && (old == nil || o.forced("share-task-list")) {
		err = r.resolveSharedList()
	}
	if err != nil || o.resuming { // retry has found its tasks in the plan of the run, which may have more
		return err
	}
	for k, name := range r.config.Only {
		if r.plan.Group(name) != nil {
			continue
		}
		if r.config.Only[k], err = findTask(r.plan, name); err != nil {
			return err
		}
	}
	return nil
}

// unfinishedPlan returns the path of the plan of the unfinished run in a project directory, and the events there.
func unfinishedPlan(ctx context.Context, dir string) (path string, past []event.Event, err error) {
	if past, err = readPast(ctx, loop.In(dir), false); err != nil {
		return "", nil, err
	}
	last := runlog.Last(past)
	if last == nil {
		return "", nil, runlog.NoRunError(loop.In(dir))
	}
	if last.Final() {
		return "", nil, usage("there is no unfinished run; start one with: wavex run %s",
			plan.ShellQuote(displayPath(last.Plan)))
	}
	path, err = last.In(loop.In(dir)).PlanPath()
	return displayPath(path), past, err
}

// chooseRun returns the configuration of the run to resume, or nil for a new run.
func (r *invocation) chooseRun(past []event.Event, dir string) (*event.Config, error) {
	o, last := r.opts, runlog.Last(past)
	if last == nil || last.Final() {
		if o.resuming {
			return nil, usage("there is no unfinished run; start one with: wavex run %s", plan.ShellQuote(r.plan.Path))
		}
		return nil, nil
	}
	same := hasPlan(last, dir, r.plan)
	switch {
	case o.fresh:
		return nil, nil
	case !same && !o.resuming:
		return nil, usage("an unfinished run of another plan (%s) is here; wavex resume %s continues it with this plan, "+
			"--fresh moves it aside", last.Plan, plan.ShellQuote(r.plan.Path))
	}
	old, err := r.resumeOrFresh(past, last, dir)
	if old != nil && same {
		r.agreed = dir
	}
	return old, err
}

// hasPlan reports whether the run in the project in dir is one of p, by its file or its content.
func hasPlan(last *runlog.Run, dir string, p *plan.Plan) bool {
	return last.Digest == p.Digest || planfile.SamePath(last.In(loop.In(dir)).Plan, p.Path)
}

// checkLimits refuses limits of a new run that cannot suffice, before anything is spent.
func (r *invocation) checkLimits() error {
	if r.opts.allowShort || r.resume {
		return nil
	}
	if w := forecast.InsufficientLimits(r.plan, r.config.Limits); len(w) > 0 {
		return usage("%s; raise the limit, or go on with --allow-short", w[0].Message)
	}
	return nil
}

// checkRoster refuses wrong expert profiles, before anything is written.
func (r *invocation) checkRoster() error {
	if _, err := counsel.LoadRoster(r.config.Loop.Path(loop.Experts)); err != nil {
		return usererr.Input(err)
	}
	return nil
}

// run runs the session and prints its end.
func (r *invocation) run(ctx context.Context) error {
	c := run.Console{View: r.newView(), Judge: r.findingJudge(), Approver: r.approver()}
	c.Calls, c.Allow = r.callPrompter(c.View), r.allowAlways
	stop := r.forwardSignals(&c)
	defer stop()
	out, err := r.session.Run(ctx, c)
	r.state = out.State
	end := r.withReports(r.exitError(out, err))
	r.close(ctx)
	if end == nil && out.End.Status == event.RunComplete && !r.suppressCompletion {
		r.printComplete()
	}
	return end
}

// exitError maps the end of the session to an exit code.
func (r *invocation) exitError(out run.Result, err error) error {
	var lost *journal.WriteError
	switch {
	case errors.As(err, &lost):
		return &advisedError{err, fmt.Sprintf("what was under way was stopped; %s, then continue with: wavex resume %s",
			continueAdvice(err), plan.ShellQuote(r.plan.Path))}
	case err != nil:
		return err
	case out.AbortCode != 0:
		return exitCode(out.AbortCode)
	}
	return exitStatus(out.End.ExitCode)
}

// printComplete prints the last block once everything is done and recorded.
func (r *invocation) printComplete() {
	if r.opts.output != "text" {
		return
	}
	if _, err := r.std.Out.Write(r.secrets.Bytes([]byte(report.Completion(r.state, outputColumns(r.std.Out),
		asciiOnly(r.opts.ascii, r.std.Out, os.Getenv))))); err != nil {
		fmt.Fprintln(r.std.Err, "wavex: writing the last block:", err) // a closed output does not fail the run
	}
}

func (r *invocation) newView() ui.View {
	if r.opts.output == "json" {
		return ui.NDJSON(r.std.Out)
	}
	if r.suppressCompletion || !r.opts.status && (r.opts.given("status-block") || isTerminal(r.std.Out)) {
		return r.peopleView()
	}
	return ui.WithStatusBlocks(r.peopleView(), redactingWriter{r.std.Out, r.secrets})
}

// redactingWriter removes secrets. Unlike secret.Redactor.Writer it holds nothing back, since a frame of a view does not
// end in a newline. A secret must be whole in one write, as lines and frames are.
type redactingWriter struct {
	w       io.Writer
	secrets *secret.Redactor
}

func (r redactingWriter) Write(p []byte) (int, error) {
	if _, err := r.w.Write(r.secrets.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// peopleView returns the view on stderr. The plan is that of its file, so its texts may have secrets.
func (r *invocation) peopleView() ui.View {
	asks := r.config.Attended || r.decidesCalls()
	o := ui.Options{ASCII: asciiOnly(r.opts.ascii, r.std.Err, os.Getenv), Interactive: asks, NextLater: r.asks}
	if !r.opts.plain && !asks && setLive(&o, r.std.Err) {
		v := ui.Terminal(redactingWriter{r.std.Err, r.secrets}, o)
		r.notices.divert(v)
		return v
	}
	return ui.Plain(redactingWriter{r.std.Err, r.secrets}, o)
}

// close releases the resources that prepare acquired.
func (r *invocation) close(ctx context.Context) {
	r.session.Close(ctx)
}
