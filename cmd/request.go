package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/agent"
	"wavex/internal/decompose"
	"wavex/internal/intent"
	"wavex/internal/journal"
	"wavex/internal/learn"
	"wavex/internal/loopdir"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/record"
	"wavex/internal/refuse"
	"wavex/internal/secret"
	"wavex/internal/stage"
	"wavex/internal/ui"
	"wavex/internal/userdata"
	"wavex/internal/verify"
	"wavex/runner"
	"wavex/scheduler"
)

// This file wires the stages from a request to a plan: for start and plan alike. What
// the stages do is in internal/stage.

// requestOptions are the flags of start and plan beyond those of a run.
type requestOptions struct {
	run      runOptions
	text     string // the request; "" continues the one on record
	planOnly bool
	offline  bool
	workflow string
	shape    string
	score    []int // of the five dimensions; nil: worked out
	force    bool
	to       string // plan file
}

// request is one way from a request to a plan, wired and ready.
type request struct {
	requestOptions
	journal  *record.Journal
	std      Stdio
	dir      string
	loop     string
	past     []scheduler.Event
	standing *stage.Standing // nil: a new request is opened
	config   scheduler.RequestConfig
	id       string
	agent    agent.Agent
	prices   budget.Prices
	secrets  *secret.Redactor
	person   *person // nil: nobody can be asked
}

// load reads the journal of the current directory and decides whether its request is
// continued. finished says that there is a run of it already, which is to be continued.
func (q *request) load() (finished bool, err error) {
	if q.dir, err = os.Getwd(); err != nil {
		return false, err
	}
	q.loop = filepath.Join(q.dir, ".loop")
	q.text = strings.TrimSpace(q.text)
	if !q.run.fresh {
		if q.past, err = record.Read(q.loop); err != nil {
			return false, err
		}
	}
	last := record.Last(q.past)
	busy := last != nil && !last.Over()
	if q.standing, err = stage.Stand(q.past); err != nil {
		return false, refuse.Blocked(fmt.Errorf("%w; start over with --fresh, which moves .loop aside", err))
	}
	s := q.standing
	same := s != nil && (q.text == "" || q.text == s.Opened.Request)
	switch {
	case s != nil && !s.Ran && same && (q.text == "" || s.Opened.Config.Offline == q.offline):
		return false, nil
	case s != nil && s.Ran && same && busy && !q.planOnly:
		return true, nil
	case q.text == "":
		return false, usage("there is no request to continue; give one, as in: wavex start \"add a --json flag to cmd/status.go\"")
	case busy && (s == nil || s.Ran):
		return false, usage("an unfinished run of %s is here; continue it with: wavex resume, or start over with --fresh", last.Plan)
	case s != nil && !s.Ran && !s.NotReady && !s.Planned && !s.Opened.Config.Offline:
		return false, usage("another request is under way here: %q; continue it with: wavex start, or start over with --fresh", s.Opened.Request)
	}
	q.standing = nil
	return false, nil
}

// settle makes the request's configuration: from the record, flags and defaults.
func (q *request) settle() error {
	c := scheduler.DefaultConfig()
	c.Limits = budget.Limits{USD: budget.DefaultUSD, NoIterations: true}
	if err := q.given(); err != nil {
		return err
	}
	if q.standing != nil {
		q.id, q.config = q.standing.Opened.Run, q.standing.Opened.Config
		c.Limits = q.config.Limits
	} else {
		q.id = record.NewID(time.Now())
		q.config = scheduler.RequestConfig{Agent: q.run.agent, PlanOnly: q.planOnly, Offline: q.offline, Workflow: q.workflow, Shape: q.shape, SpecScore: q.score, Force: q.force}
		q.config.Plan = filepath.Join(q.loop, "plan.json")
		if q.to != "" {
			abs, err := filepath.Abs(q.to)
			if err != nil {
				return err
			}
			if _, err := os.Stat(abs); err == nil && !q.offline {
				return usage("%s is there already; it is never overwritten: name another file with -o, or move it", q.to)
			}
			q.config.Plan = abs
		}
	}
	if err := resolveLimits(q.run, &c); err != nil {
		return err
	}
	q.config.Limits = c.Limits
	return nil
}

// given judges the flags that settle what is otherwise found out. They belong to the
// opening of a request: for one that is on record they would say nothing.
func (q *request) given() error {
	if q.score != nil {
		if _, err := intent.Given(q.score); err != nil {
			return usage("--spec-score: %s", err)
		}
	}
	if q.standing == nil {
		return nil
	}
	was := q.standing.Opened.Config
	for _, f := range []struct {
		name string
		same bool
	}{{"workflow", q.workflow == was.Workflow}, {"shape", q.shape == was.Shape}, {"spec-score", slices.Equal(q.score, was.SpecScore)}} {
		if q.run.changed(f.name) && !f.same {
			return usage("--%s is settled when a request is opened, and this one is under way; start over with --fresh", f.name)
		}
	}
	return nil
}

// open makes everything ready. Only when nothing is wrong it writes.
func (q *request) open(ctx context.Context) (*stage.Machine, error) {
	if err := q.settle(); err != nil {
		return nil, err
	}
	var err error
	if !q.config.Offline {
		if q.agent, err = findAgent(ctx, q.run, q.config.Agent, &plan.Plan{Tasks: make([]plan.Task, 1)}); err != nil {
			return nil, err
		}
	}
	if q.prices, err = loadPrices(q.run.prices); err != nil {
		return nil, err
	}
	roster, err := counsel.LoadRoster(filepath.Join(q.loop, "experts"), q.run.blocked)
	if err != nil {
		return nil, usage("%s", err)
	}
	if err := q.menu(); err != nil {
		return nil, err
	}
	log, past, err := record.Open(q.loop, q.id, q.run.fresh, len(q.past))
	if err != nil {
		return nil, err
	}
	q.journal = log
	m := q.machine(past)
	m.Panel.Experts = roster
	if q.standing != nil {
		return m, nil
	}
	return m, m.Open(scheduler.RequestOpened{Run: q.id, Request: q.text, Config: q.config})
}

// machine wires the stages to the world.
func (q *request) machine(past []scheduler.Event) *stage.Machine {
	who := &runner.Agent{Name: q.agent.Name, Argv: q.agent.Argv, Prices: q.prices, Secrets: q.secrets, Run: q.mark(), Env: os.Environ(),
		Rehearsal: q.agent.Rehearses(), Extra: q.agent.Env(q.loop, q.id)}
	ask := q.agent.Caller(who)
	m := &stage.Machine{
		Journal: q.journal, Past: past, Now: time.Now, Caller: ask, Panel: &counsel.Panel{Caller: ask},
		Dir: q.dir, Loop: q.loop, Limits: q.config.Limits, Rehearsal: who.Rehearsal, Force: q.force, Learnings: q.learnings, Maxims: userdata.Maxims,
		Done: func(c plan.Check) bool { return looks(q.dir, c) },
		Mark: q.mark(),
		Recover: func(c scheduler.CallStarted, logDir string) budget.USD {
			_, _ = proc.Sweep(context.Background(), c.Mark) // what cannot be ended now is not ours any more
			cost, known := counsel.Recall(logDir, q.prices)
			if !known {
				return max(cost, c.Cap)
			}
			return cost
		},
		Clean: func(b scheduler.Body) scheduler.Body { return q.secrets.Value(b).(scheduler.Body) },
		Say:   q.say,
	}
	if q.run.changed("budget") {
		if q.config.Limits.NoUSD {
			m.PlanBudget = map[string]any{"usd": "none"}
		} else {
			m.PlanBudget = map[string]any{"usd": q.config.Limits.USD.Float()}
		}
	}
	if q.person != nil {
		m.Person = q.person
	}
	return m
}

// learnings are those of the project and of the user.
func (q *request) learnings() ([]learn.Learning, error) { return userdata.Learnings(q.dir, q.say) }

// close gives the journal back.
func (q *request) close() {
	if q.journal != nil {
		q.journal.Close()
	}
}

// mark is what the processes of this session bear.
func (q *request) mark() string { return fmt.Sprintf("%s-%d", q.id, os.Getpid()) }

// looks tells whether a check of a file is true; it starts nothing.
func looks(dir string, c plan.Check) bool {
	if c.Run != "" {
		return false
	}
	seen, err := verify.Run(context.Background(), dir, nil, []plan.Check{c})
	return err == nil && verify.Passed(seen)
}

// say tells a person; where the output is for programs nothing is told but the events.
func (q *request) say(text string) {
	if q.run.output == "text" {
		fmt.Fprintln(q.std.Err, q.secrets.String(text))
	}
}

// through goes through the stages, and gives what came of it. What stops them is told,
// with the command that continues.
func (q *request) through(ctx context.Context) (stage.Result, error) {
	m, err := q.open(ctx)
	if err != nil {
		return stage.Result{}, err
	}
	m.View = func(e scheduler.Event) { q.project(m, e) }
	if q.run.output == "json" {
		view := ui.NDJSON(q.std.Out)
		m.View = func(e scheduler.Event) { view.Event(e, nil); q.project(m, e) }
		defer func() { _ = view.Close() }() // a reader that has gone away does not matter
		if q.standing == nil {
			view.Event(scheduler.Event{Seq: int64(len(m.Past)) + 1, Time: time.Now().UTC(), Body: m.Opened()}, nil)
		}
	}
	ctx, stopped := interruptible(ctx)
	guard := proc.Contain(ctx, guardArgv(), q.mark(), filepath.Join(q.loop, "guard.lock"))
	res, err := m.Run(ctx)
	guard()
	code := stopped()
	if err == nil {
		return res, nil
	}
	return res, q.stop(err, code, m)
}

// project keeps workflow-state.json while there is no run yet. A file that cannot be
// written stops nothing: the journal has it.
func (q *request) project(m *stage.Machine, e scheduler.Event) {
	if _, ok := e.Body.(scheduler.StageEnded); !ok {
		return
	}
	s, err := m.Standing()
	if err == nil && s.Stage != "executing" {
		err = loopdir.WriteStage(q.loop, q.secrets.Bytes, loopdir.Stage{Name: s.Stage, Request: s.Opened.Request, Plan: s.Opened.Config.Plan,
			Run: s.Opened.Run, Scored: s.Origin, Started: s.Since, Updated: s.At, Seq: s.Seq, Spent: s.Spent.Float()})
	}
	if err != nil {
		q.say("warning: " + err.Error())
	}
}

// interruptible is ctx until a signal; stopped ends the listening and gives the signal's
// exit code, 0 for none.
func interruptible(ctx context.Context) (_ context.Context, stopped func() int) {
	ctx, cancel := context.WithCancelCause(ctx)
	in := make(chan os.Signal, 1)
	quit, done := make(chan struct{}), make(chan int, 1)
	signal.Notify(in, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-quit:
			done <- 0
		case s := <-in:
			cancel(scheduler.ErrInterrupted)
			if s == syscall.SIGTERM {
				done <- exitSIGTERM
			} else {
				done <- exitSIGINT
			}
		}
	}()
	return ctx, func() int {
		signal.Stop(in)
		close(quit)
		code := <-done
		cancel(nil)
		return code
	}
}

// stop tells why the stages ended before the plan, and gives the exit code.
func (q *request) stop(err error, signalled int, m *stage.Machine) error {
	var (
		vague   *stage.NotReady
		large   *stage.TooLarge
		call    *stage.CallError
		refusal *decompose.Refusal
		limit   *budget.LimitError
		shape   *stage.ShapeError
		full    *journal.WriteError
	)
	again := "wavex start"
	if q.config.PlanOnly {
		again = "wavex plan"
	}
	out := q.std.Err
	spent := fmt.Sprintf("spent so far: %s", m.Spent().Spent())
	switch {
	case signalled != 0:
		fmt.Fprintf(out, "wavex: interrupted; %s; continue with: %s\n", spent, again)
		return exitCode(signalled)
	case errors.As(err, &vague):
		q.tellVague(vague)
		return exitCode(exitBlocked)
	case errors.As(err, &large):
		fmt.Fprintf(out, "wavex: %s; nothing was started. Take them one after the other:\n", err)
		for i, p := range large.Proposals {
			fmt.Fprintf(out, "  %d. %s\n     wavex start %q\n", i+1, p.Name, p.Request)
		}
		return exitCode(exitBlocked)
	case errors.As(err, &refusal):
		fmt.Fprintf(out, "wavex: the planner gave no valid plan in %d rounds (%s); nothing was started. What was wrong with the last one:\n", refusal.Rounds, spent)
		for _, p := range refusal.Problems {
			fmt.Fprintln(out, "  - "+q.secrets.String(p))
		}
		fmt.Fprintln(out, "Word the request otherwise, or write the plan by hand: wavex schema, wavex check")
		return exitCode(exitBlocked)
	case errors.As(err, &limit):
		st := "wavex: " + limit.Error()
		fmt.Fprintf(out, "%s; continue with: %s --budget +10\n", st, again)
		return exitCode(exitLimit)
	case errors.As(err, &call):
		return q.stopCall(call, again, spent)
	case errors.As(err, &shape):
		return refuse.Blocked(fmt.Errorf("%w; put it right or remove it, then continue with: %s", err, again))
	case errors.As(err, &full):
		return fmt.Errorf("%w\nput that right, then continue with: %s", err, again)
	case errors.Is(err, errNoAnswer):
		fmt.Fprintf(out, "wavex: no answer, so nothing more was done; %s; continue with: %s\n", spent, again)
		return exitCode(exitBlocked)
	}
	return err
}

// stopCall maps how a question ended to an exit code, as for attempts.
func (q *request) stopCall(c *stage.CallError, again, spent string) error {
	fmt.Fprintf(q.std.Err, "wavex: %s; %s", q.secrets.String(c.Error()), spent)
	code := exitBlocked
	switch c.Outcome {
	case runner.Limited, runner.Throttled:
		code = exitReset
		if !c.ResetsAt.IsZero() {
			fmt.Fprintf(q.std.Err, "; resume_at: %s", c.ResetsAt.UTC().Format(time.RFC3339))
		}
	case runner.OverCap:
		code = exitLimit
		again += " --budget +10"
	case runner.Interrupted:
		code = exitSIGINT
	}
	fmt.Fprintf(q.std.Err, "; continue with: %s\n", again)
	return exitCode(code)
}

// tellVague prints what is missing, and per dimension a question and two proposals.
func (q *request) tellVague(e *stage.NotReady) {
	fmt.Fprintf(q.std.Err, "wavex: %s; nothing was planned.\n", e)
	for _, a := range e.Asked {
		fmt.Fprintf(q.std.Err, "  %s: %s\n", a.Dimension, a.Question)
		for i, p := range a.Proposals {
			fmt.Fprintf(q.std.Err, "    %c) %s\n", 'a'+i, p)
		}
	}
	fmt.Fprintln(q.std.Err, "Give the request again with the answers in it; --force goes on as it is.")
}

// requestUnderWay tells whether the journal of the current directory ends in a request
// that no run was made of yet.
func requestUnderWay() (bool, error) {
	dir, err := os.Getwd()
	if err != nil {
		return false, err
	}
	events, err := record.Read(filepath.Join(dir, ".loop"))
	if err != nil {
		return false, err
	}
	s, err := stage.Stand(events)
	if err != nil {
		return false, refuse.Blocked(err)
	}
	return s != nil && !s.Ran && !s.Opened.Config.PlanOnly && !s.Opened.Config.Offline, nil
}

// runRequest is the whole of start and plan.
func runRequest(ctx context.Context, o requestOptions, std Stdio) error {
	q := &request{requestOptions: o, std: std, secrets: secret.New(os.Environ())}
	if o.run.output == "text" && !o.run.yes && mayAskAnybody(std) {
		q.std.In = bufio.NewReader(std.In) // one reader for every question, so that no line is lost between them
		q.std.Terminal = func() bool { return true }
		q.person = &person{in: q.std.In.(*bufio.Reader), out: std.Err}
	}
	finished, err := q.load()
	if err != nil {
		return err
	}
	if finished {
		o.run.resuming = true
		return runPlan(ctx, o.run, q.std)
	}
	defer q.close()
	res, err := q.through(ctx)
	if err != nil {
		return err
	}
	if q.config.Offline {
		q.say("scored offline; nothing was planned")
		return printJSON(q, res)
	}
	if err := q.tellPlan(res); err != nil || q.planOnly {
		return err
	}
	p, err := q.ready(res)
	if err != nil {
		return err
	}
	if err := q.shareList(ctx, p); err != nil {
		return err
	}
	q.close()
	return runPlan(ctx, q.handOver(p, res.Intent.Decision.Shape), q.std)
}

// printJSON gives scripts the verdict of an offline score.
func printJSON(q *request, res stage.Result) error {
	if q.run.output != "json" {
		return nil
	}
	return json.NewEncoder(q.std.Out).Encode(res.Intent)
}
