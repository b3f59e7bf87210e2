// Package intake turns a request into a plan: it opens the journal, connects the stages to their
// dependencies, runs them, and keeps workflow-state.json current while there is no run. Package
// stage implements the stages. The command asks the person, prints the messages and chooses the
// exit code.
package intake

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/agent"
	"wavex/internal/learn"
	"wavex/internal/loopdir"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/record"
	"wavex/internal/secret"
	"wavex/internal/stage"
	"wavex/internal/userdata"
	"wavex/internal/verify"
	"wavex/runner"
	"wavex/scheduler"
)

// Options configures an Intake.
type Options struct {
	Dir    string // the project's, absolute
	Loop   string // its .loop directory
	ID     string
	New    bool   // begin a new request; else continue the one on record
	Text   string // of a new request
	Config scheduler.RequestConfig
	Fresh  bool // first move the old .loop aside
	Seen   int  // number of records of the journal at that decision

	BudgetGiven bool // the plan gets the request's budget
	Force       bool // continue with a vague request

	Agent   agent.Agent
	Prices  budget.Prices
	Experts *counsel.Roster
	Secrets *secret.Redactor
	Guard   []string // the command line of the guard process; empty: no guard

	Person stage.Person          // nil: no person is there
	Say    func(string)          // prints the progress for a person
	View   func(scheduler.Event) // called with each recorded event; nil: not used
}

// Intake turns one request into a plan. It must be used from one goroutine: Open, Run, Close.
type Intake struct {
	o       Options
	journal *record.Journal
	machine *stage.Machine
}

// Open takes the lock, opens the journal, and records a new request. The caller must Close the
// Intake if err is nil. The errors are those of record.Open.
func Open(o Options) (*Intake, error) {
	log, past, err := record.Open(o.Loop, o.ID, o.Fresh, o.Seen)
	if err != nil {
		return nil, err
	}
	r := &Intake{o: o, journal: log}
	r.machine = r.wire(past)
	if o.New {
		if err := r.machine.Open(scheduler.RequestOpened{Run: o.ID, Request: o.Text, Config: o.Config}); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// Run runs the stages and returns their result. Its errors are those of package stage.
func (r *Intake) Run(ctx context.Context) (stage.Result, error) {
	view := r.o.View
	if view == nil {
		view = func(scheduler.Event) {}
	}
	r.machine.View = func(e scheduler.Event) { view(e); r.project(e) }
	if r.o.New {
		view(scheduler.Event{Seq: int64(len(r.machine.Past)) + 1, Time: time.Now().UTC(), Body: r.machine.Opened()})
	}
	defer proc.Contain(ctx, r.o.Guard, r.mark(), filepath.Join(r.o.Loop, "guard.lock"))()
	return r.machine.Run(ctx)
}

// Spent returns the cost of the request so far.
func (r *Intake) Spent() budget.USD { return r.machine.Spent() }

// Close releases journal and lock. It may be called again.
func (r *Intake) Close() { r.journal.Close() }

// wire makes the machine of the stages.
func (r *Intake) wire(past []scheduler.Event) *stage.Machine {
	o := r.o
	who := &runner.Agent{Name: o.Agent.Name, Argv: o.Agent.Argv, Prices: o.Prices, Secrets: o.Secrets, Run: r.mark(),
		Env: os.Environ(),
		CLI: o.Agent.CLI, Rehearsal: o.Agent.Rehearses(), Extra: o.Agent.Env(o.Loop, o.ID)}
	ask := o.Agent.Caller(who)
	m := &stage.Machine{
		Journal: r.journal, Past: past, Now: time.Now, Caller: ask, Panel: &counsel.Panel{Caller: ask, Experts: o.Experts},
		Dir: o.Dir, Loop: o.Loop, Limits: o.Config.Limits, Rehearsal: who.Rehearsal, Force: o.Force, Maxims: userdata.Maxims,
		Learnings: func() ([]learn.Learning, error) { return userdata.Learnings(o.Dir, o.Say) },
		Done:      func(ctx context.Context, c plan.Check) bool { return looks(ctx, o.Dir, c) },
		Mark:      r.mark(),
		Recover: func(ctx context.Context, c scheduler.CallStarted, logDir string) budget.USD {
			_, _ = proc.Sweep(ctx, c.Mark) // a process that survives belongs to no session any more
			cost, known := counsel.Recall(logDir, o.Prices)
			if !known {
				return max(cost, c.Cap)
			}
			return cost
		},
		Clean:  func(b scheduler.Body) scheduler.Body { return o.Secrets.Value(b).(scheduler.Body) },
		Say:    o.Say,
		Person: o.Person,
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
func (r *Intake) mark() string { return fmt.Sprintf("%s-%d", r.o.ID, os.Getpid()) }

// looks reports whether a check of a file is true; it starts no process.
func looks(ctx context.Context, dir string, c plan.Check) bool {
	if c.Run != "" {
		return false
	}
	seen, err := verify.Run(ctx, dir, nil, []plan.Check{c})
	return err == nil && verify.Passed(seen)
}

// project keeps workflow-state.json current while there is no run. An error stops nothing, because
// the journal has everything.
func (r *Intake) project(e scheduler.Event) {
	if _, ok := e.Body.(scheduler.StageEnded); !ok {
		return
	}
	s, err := r.machine.Standing()
	if err == nil && s.Stage != "executing" {
		err = loopdir.WriteStage(r.o.Loop, r.o.Secrets.Bytes, loopdir.Stage{Name: s.Stage, Request: s.Opened.Request,
			Plan: s.Opened.Config.Plan,
			Run:  s.Opened.Run, Scored: s.Origin, Started: s.Since, Updated: s.At, Seq: s.Seq, Spent: s.Spent.Float()})
	}
	if err != nil {
		r.o.Say("warning: " + err.Error())
	}
}
