// Package request turns a request into a plan: recall, score, clarify, shape, phases, decompose. Each
// paid answer and each result is one record of the journal. A recorded answer is never asked for
// again, and a recorded result never computed again: a resume goes through the same stages and
// finds them done. The package knows no flags and no terminal, and starts no process itself.
package request

import (
	"wavex/internal/userdata"

	"context"
	"encoding/json"
	"fmt"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/loop"
)

// Prompter is the user at the terminal. Its methods block until there is an answer or ctx ends; an
// error means that there is no answer.
type Prompter interface {
	// DismissLearnings shows learnings and returns the ids of those that do not apply here.
	DismissLearnings(ctx context.Context, list []userdata.Learning) (dismissed []string, err error)
	// Clarify asks about the open dimensions of a request, and returns the answers by dimension. An
	// empty result means that the person gives up.
	Clarify(ctx context.Context, s Score, asked []counsel.ClarifyQuestion) (map[string]string, error)
}

// Machine runs the stages. All fields but Prompter, Panel and PlanBudget are required.
type Machine struct {
	// Journal stores events. After Sync, all appended events are durable.
	Journal interface {
		Append(e event.Event) error
		Sync() error
	}
	Events []event.Event // the journal so far; Run continues its request unless Open was called
	Now    func() time.Time

	Caller   counsel.Caller
	Panel    *counsel.Panel // for clarification; nil: general questions
	Prompter Prompter       // nil: no person is there

	Dir  string   // absolute project directory
	Loop loop.Dir // absolute; usually Dir/.loop

	Limits    budget.Limits // in force; recorded if they differ from those on record
	Model     string
	Force     bool // continue with a request that is too vague, even if it is recorded as such
	Rehearsal bool // the agent is the rehearsal agent: supply its answers
	MadeUp    bool // it makes up the work of the plan, so the plan has a file for it
	// Learnings returns the learnings to recall, Maxims the user's own rules. Each is called at
	// most once for a request.
	Learnings func() ([]userdata.Learning, error)
	Maxims    func() ([]userdata.Note, error)
	// Mark is the mark of the processes of this session's calls. Each session has its own, because
	// the cleanup after a killed session may still be running.
	Mark string
	// RecoverCost ends the processes of a call whose end an earlier session did not record, and returns
	// the cost. If ctx ends, the call stays open on record.
	RecoverCost func(ctx context.Context, c event.CallStarted, logDir string) budget.USD
	// Redact removes secrets from an event.
	Redact func(event.Body) event.Body
	View   func(event.Event)
	Notify func(text string) // prints a line for people

	// PlanBudget is the budget for the plan file; nil: none.
	PlanBudget any

	state requestState
}

// Result is a plan and its sources.
type Result struct {
	Intent Intent
	Shape  Shape
	Plan   Plan
	Path   string // of the plan file
	Origin event.Origin
}

// Intent is the result of scoring a request.
type Intent struct {
	Request       string                    `json:"request"` // including the clarifications
	Score         Score                     `json:"score"`
	Decision      Decision                  `json:"decision"`
	Kind          WorkflowMatch             `json:"kind"`
	Reversibility Reversibility             `json:"undo"`
	Phases        []Phase                   `json:"phases,omitempty"`
	Recall        []string                  `json:"recall_surfaced,omitempty"`
	Questions     []counsel.ClarifyQuestion `json:"asked,omitempty"` // if the request is not ready
	Familiarity   int                       `json:"familiarity"`
}

// Run runs all stages. Its errors are *NotReadyError, *TooLargeError, *CallError, *budget.LimitError,
// *Refusal, or errors of the journal and the files.
func (m *Machine) Run(ctx context.Context) (Result, error) {
	var res Result
	var err error
	if err = m.start(ctx); err != nil {
		return res, err
	}
	if res.Intent, err = m.intent(ctx); err != nil {
		return res, err
	}
	if res.Intent, err = m.applyForce(res.Intent); err != nil {
		return res, err
	}
	m.Notify(describe(res.Intent))
	if res.Intent.Decision.Shape == Blocked {
		return res, &NotReadyError{Score: res.Intent.Score, Questions: res.Intent.Questions}
	}
	res.Origin = m.origin(res.Intent)
	if m.state.opened.Config.Offline {
		return res, nil
	}
	if res.Shape, err = m.shape(ctx, res.Intent); err != nil {
		return res, err
	}
	notes, err := m.planningNotes(ctx, res.Intent)
	if err != nil {
		return res, err
	}
	if res.Plan, err = m.decompose(ctx, res.Intent, res.Shape, notes); err != nil {
		return res, err
	}
	res.Origin = m.origin(res.Intent)
	if len(res.Plan.Proposals) > 0 {
		return res, &TooLargeError{res.Plan.Proposals}
	}
	res.Path = m.state.opened.Config.Plan
	return res, m.writePlan(res.Path, res.Plan.File)
}

// Spent returns the cost of the request so far.
func (m *Machine) Spent() budget.USD { return m.state.ledger.Spent() }

func (m *Machine) origin(in Intent) event.Origin {
	return event.Origin{Request: in.Request, SpecScore: in.Decision.Spec, FitScore: in.Decision.Fit,
		Shape:    string(in.Decision.Shape),
		Workflow: string(in.Kind.Workflow), Reversibility: string(in.Reversibility.Class), Recall: in.Recall,
		Spent: m.Spent()}
}

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

// stageResult returns a stage's result from the record, or calls f and records its result. It always
// returns the recorded value, so that a resume continues with the same one.
func stageResult[T any](m *Machine, stage string, f func() (T, error)) (T, error) {
	var v T
	if _, ok := m.state.results[stage]; !ok {
		made, err := f()
		if err != nil {
			return made, err
		}
		raw, err := json.Marshal(made)
		if err != nil {
			return v, fmt.Errorf("keeping stage %s: %w", stage, err)
		}
		if err := m.emit(event.StageEnded{Stage: stage, Result: raw}); err != nil {
			return v, err
		}
	}
	if err := json.Unmarshal(m.state.results[stage], &v); err != nil {
		return v, fmt.Errorf("the record of stage %s: %w", stage, err)
	}
	return v, nil
}
