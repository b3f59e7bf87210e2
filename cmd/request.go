package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/request"
	"wavex/internal/runlog"
	"wavex/internal/secret"
	"wavex/internal/textfmt"
	"wavex/internal/ui"
	"wavex/internal/usererr"
)

// This file turns the flags of start and plan into the stages from a request to a plan. Package
// internal/request holds the stages.

// requestOptions holds the flags of start and plan beyond those of a run.
type requestOptions struct {
	run      *runOptions
	text     string // the request; "" continues the recorded one
	planOnly bool
	offline  bool
	workflow string
	shape    string
	score    []int // of the five dimensions; nil: computed
	force    bool
	planFile string // plan file
}

// requestCommand holds the wired stages from a request to a plan.
type requestCommand struct {
	requestOptions
	std      Stdio
	dir      string
	loop     loop.Dir
	past     []event.Event
	progress *request.Progress // nil: a new request
	config   event.RequestConfig
	id       string
	secrets  *secret.Redactor
	prompter *prompter        // nil: there is no person to ask
	intake   *request.Machine // nil: not opened yet
}

// load reads the journal of the current directory and decides whether its request is continued. It
// returns finished if the request already has a run, which is then continued instead.
func (q *requestCommand) load(ctx context.Context) (finished bool, err error) {
	if q.text = strings.TrimSpace(q.text); q.text == "" {
		q.dir, err = projectDir("")
	} else { // a new request is about the current directory
		q.dir, err = os.Getwd()
	}
	if err != nil {
		return false, err
	}
	q.loop = loop.In(q.dir)
	if q.past, err = readPast(ctx, q.loop, q.run.fresh); err != nil {
		return false, err
	}
	last := runlog.Last(q.past)
	busy := last != nil && !last.Final()
	if q.progress, err = request.ReadProgress(q.past); err != nil {
		return false, usererr.Blocked(fmt.Errorf("%w; start over with --fresh, which moves .loop aside", err))
	}
	s := q.progress
	same := s != nil && (q.text == "" || q.text == s.Opened.Request)
	switch {
	case s != nil && !s.RunStarted && same && (q.text == "" || s.Opened.Config.Offline == q.offline):
		return false, nil
	case s != nil && s.RunStarted && same && busy && !q.planOnly:
		return true, nil
	case q.text == "" && busy:
		return false, &unfinishedError{q.noRequestError(busy, last), last}
	case q.text == "":
		return false, q.noRequestError(busy, last)
	case busy && (s == nil || s.RunStarted):
		return false, &unfinishedError{usage("an unfinished run of %s is here; continue it with: wavex resume, "+
			"or start over with --fresh", last.Plan), last}
	case s != nil && !s.RunStarted && !s.NotReady && !s.Planned && !s.Opened.Config.Offline:
		return false, &unfinishedError{usage("another request is under way here: %q; continue it with: wavex start, "+
			"or start over with --fresh", s.Opened.Request), nil}
	}
	q.progress = nil
	return false, nil
}

// resolveConfig builds the request's configuration from the record, the flags and the defaults.
func (q *requestCommand) resolveConfig() error {
	c := event.DefaultConfig()
	c.Limits = budget.Limits{USD: plan.DefaultUSD, NoIterations: true}
	if err := q.checkGivenFlags(); err != nil {
		return err
	}
	if q.progress != nil {
		q.id, q.config = q.progress.Opened.Run, q.progress.Opened.Config
		c.Limits = q.config.Limits
	} else {
		q.id = runlog.NewID(time.Now())
		q.config = event.RequestConfig{Agent: q.run.want.Agent, PlanOnly: q.planOnly, Offline: q.offline,
			Workflow: q.workflow, Shape: q.shape, SpecScore: q.score, Force: q.force}
		q.config.Plan = q.loop.Path(loop.Plan)
		if q.planFile != "" {
			abs, err := filepath.Abs(q.planFile)
			if err != nil {
				return err
			}
			if _, err := os.Stat(abs); err == nil && !q.offline {
				return usage("%s is there already; it is never overwritten: name another file with -o, or move it", q.planFile)
			}
			q.config.Plan = abs
		}
	}
	given := q.run.given
	if q.progress != nil { // its limits are on record
		given = q.run.forced
	}
	q.run.apply(&c, func(s setting) bool { return given(s.name) })
	q.config.Limits, q.config.BudgetGiven = c.Limits, q.config.BudgetGiven || given("budget")
	return nil
}

// checkGivenFlags validates the flags that replace computed values. They apply only to a new request: for a
// recorded one they would have no effect.
func (q *requestCommand) checkGivenFlags() error {
	if q.score != nil {
		if _, err := request.GivenScore(q.score); err != nil {
			return usage("--spec-score: %s", err)
		}
	}
	if q.progress == nil {
		return nil
	}
	was := q.progress.Opened.Config
	for _, f := range []struct {
		name string
		same bool
	}{{"workflow", q.workflow == was.Workflow}, {"shape", q.shape == was.Shape},
		{"spec-score", slices.Equal(q.score, was.SpecScore)}} {
		if q.run.flags.Changed(f.name) && !f.same {
			return usage("--%s is settled when a request is opened, and this one is under way; start over with --fresh", f.name)
		}
	}
	return nil
}

// open prepares the stages. It writes only after all checks have passed. view receives the events.
func (q *requestCommand) open(ctx context.Context, view func(event.Event)) error {
	if err := q.resolveConfig(); err != nil {
		return err
	}
	var who agent.Agent
	var err error
	if !q.config.Offline {
		if who, err = findAgent(q.run, q.config.Agent, true); err != nil {
			return err
		}
	}
	prices, err := loadPrices(q.run.want.Prices)
	if err != nil {
		return err
	}
	if !q.config.Offline && !who.IsRehearsal() {
		if _, err := checkCLI(ctx, &who, proc.Environ(os.Environ(), nil), q.std); err != nil {
			return err
		}
	}
	roster, err := counsel.LoadRoster(q.loop.Path(loop.Experts))
	if err != nil {
		return usererr.Input(err)
	}
	if err := q.promptSettings(ctx); err != nil {
		return err
	}
	if q.run.output == "text" {
		discloseState(q.loop, q.std)
	}
	if q.config.Agent == agent.Rehearsal && q.run.scenario == "" && !q.force {
		q.force = true
		q.notify("rehearsal: the request is taken as it is; Claude Code scores it, and asks about an unclear one")
	}
	o := request.Options{
		Dir: q.dir, Loop: q.loop, ID: q.id, New: q.progress == nil, Text: q.text, Config: q.config, Fresh: q.run.fresh,
		JournalLen:  len(q.past),
		BudgetGiven: q.run.given("budget"), Force: q.force, Agent: who, Prices: prices, Experts: roster,
		Redactor: q.secrets,
		Watchdog: WatchdogArgv(), Notify: q.notify, View: view,
	}
	if q.prompter != nil {
		o.Prompter = q.prompter
	}
	q.intake, err = request.Open(o)
	return err
}

// noRequestError returns the error that there is no request to continue. It contains an example that is
// clear enough to be planned.
func (q *requestCommand) noRequestError(busy bool, last *runlog.Run) error {
	also := ""
	if busy && !q.planOnly {
		also = fmt.Sprintf(" (the unfinished run of %s continues with: wavex resume)", last.Plan)
	}
	return usage(
		"there is no request to continue%s; give one that says what changes where, what must stay, and what shows that it is done, as in:\n  wavex %s %q",
		also, q.verb(), "add a --json flag to cmd/status.go; go test ./cmd passes; no new dependencies; done when the tests pass")
}

// close releases the journal.
func (q *requestCommand) close() {
	if q.intake != nil {
		q.intake.Close()
	}
}

// notify prints text for people. If the output is for programs, it prints nothing: they read the
// events.
func (q *requestCommand) notify(text string) {
	if q.run.output == "text" {
		fmt.Fprintln(q.std.Err, textfmt.Block(q.secrets.String(text)))
	}
}

// runStages runs the stages and returns their result. If they stop, it prints the reason with the
// command that continues.
func (q *requestCommand) runStages(ctx context.Context) (request.Result, error) {
	view := func(event.Event) {}
	if q.run.output == "json" {
		events := ui.NDJSON(q.std.Out)
		view = func(e event.Event) { events.Event(e, nil) }
		defer func() { _ = events.Close() }() // a closed output does not matter
	}
	if err := q.open(ctx, view); err != nil {
		return request.Result{}, err
	}
	ctx, stopped := withSignalCancel(ctx)
	res, err := q.intake.Run(ctx)
	code := stopped()
	if err == nil {
		return res, nil
	}
	return res, q.stageError(err, code)
}

// requestPending reports whether the journal of the current directory ends with a request without
// a run.
func requestPending() (bool, error) {
	dir, err := projectDir("")
	if err != nil {
		return false, err
	}
	s, err := pendingRequest(loop.In(dir))
	return s != nil && !s.Opened.Config.PlanOnly && !s.Opened.Config.Offline, err
}

// pendingRequest returns the request without a run with which a journal ends, or nil if there is none.
func pendingRequest(dir loop.Dir) (*request.Progress, error) {
	events, err := runlog.Read(dir)
	if err != nil {
		return nil, err
	}
	s, err := request.ReadProgress(events)
	if err != nil {
		return nil, usererr.Blocked(err)
	}
	if s == nil || s.RunStarted {
		return nil, nil
	}
	return s, nil
}

// seatPerson sets the prompter, if there is a person who may be asked.
func (q *requestCommand) seatPerson() {
	if q.run.output == "text" && !q.run.yes && canPrompt(q.std) {
		q.std = q.std.buffered()
		q.prompter = newPrompter(q.std)
	}
}

// runRequest runs start and plan.
func runRequest(ctx context.Context, o requestOptions, std Stdio) error {
	q := &requestCommand{requestOptions: o, std: std, secrets: secret.New(os.Environ())}
	finished, err := q.load(ctx)
	var left *unfinishedError
	if errors.As(err, &left) {
		err = nil
	}
	if err = cmp.Or(err, o.run.readUser()); err != nil {
		return err
	}
	std.tellPlace(q.dir)
	_ = proc.Subreaper() // see runPlan
	if q.seatPerson(); left != nil {
		if finished, err = q.offerToContinue(ctx, left); err != nil {
			return err
		}
	}
	if !finished { // else the run is resumed, which reads nothing of the project's file
		if err := o.run.readProject(q.dir); err != nil {
			return err
		}
		o.run.tell(nil, std.Err)
	}
	if finished {
		o.run.resuming = true
		return runPlan(ctx, o.run, q.std)
	}
	defer q.close()
	res, err := q.runStages(ctx)
	var list *resumeListError
	if errors.As(err, &list) {
		q.close()
		return q.runTaskList(ctx, list.name)
	}
	if err != nil {
		return err
	}
	if q.config.Offline {
		q.notify("scored offline; nothing was planned")
		if o.run.output == "json" {
			return json.NewEncoder(std.Out).Encode(res.Intent)
		}
		return nil
	}
	if err := q.printPlan(res); err != nil || q.planOnly {
		return err
	}
	p, err := q.confirmPlan(ctx, res)
	if err != nil {
		return err
	}
	if err := q.createTaskList(ctx, p); err != nil {
		return err
	}
	q.close()
	return runPlan(ctx, q.runOptionsFor(p, res.Intent.Decision.Shape), q.std)
}
