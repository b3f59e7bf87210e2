package request

// This file connects the stages to their dependencies: it opens the journal, runs them, and keeps
// workflow-state.json current while there is no run.

import (
	"context"
	"fmt"
	"os"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/agent"
	"wavex/internal/claude"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/runlog"
	"wavex/internal/secret"
	"wavex/internal/statefiles"
	"wavex/internal/userdata"
	"wavex/runner"
)

// Options configures a Driver.
type Options struct {
	Dir        string   // the project's, absolute
	Loop       loop.Dir // of the project
	ID         string
	New        bool   // begin a new request; else continue the one on record
	Text       string // of a new request
	Config     event.RequestConfig
	Fresh      bool // first move the old .loop aside
	JournalLen int  // number of records of the journal at that decision

	BudgetGiven bool // the plan gets the request's budget
	Force       bool // continue with a vague request

	Agent    agent.Agent
	Prices   budget.Prices
	Experts  *counsel.Roster
	Redactor *secret.Redactor
	Watchdog []string // the command line of the guard process; empty: no guard

	Prompter Prompter          // nil: no person is there
	Notify   func(string)      // prints the progress for a person
	View     func(event.Event) // called with each recorded event
}

// Driver turns one request into a plan. It must be used from one goroutine: Open, Run, Close.
type Driver struct {
	opts    Options
	journal *runlog.Journal
	machine *Machine
}

// Open takes the lock, opens the journal, and records a new request. The caller must Close the
// Driver if err is nil. The errors are those of runlog.Open.
func Open(o Options) (*Driver, error) {
	log, past, err := runlog.Open(o.Loop, o.ID, o.Fresh, o.JournalLen)
	if err != nil {
		return nil, err
	}
	r := &Driver{opts: o, journal: log}
	r.machine = r.newMachine(past)
	if o.New {
		if err := r.machine.Open(event.RequestOpened{Run: o.ID, Request: o.Text, Config: o.Config}); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// Run runs the stages and returns their result. Its errors are those of package request.
func (r *Driver) Run(ctx context.Context) (Result, error) {
	defer proc.Contain(ctx, r.opts.Watchdog, r.mark(), r.opts.Loop.Path(loop.WatchdogLock),
		func(err error) { r.opts.Notify(err.Error()) })()
	return r.machine.Run(ctx)
}

// Spent returns the cost of the request so far.
func (r *Driver) Spent() budget.USD { return r.machine.Spent() }

// Close releases journal and lock. It may be called again.
func (r *Driver) Close() { r.journal.Close() }

// newMachine makes the machine of the stages.
func (r *Driver) newMachine(past []event.Event) *Machine {
	o := r.opts
	host := runner.Host{Env: proc.Inherit(os.Environ(), nil), ExtraEnv: o.Agent.Env(o.Loop, o.ID),
		Rehearsal: o.Agent.IsRehearsal(), Redactor: o.Redactor}
	who := &claude.Agent{Host: host, Name: o.Agent.Name, Argv: o.Agent.Argv, Find: o.Agent.Find, Prices: o.Prices,
		Run: r.mark()}
	ask := o.Agent.Caller(who)
	m := &Machine{
		Journal: r.journal, Events: past, Now: time.Now, Caller: ask, Panel: &counsel.Panel{Caller: ask, Experts: o.Experts},
		Dir: o.Dir, Loop: o.Loop, Limits: o.Config.Limits, Rehearsal: host.Rehearsal,
		MadeUp: host.Rehearsal && o.Agent.Scenario == nil, Force: o.Force, Maxims: userdata.Maxims,
		Learnings: func() ([]userdata.Learning, error) { return userdata.Learnings(o.Dir, o.Notify) },
		Mark:      r.mark(),
		RecoverCost: func(ctx context.Context, c event.CallStarted, logDir string) budget.USD {
			_, _ = proc.Sweep(ctx, c.Mark) // a process that survives belongs to no session any more
			return runlog.RecoverCalls(logDir, o.Prices, c.Cap)
		},
		Redact:   func(b event.Body) event.Body { return o.Redactor.Value(b).(event.Body) },
		View:     func(e event.Event) { o.View(e); r.writeStage(e) },
		Notify:   o.Notify,
		Prompter: o.Prompter,
	}
	switch {
	case !o.BudgetGiven:
	case o.Config.Limits.NoUSD:
		m.PlanBudget = map[string]any{"usd": "none"}
	default:
		m.PlanBudget = map[string]any{"usd": o.Config.Limits.USD.Float()}
	}
	return m
}

// mark returns the mark of this session's processes.
func (r *Driver) mark() string { return fmt.Sprintf("%s-%d", r.opts.ID, os.Getpid()) }

// writeStage keeps workflow-state.json current while there is no run. An error stops nothing, because
// the journal has everything.
func (r *Driver) writeStage(e event.Event) {
	if _, ok := e.Body.(event.StageEnded); !ok {
		return
	}
	s, err := r.machine.Progress()
	if err == nil && s.Stage != "executing" {
		err = statefiles.WriteRequestStage(r.opts.Loop, r.opts.Redactor.Bytes, statefiles.RequestStage{Name: s.Stage,
			Request: s.Opened.Request,
			Plan:    s.Opened.Config.Plan,
			Run:     s.Opened.Run, Origin: s.Origin, Started: s.OpenedAt, Updated: s.UpdatedAt, Seq: s.Seq,
			Spent: s.Spent.Float()})
	}
	if err != nil {
		r.opts.Notify("warning: " + err.Error())
	}
}
