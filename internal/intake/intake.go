// Package intake brings a request to a plan: it opens the journal, wires the stages to
// the world, runs them, and keeps workflow-state.json while there is no run yet. What the
// stages do is in package stage; what a person is asked and told, and by which exit code
// it all ends, is the command line's.
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

// Options are what a way from a request to a plan is made of.
type Options struct {
	Dir    string // the project's, absolute
	Loop   string // its .loop directory
	ID     string
	New    bool   // the request is opened; else the one on record goes on
	Text   string // of a new request
	Config scheduler.RequestConfig
	Fresh  bool // the .loop of before is moved aside first
	Seen   int  // records of the journal when all this was decided

	BudgetGiven bool // the plan is to have the request's budget
	Force       bool // a vague request goes on

	Agent   agent.Agent
	Prices  budget.Prices
	Experts *counsel.Roster
	Secrets *secret.Redactor
	Guard   []string // how wavex calls itself as a guard; none: there is no guard

	Person stage.Person          // nil: nobody can be asked
	Say    func(string)          // tells a person how it goes
	View   func(scheduler.Event) // told of each event once it is on record; nil: nobody is
}

// Intake is one way from a request to a plan, for one goroutine: Open, Run, Close.
type Intake struct {
	o       Options
	journal *record.Journal
	machine *stage.Machine
}

// Open takes the lock, opens the journal, and puts a new request on record. Who gets no
// error closes the request. The errors are those of record.Open.
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

// Run goes through the stages, and gives what came of it. Its errors are stage's.
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

// Spent is what the request has cost so far.
func (r *Intake) Spent() budget.USD { return r.machine.Spent() }

// Close gives journal and lock back. It may be called again.
func (r *Intake) Close() { r.journal.Close() }

// wire makes the machine of the stages.
func (r *Intake) wire(past []scheduler.Event) *stage.Machine {
	o := r.o
	who := &runner.Agent{Name: o.Agent.Name, Argv: o.Agent.Argv, Prices: o.Prices, Secrets: o.Secrets, Run: r.mark(), Env: os.Environ(),
		CLI: o.Agent.CLI, Rehearsal: o.Agent.Rehearses(), Extra: o.Agent.Env(o.Loop, o.ID)}
	ask := o.Agent.Caller(who)
	m := &stage.Machine{
		Journal: r.journal, Past: past, Now: time.Now, Caller: ask, Panel: &counsel.Panel{Caller: ask, Experts: o.Experts},
		Dir: o.Dir, Loop: o.Loop, Limits: o.Config.Limits, Rehearsal: who.Rehearsal, Force: o.Force, Maxims: userdata.Maxims,
		Learnings: func() ([]learn.Learning, error) { return userdata.Learnings(o.Dir, o.Say) },
		Done:      func(ctx context.Context, c plan.Check) bool { return looks(ctx, o.Dir, c) },
		Mark:      r.mark(),
		Recover: func(ctx context.Context, c scheduler.CallStarted, logDir string) budget.USD {
			_, _ = proc.Sweep(ctx, c.Mark) // what cannot be ended now is not ours any more
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

// mark is what the processes of this session bear.
func (r *Intake) mark() string { return fmt.Sprintf("%s-%d", r.o.ID, os.Getpid()) }

// looks tells whether a check of a file is true; it starts nothing.
func looks(ctx context.Context, dir string, c plan.Check) bool {
	if c.Run != "" {
		return false
	}
	seen, err := verify.Run(ctx, dir, nil, []plan.Check{c})
	return err == nil && verify.Passed(seen)
}

// project keeps workflow-state.json while there is no run yet. A file that cannot be
// written stops nothing: the journal has it.
func (r *Intake) project(e scheduler.Event) {
	if _, ok := e.Body.(scheduler.StageEnded); !ok {
		return
	}
	s, err := r.machine.Standing()
	if err == nil && s.Stage != "executing" {
		err = loopdir.WriteStage(r.o.Loop, r.o.Secrets.Bytes, loopdir.Stage{Name: s.Stage, Request: s.Opened.Request, Plan: s.Opened.Config.Plan,
			Run: s.Opened.Run, Scored: s.Origin, Started: s.Since, Updated: s.At, Seq: s.Seq, Spent: s.Spent.Float()})
	}
	if err != nil {
		r.o.Say("warning: " + err.Error())
	}
}
