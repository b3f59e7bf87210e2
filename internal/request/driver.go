// Package request turns a request into a plan: recall, intent, shape, documents, decompose. Each
// paid answer and each result is one record of the journal. A recorded answer is never asked for
// again, and a recorded result never computed again: a resume goes through the same stages and
// finds them done. The package knows no flags and no terminal, and starts no process itself.
package request

// This file connects the stages to their dependencies, runs them, and keeps workflow-state.json current while there
// is no run.

import (
	"context"
	"fmt"
	"os"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/runlog"
	"wavex/internal/statefiles"
	"wavex/internal/userdata"
	"wavex/runner"
)

// Open takes the lock, opens the journal, and records a new request. The caller must Close the
// Machine if err is nil. The errors are those of runlog.Open.
func Open(o Options) (*Machine, error) {
	log, past, err := runlog.Open(o.Loop, o.ID, o.Fresh, o.JournalLen)
	if err != nil {
		return nil, err
	}
	m := newMachine(o, log, past)
	if o.New {
		if err := m.open(event.RequestOpened{Run: o.ID, Request: o.Text, Config: o.Config}); err != nil {
			m.Close()
			return nil, err
		}
	}
	return m, nil
}

// newMachine makes the machine of the stages.
func newMachine(o Options, journal *runlog.Journal, past []event.Event) *Machine {
	mark := fmt.Sprintf("%s-%d", o.ID, os.Getpid())
	host := runner.Host{Env: proc.Inherit(os.Environ(), nil), ExtraEnv: o.Agent.Env(o.Loop.Run(o.ID, loop.Sessions)),
		Rehearsal: o.Agent.IsRehearsal(), Redactor: o.Redactor}
	ask := o.Agent.New(agent.Setup{Host: host, Prices: o.Prices, Run: mark})
	m := &Machine{
		Options: o, Journal: journal, Events: past, Now: time.Now, Caller: ask,
		Panel: &counsel.Panel{Caller: ask, Experts: o.Experts}, Rehearsal: host.Rehearsal,
		MadeUp: host.Rehearsal && o.Agent.Scenario == nil, Maxims: userdata.Maxims,
		Learnings: func() ([]userdata.Learning, error) { return userdata.Learnings(o.Dir, o.Notify) },
		Mark:      mark,
		RecoverCost: func(ctx context.Context, c event.CallStarted, logDir string) budget.USD {
			_, _ = proc.Sweep(ctx, c.Mark) // a process that survives belongs to no session any more
			return runlog.RecoverCalls(logDir, o.Config.Agent, o.Prices, c.Cap)
		},
		Redact: func(b event.Body) event.Body { return o.Redactor.Value(b).(event.Body) },
	}
	m.staged = m.writeStage
	switch {
	case !o.BudgetGiven:
	case o.Config.Limits.NoUSD:
		m.PlanBudget = map[string]any{"usd": "none"}
	default:
		m.PlanBudget = map[string]any{"usd": o.Config.Limits.USD.Float()}
	}
	return m
}

// writeStage keeps workflow-state.json current while there is no run. An error stops nothing, because
// the journal has everything.
func (m *Machine) writeStage() {
	s, err := m.state.progress()
	if err == nil && !s.Planned {
		err = statefiles.WriteRequestStage(m.Loop, m.Redactor.Bytes, statefiles.RequestStage{Name: s.Stage,
			Request: s.Opened.Request, Plan: s.Opened.Config.Plan, Run: s.Opened.Run, Origin: s.Origin,
			Started: s.OpenedAt, Updated: s.UpdatedAt, Seq: s.Seq, Spent: s.Spent.Float()})
	}
	if err != nil {
		m.Notify("warning: " + err.Error())
	}
}

// Result is a plan and its sources.
type Result struct {
	Intent Intent
	Shape  Shape
	Plan   Plan
	Path   string // of the plan file
	Origin event.Origin
}

// Run runs all stages. Its errors are *NotReadyError, *TooLargeError, *CallError, *budget.LimitError,
// *Refusal, or errors of the journal and the files.
func (m *Machine) Run(ctx context.Context) (Result, error) {
	warn := func(err error) { m.Notify(err.Error()) }
	defer proc.Contain(ctx, m.Watchdog, m.Mark, m.Loop.Path(loop.WatchdogLock), warn)()
	return m.stages(ctx)
}

func (m *Machine) stages(ctx context.Context) (Result, error) {
	var res Result
	if err := m.start(ctx); err != nil {
		return res, err
	}
	recall, err := m.recall(ctx)
	if err != nil {
		return res, err
	}
	if res.Intent, err = m.intent(ctx, recall); err != nil {
		return res, err
	}
	if res.Intent, err = m.applyForce(res.Intent); err != nil {
		return res, err
	}
	m.Notify(describe(res.Intent))
	if res.Intent.Decision.Shape == Blocked {
		return res, &NotReadyError{Score: res.Intent.Score, Questions: res.Intent.Questions}
	}
	res.Origin = m.state.origin(res.Intent)
	if m.state.Opened.Config.Offline {
		return res, nil
	}
	if res.Shape, err = m.shape(ctx, res.Intent); err != nil {
		return res, err
	}
	notes, err := m.planningNotes(ctx, res.Intent)
	if err != nil {
		return res, err
	}
	if res.Plan, err = m.decompose(ctx, brief{Request: res.Intent.Request, Kind: res.Intent.Kind,
		Reversibility: res.Intent.Reversibility, Shape: res.Shape, Notes: notes, Budget: m.PlanBudget}); err != nil {
		return res, err
	}
	res.Origin = m.state.origin(res.Intent)
	if len(res.Plan.Proposals) > 0 {
		return res, &TooLargeError{res.Plan.Proposals}
	}
	res.Path = m.state.Opened.Config.Plan
	return res, m.writePlan(res.Path, res.Plan.File)
}

// Spent returns the cost of the request so far.
func (m *Machine) Spent() budget.USD { return m.state.ledger.Spent() }

// Close releases journal and lock. It may be called again.
func (m *Machine) Close() { m.Journal.Close() }

func describe(in Intent) string {
	by := in.Kind.By
	if by != "default" && by != "given" {
		by = fmt.Sprintf("by %q", by)
	}
	s := fmt.Sprintf("score %s", in.Score)
	switch in.Score.Source {
	case fromHeuristic:
		s += ", by a heuristic: words and patterns, no model was asked"
	case fromUser:
		s += ", as given: nobody was asked"
	}
	return s + fmt.Sprintf("\nfit %d: %s (%s; the spec score alone says %s)\nworkflow %s (%s, %s) | reversibility %s (%s)",
		in.Decision.Fit, in.Decision.Shape, in.Decision.Why, in.Decision.BySpec,
		in.Kind.Workflow, in.Kind.Workflow.Name(), by, in.Reversibility.Class, in.Reversibility.Class.Handling())
}
