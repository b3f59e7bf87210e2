package request

// This file keeps the state of the request from the journal: its calls, its results, its money.
// Every change passes through apply, live or replayed.

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"wavex/budget"
	"wavex/internal/event"
)

// requestState is the state of one request. progress completes the embedded Progress.
type requestState struct {
	Progress
	found     bool                         // a request was opened
	results   map[string]json.RawMessage   // by stage
	answers   map[string]event.CallEnded   // the last end, by step
	openCalls map[string]event.CallStarted // by step
	ledger    budget.Ledger
}

// stageLimits records limits that were changed later, stageForced that a person has overruled a
// decision.
const (
	stageLimits = "limits"
	stageForced = "forced"
)

func callKey(step string, try int) string { return fmt.Sprintf("%s/%d", step, try) }

func (r *requestState) apply(e event.Event) error {
	r.Seq, r.UpdatedAt = e.Seq, e.Time
	if _, opens := e.Body.(event.RequestOpened); !opens && !r.found {
		return nil // of no request, or its beginning is missing
	}
	switch b := e.Body.(type) {
	case event.RequestOpened:
		*r = requestState{Progress: Progress{Opened: b, OpenedAt: e.Time, UpdatedAt: e.Time, Seq: e.Seq}, found: true,
			results: map[string]json.RawMessage{}, answers: map[string]event.CallEnded{},
			openCalls: map[string]event.CallStarted{}, ledger: budget.NewLedger(b.Config.Limits)}
	case event.RunStarted:
		r.RunStarted = true
	case event.CallStarted:
		r.openCalls[b.Step] = b
		return r.ledger.Reserve(callKey(b.Step, b.Try), b.Cap, false)
	case event.CallEnded:
		delete(r.openCalls, b.Step)
		r.answers[b.Step] = b
		r.ledger.Commit(callKey(b.Step, b.Try), b.Cost, 0, false)
	case event.StageEnded:
		r.results[b.Stage] = b.Result
		if b.Stage == stageLimits {
			if err := json.Unmarshal(b.Result, &r.Opened.Config.Limits); err != nil {
				return fmt.Errorf("the record of the limits: %w", err)
			}
			r.ledger.SetLimits(r.Opened.Config.Limits)
		}
	}
	return nil
}

// Progress describes the progress of the last request of a journal.
type Progress struct {
	Opened     event.RequestOpened
	Origin     *event.Origin // nil before the intent is settled
	NotReady   bool          // too vague, and not clarified
	Planned    bool          // there is a plan, or a proposal of several
	Split      bool          // it is a proposal
	RunStarted bool          // a run was started since
	Stage      string        // the stage it is in: intent, shape, decompose, executing
	OpenedAt   time.Time     // when it was opened
	UpdatedAt  time.Time     // of the last event
	Seq        int64         // of the last event
	Spent      budget.USD
}

// ReadProgress returns the progress of the last request of a journal, or nil if there is none.
func ReadProgress(events []event.Event) (*Progress, error) {
	r, err := replay(events)
	if err != nil || !r.found {
		return nil, err
	}
	return r.progress()
}

func (r *requestState) progress() (*Progress, error) {
	s := r.Progress
	s.Stage, s.Spent = "intent", r.ledger.Spent()
	in, known, err := recorded[Intent](r, "intent")
	forced, isForced, err2 := recorded[Decision](r, stageForced)
	p, planned, err3 := recorded[Plan](r, "decompose")
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	if isForced {
		in.Decision = forced
	}
	if known {
		o := r.origin(in)
		s.Origin, s.NotReady, s.Stage = &o, in.Decision.Shape == Blocked, "shape"
	}
	if _, ok := r.results["shape"]; ok {
		s.Stage = "decompose"
	}
	if planned {
		s.Planned, s.Split, s.Stage = true, len(p.Proposals) > 0, "executing"
	}
	return &s, nil
}

// origin returns the origin of a plan that is made of an intent.
func (r *requestState) origin(in Intent) event.Origin {
	return event.Origin{Request: in.Request, SpecScore: in.Decision.Spec, FitScore: in.Decision.Fit,
		Shape: string(in.Decision.Shape), Workflow: string(in.Kind.Workflow),
		Reversibility: string(in.Reversibility.Class), Recall: in.Recall, Spent: r.ledger.Spent()}
}

// recorded returns the result of a stage from the record.
func recorded[T any](r *requestState, stage string) (v T, ok bool, err error) {
	raw, ok := r.results[stage]
	if !ok {
		return v, false, nil
	}
	if err = json.Unmarshal(raw, &v); err != nil {
		err = fmt.Errorf("the record of stage %s: %w", stage, err)
	}
	return v, true, err
}

func replay(events []event.Event) (requestState, error) {
	var r requestState
	for _, e := range events {
		if err := r.apply(e); err != nil {
			return r, fmt.Errorf("journal record %d: %w", e.Seq, err)
		}
	}
	return r, nil
}
