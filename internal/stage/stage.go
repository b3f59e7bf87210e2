// Package stage leads from a request to a plan: recall, score, clarify, shape, phases,
// decompose (LEDGER S0-46, S0-47). Each answer that was paid for and each result is one
// record of the journal, and what is on record is never asked for or worked out again:
// a resume goes through the same stages and finds them done. The package knows no
// flags and no terminal; it starts no process itself.
package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/decompose"
	"wavex/internal/intent"
	"wavex/internal/learn"
	"wavex/internal/plan"
	"wavex/internal/shape"
	"wavex/scheduler"
)

// Person is whoever sits at the terminal. Its methods block until there is an answer, or
// ctx ends; an error is the lack of one.
type Person interface {
	// Recalled shows learnings and gives the ids of those that do not matter here.
	Recalled(ctx context.Context, list []learn.Learning) (dismissed []string, err error)
	// Clarify asks what a request leaves open, and gives the answers by dimension; none means that
	// the person gives up.
	Clarify(ctx context.Context, s intent.Score, asked []counsel.Asked) (map[string]string, error)
}

// Machine goes through the stages. All fields but Person, Say, View, Panel, Learnings,
// Maxims, Recover, Clean and Done are required.
type Machine struct {
	Journal scheduler.Journal
	Past    []scheduler.Event // the journal so far; Open or what it holds is continued
	Now     func() time.Time

	Caller counsel.Caller
	Panel  *counsel.Panel // for clarification; nil: general questions
	Person Person         // nil: nobody can be asked

	Dir  string // absolute project directory
	Loop string // absolute; usually Dir/.loop

	Limits    budget.Limits // in force; where they are not those on record they become it
	Model     string
	Force     bool // go on with a request that is too vague, also one that is on record as such
	Rehearsal bool // the agent is the stand-in: give it something to answer
	// Learnings are what may be recalled, Maxims the user's own rules. Both are called at
	// most once for a request.
	Learnings func() ([]learn.Learning, error)
	Maxims    func() ([]decompose.Note, error)
	// Done tells whether a check of a file is true already.
	Done func(context.Context, plan.Check) bool
	// Mark is what the processes of this session's calls bear. Each session has its own,
	// because whatever ends those of a session that was killed may still be at it.
	Mark string
	// Recover ends what is left of a call that an earlier session did not see the end of,
	// and says what it cost; with the end of ctx the call stays open on record. nil: it
	// counts at its cap.
	Recover func(ctx context.Context, c scheduler.CallStarted, logDir string) budget.USD
	// Clean takes out of an event what must not be kept or shown.
	Clean func(scheduler.Body) scheduler.Body
	View  func(scheduler.Event)
	Say   func(text string) // a line for people

	// PlanBudget is the budget that the plan file shall carry; nil: none.
	PlanBudget any

	rec record
}

// Result is a plan, and what it comes from.
type Result struct {
	Intent Intent
	Shape  shape.Shape
	Plan   decompose.Plan
	Path   string // of the plan file
	Origin scheduler.Origin
}

// Intent is what the request was found to be.
type Intent struct {
	Request     string          `json:"request"` // with what was clarified
	Score       intent.Score    `json:"score"`
	Decision    intent.Decision `json:"decision"`
	Kind        intent.Kind     `json:"kind"`
	Undo        intent.Undo     `json:"undo"`
	Phases      []intent.Phase  `json:"phases,omitempty"`
	Recall      []string        `json:"recall_surfaced,omitempty"`
	Asked       []counsel.Asked `json:"asked,omitempty"` // when the request is not ready
	Familiarity int             `json:"familiarity"`
}

// Run goes through all stages. Its errors are *NotReady, *TooLarge, *CallError,
// *budget.LimitError, *decompose.Refusal, or of the journal and the files.
func (m *Machine) Run(ctx context.Context) (Result, error) {
	var res Result
	var err error
	if err = m.open(ctx); err != nil {
		return res, err
	}
	if res.Intent, err = m.intent(ctx); err != nil {
		return res, err
	}
	if res.Intent, err = m.force(res.Intent); err != nil {
		return res, err
	}
	m.Say(describe(res.Intent))
	if res.Intent.Decision.Shape == intent.Blocked {
		return res, &NotReady{Score: res.Intent.Score, Asked: res.Intent.Asked}
	}
	res.Origin = m.origin(res.Intent)
	if m.rec.opened.Config.Offline {
		return res, nil
	}
	if res.Shape, err = m.shape(ctx, res.Intent); err != nil {
		return res, err
	}
	notes, err := m.notes(ctx, res.Intent)
	if err != nil {
		return res, err
	}
	if res.Plan, err = m.decompose(ctx, res.Intent, res.Shape, notes); err != nil {
		return res, err
	}
	res.Origin = m.origin(res.Intent)
	if len(res.Plan.Proposals) > 0 {
		return res, &TooLarge{res.Plan.Proposals}
	}
	res.Path = m.rec.opened.Config.Plan
	return res, m.keepPlan(res.Path, res.Plan.File)
}

// Spent is what the request has cost so far.
func (m *Machine) Spent() budget.USD { return m.rec.ledger.Spent() }

// Opened is the request as it is on record.
func (m *Machine) Opened() scheduler.RequestOpened { return m.rec.opened }

func (m *Machine) origin(in Intent) scheduler.Origin {
	return scheduler.Origin{Request: in.Request, SpecScore: in.Decision.Spec, FitScore: in.Decision.Fit, Shape: string(in.Decision.Shape),
		Workflow: string(in.Kind.Workflow), Reversibility: string(in.Undo.Class), Recall: in.Recall, Spent: m.Spent()}
}

func describe(in Intent) string {
	by := in.Kind.By
	if by != "default" && by != "given" {
		by = fmt.Sprintf("by %q", by)
	}
	s := fmt.Sprintf("score %s", in.Score)
	switch in.Score.Source {
	case intent.FromHeuristic:
		s += ", by a heuristic: words and patterns, no model was asked"
	case intent.FromPerson:
		s += ", as given: nobody was asked"
	}
	return s + fmt.Sprintf("\nfit %d: %s (%s; the spec score alone says %s)\nworkflow %s (%s, %s) | reversibility %s (%s)",
		in.Decision.Fit, in.Decision.Shape, in.Decision.Why, in.Decision.BySpec,
		in.Kind.Workflow, in.Kind.Workflow.Name(), by, in.Undo.Class, in.Undo.Class.Care())
}

// once gives a stage's result: from the record, or from f, and then it is on record. What
// it gives is what the record says, so that a resume goes on with the same.
func once[T any](m *Machine, stage string, f func() (T, error)) (T, error) {
	var v T
	if _, ok := m.rec.results[stage]; !ok {
		made, err := f()
		if err != nil {
			return made, err
		}
		raw, err := json.Marshal(made)
		if err != nil {
			return v, fmt.Errorf("keeping stage %s: %w", stage, err)
		}
		if err := m.keep(scheduler.StageEnded{Stage: stage, Result: raw}); err != nil {
			return v, err
		}
	}
	if err := json.Unmarshal(m.rec.results[stage], &v); err != nil {
		return v, fmt.Errorf("the record of stage %s: %w", stage, err)
	}
	return v, nil
}
